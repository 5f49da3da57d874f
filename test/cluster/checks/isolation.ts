import type { Check, World } from "../check.ts";

/** Connects from a pod in a namespace that no policy names, and from one that is let in; needs a controller that enforces policies. */
export const networkPolicies: Check = {
  name: "network-policies",
  title:
    "a pod of another namespace reaches neither NATS, Redis nor a service; the gateway answers, and clients that are let in reach NATS",
  skip: ({ missing }) => missing.get("kube-router") ?? null,
  async run({ lab, kubectl }) {
    const policy = await kubectl.run([
      "get",
      "pods",
      "-lapp.kubernetes.io/name=policy",
      "-o",
      "jsonpath={.items[0].status.podIP}",
    ]);
    const nats = await kubectl.run(["get", "pod", "nats-0", "-o", "jsonpath={.status.podIP}"]);
    const targets: readonly (readonly [string, number, boolean, string])[] = [
      ["gateway.switchyard", 80, true, "stranger"],
      ["nats.switchyard", 4222, false, "stranger"],
      [nats, 8222, false, "stranger"],
      ["redis.switchyard", 6379, false, "stranger"],
      [policy, 8080, false, "stranger"],
      ["nats.switchyard", 4222, true, "team-a"],
      [nats, 8222, false, "team-a"],
      ["redis.switchyard", 6379, false, "team-a"],
    ];
    await lab.kubectl.apply({
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: "stranger" },
    });
    const wrong: string[] = [];
    for (const namespace of ["stranger", "team-a"]) {
      const own = targets.filter(([, , , from]) => from === namespace);
      const answers = await connects(lab.kubectl.in(namespace), own);
      for (const [index, [host, port, expected]] of own.entries())
        if (answers[index] !== expected)
          wrong.push(
            `${namespace} → ${host}:${port} ${answers[index] === true ? "is reached" : "is not reached"}`,
          );
    }
    if (wrong.length > 0) throw new Error(wrong.join("; "));
    return `${targets.filter(([, , expected]) => !expected).length} connections refused, ${targets.filter(([, , expected]) => expected).length} allowed`;
  },
};

async function connects(
  kubectl: World["kubectl"],
  targets: readonly (readonly [string, number, boolean, string])[],
): Promise<boolean[]> {
  const script = `
    const net = require("node:net");
    const targets = ${JSON.stringify(targets)};
    const attempt = ([host, port]) => new Promise((resolve) => {
      const socket = net.connect({ host, port, timeout: 4000 });
      const end = (is) => { socket.destroy(); resolve(is); };
      socket.on("connect", () => end(true)).on("timeout", () => end(false)).on("error", () => end(false));
    });
    setTimeout(async () => console.log(JSON.stringify(await Promise.all(targets.map(attempt)))), 4000);`;
  const container = {
    name: "probe",
    image: "switchyard:dev",
    imagePullPolicy: "Never",
    args: ["-e", script],
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
  };
  const security = {
    runAsNonRoot: true,
    runAsUser: 10001,
    seccompProfile: { type: "RuntimeDefault" },
  };
  await kubectl.run(["delete", "pod", "probe", "--ignore-not-found"]);
  await kubectl.apply({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "probe" },
    spec: { restartPolicy: "Never", securityContext: security, containers: [container] },
  });
  await kubectl.run([
    "wait",
    "pod/probe",
    "--for=jsonpath={.status.phase}=Succeeded",
    "--timeout=90s",
  ]);
  const answers: boolean[] = JSON.parse(await kubectl.run(["logs", "probe"]));
  return answers;
}

/** The folders of the lab's volumes belong to root, so only `fsGroup` lets the pods write. */
export const volumes: Check = {
  name: "volumes",
  title: "volumes are made on demand, and their group lets NATS, Redis and the toolbox write",
  async run({ kubectl }) {
    const claims = await kubectl.list<{ metadata: { name: string }; status: { phase: string } }>(
      "pvc",
    );
    const unbound = claims.filter(({ status }) => status.phase !== "Bound");
    if (unbound.length > 0)
      throw new Error(`not bound: ${unbound.map(({ metadata }) => metadata.name).join(", ")}`);
    const toolbox = await kubectl.run(["exec", "deployment/toolbox", "--", "node", "-e", script]);
    return `${claims.length} claims bound; the toolbox wrote a file as ${toolbox.trim()}`;
  },
};

const script = `const fs = require("node:fs"); fs.writeFileSync("/workspaces/.probe", "x");
  const { uid, gid } = fs.statSync("/workspaces/.probe"); fs.rmSync("/workspaces/.probe"); console.log(uid + ":" + gid)`;
