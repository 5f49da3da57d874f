import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { serviceRedisUsers } from "@switchyard/contracts/redis-access";
import { allStreams, payloadStore, runCommands } from "@switchyard/contracts/streams";
import {
  kustomizeCommand,
  renderManifests,
  typedManifests,
  type Manifest,
} from "./render-manifests.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const command = kustomizeCommand();
const skip = command === null && "neither kubectl nor kustomize is installed";
const services = ["agent-runner", "mcp-broker", "policy", "skill-importer", "toolbox"];

for (const folder of ["base", "overlays/dev"]) {
  test(`${folder}: renders, and every manifest fits the Kubernetes types`, { skip }, async (t) => {
    const manifests = renderManifests(command ?? [], folder);
    assert.deepEqual(await typeErrors(manifests, t), "");
  });

  test(
    `${folder}: runs every service with probes, limits, a clean stop and no privileges`,
    { skip },
    () => {
      const deployments = ofKind(renderManifests(command ?? [], folder), "Deployment");
      assert.deepEqual(deployments.map((manifest) => manifest.metadata.name).toSorted(), services);
      for (const deployment of deployments) assertWellKept(deployment);
    },
  );
}

test("base: needs no kind that a cluster does not have by itself, and no Job", { skip }, () => {
  const manifests = renderManifests(command ?? [], "base");
  for (const { apiVersion, kind } of manifests) {
    assert.match(apiVersion, /^(?:v1|(?:apps|policy)\/v1|networking\.k8s\.io\/v1)$/, kind);
    // Its template is immutable: the next version of the image could not be applied.
    assert.notEqual(kind, "Job");
  }
  assert.equal(dig(deploymentOf("base", "agent-runner"), "spec.replicas"), 2);
});

test(
  "overlays/dev: KEDA scales the runners by the queue that the code declares, and alone",
  { skip },
  () => {
    const [scaled, ...others] = ofKind(
      renderManifests(command ?? [], "overlays/dev"),
      "ScaledObject",
    );
    assert.equal(others.length, 0);
    assert.deepEqual(dig(scaled, "spec.scaleTargetRef.name"), "agent-runner");
    const metadata = dig(scaled, "spec.triggers.0.metadata") as Record<string, string>;
    assert.equal(metadata["stream"], runCommands.stream);
    assert.equal(metadata["consumer"], runCommands.name);
    assert.equal(metadata["account"], "$G");
    assert.equal(dig(deploymentOf("overlays/dev", "agent-runner"), "spec.replicas"), undefined);
  },
);

test(
  "overlays/dev: the fleet of runners shrinks slowly, and not at all while its load is unknown",
  { skip },
  () => {
    const [scaled] = ofKind(renderManifests(command ?? [], "overlays/dev"), "ScaledObject");
    // It counts only for a scale to 0, which never comes.
    assert.equal(dig(scaled, "spec.cooldownPeriod"), undefined);
    assert.ok(Number(dig(scaled, "spec.minReplicaCount")) >= 1);
    const behavior = dig(scaled, "spec.advanced.horizontalPodAutoscalerConfig.behavior.scaleDown");
    assert.ok(Number(dig(behavior, "stabilizationWindowSeconds")) >= 300);
    assert.deepEqual(dig(behavior, "policies.0"), {
      type: "Percent",
      value: 25,
      periodSeconds: 120,
    });
    assert.equal(dig(scaled, "spec.fallback.behavior"), "currentReplicasIfHigher");
  },
);

test("a runner that is to go leaves calls of models and tools minutes to end", { skip }, () => {
  const container = dig(deploymentOf("base", "agent-runner"), "spec.template.spec.containers.0");
  // Four fifths are for the steps in work.
  assert.ok(Number(variable(container, "YARD_DRAIN_MS")) * 0.8 >= 240_000);
});

test("overlays/dev: every container of ours runs the image that was built here", { skip }, () => {
  for (const [folder, wanted] of [
    ["base", /^ghcr\.io\/switchyard\/switchyard:/],
    ["overlays/dev", /^switchyard:dev$/],
  ] as const) {
    for (const deployment of ofKind(renderManifests(command ?? [], folder), "Deployment"))
      for (const { image } of containersOf(deployment)) assert.match(image, wanted, folder);
  }
});

test(
  "streams follow each version before the policy of it starts, with a key that no service has",
  { skip },
  () => {
    for (const folder of ["base", "overlays/dev"]) {
      for (const deployment of ofKind(renderManifests(command ?? [], folder), "Deployment")) {
        const { name } = deployment.metadata;
        const [first, ...rest] = containersOf(deployment).filter(({ volumeMounts }) =>
          JSON.stringify(volumeMounts).includes('"name":"admin"'),
        );
        assert.deepEqual(rest, [], name);
        assert.equal(first?.name, name === "policy" ? "streams" : undefined, name);
        if (first === undefined) continue;
        assert.deepEqual(first.args, ["apps/cli/src/main.ts", "streams", "ensure"]);
        assert.equal(dig(deployment, "spec.template.spec.initContainers.0.name"), "streams");
        // Its number of copies is a setting, and what streams have is kept without it.
        const replicas = first.env?.find((entry) => entry.name === "YARD_STREAM_REPLICAS");
        assert.equal(dig(replicas, "valueFrom.configMapKeyRef.optional"), true);
      }
    }
  },
);

test(
  "an edit of the rules, the servers, the models or the agents rolls out the one service that reads it",
  { skip },
  () => {
    const readers = new Map<string, string[]>();
    for (const deployment of ofKind(renderManifests(command ?? [], "base"), "Deployment")) {
      const volumes = dig(deployment, "spec.template.spec.volumes");
      assert.ok(Array.isArray(volumes));
      for (const volume of volumes) {
        const name = dig(volume, "configMap.name");
        if (typeof name !== "string") continue;
        const map = name.replace(/-[a-z0-9]+$/, "");
        readers.set(map, [...(readers.get(map) ?? []), deployment.metadata.name]);
      }
    }
    assert.deepEqual(Object.fromEntries(readers), {
      "yard-agents": ["skill-importer"],
      "yard-mcp-servers": ["mcp-broker"],
      "yard-models": ["agent-runner"],
      "yard-policy": ["policy"],
    });
  },
);

test(
  "models, their keys, login keys and the secrets of MCP servers reach the service that needs them",
  { skip },
  () => {
    const manifests = renderManifests(command ?? [], "base");
    const runner = deploymentOf("base", "agent-runner");
    const broker = deploymentOf("base", "mcp-broker");
    const first = (deployment: Manifest): unknown =>
      dig(deployment, "spec.template.spec.containers.0");
    assert.equal(variable(first(runner), "YARD_MODELS_FILE"), "/config/models.json");
    const models = ofKind(manifests, "ConfigMap").find(({ metadata }) =>
      metadata.name.startsWith("yard-models-"),
    );
    assert.ok(
      Object(JSON.parse(String(Object(dig(models, "data"))["models.json"]))).providers.anthropic,
    );
    const optional = (name: string) => ({ secretRef: { name, optional: true } });
    assert.deepEqual(dig(first(runner), "envFrom.0"), optional("yard-model-keys"));
    assert.deepEqual(dig(first(broker), "envFrom.0"), optional("yard-mcp-secrets"));
    assert.equal(variable(first(broker), "YARD_MCP_TOKEN_KEY_FILE"), "/keys/mcp-logins.key");
    assert.ok(keysOf(broker).includes("mcp-logins.key"));
  },
);

test(
  "services with replicas are spread, and only one of them is disrupted at a time",
  { skip },
  () => {
    const manifests = renderManifests(command ?? [], "base");
    for (const deployment of ofKind(manifests, "Deployment")) {
      const { name } = deployment.metadata;
      if (name === "toolbox") continue; // one replica, with a volume of its own
      const budget = ofKind(manifests, "PodDisruptionBudget").find(
        ({ metadata }) => metadata.name === name,
      );
      assert.equal(dig(budget, "spec.maxUnavailable"), 1, name);
      const selector = { "app.kubernetes.io/name": name };
      assert.deepEqual(dig(budget, "spec.selector.matchLabels"), selector, name);
      const [spread] = dig(deployment, "spec.template.spec.topologySpreadConstraints") as unknown[];
      assert.deepEqual(dig(spread, "labelSelector.matchLabels"), selector, name);
    }
  },
);

test(
  "network policies let through traces, web ports, IPv6 and models in the cluster, and no metadata service",
  { skip },
  () => {
    const policies = ofKind(renderManifests(command ?? [], "base"), "NetworkPolicy");
    const named = (name: string): Manifest | undefined =>
      policies.find(({ metadata }) => metadata.name === name);
    const everywhere = JSON.stringify(dig(named("default"), "spec.egress"));
    for (const port of [53, 4222, 6379, 4317, 4318])
      assert.match(everywhere, new RegExp(`"port":${port}\\b`));
    const egress = dig(named("outbound-web"), "spec.egress");
    assert.ok(Array.isArray(egress));
    for (const rule of egress) {
      const blocks = (dig(rule, "to") as unknown[]).map((to) => dig(to, "ipBlock"));
      assert.deepEqual(
        blocks.map((block) => dig(block, "cidr")),
        ["0.0.0.0/0", "::/0"],
      );
      assert.match(JSON.stringify(blocks[0]), /"169\.254\.0\.0\/16"/);
      assert.match(JSON.stringify(blocks[1]), /"(?:fc00::\/7|fd00:ec2::254\/128)".*"fe80::\/10"/);
    }
    assert.deepEqual(dig(egress[0], "ports"), [{ protocol: "TCP" }]);
    const [models] = dig(named("outbound-model-servers"), "spec.egress") as unknown[];
    const [to] = dig(models, "to") as unknown[];
    assert.deepEqual(Object(dig(to, "podSelector.matchLabels")), {
      "switchyard/model-server": "true",
    });
  },
);

for (const folder of ["base", "overlays/dev"]) {
  test(
    `${folder}: each service is a user of its own in Redis, and has its own password alone`,
    { skip },
    () => {
      const manifests = renderManifests(command ?? [], folder);
      const deployments = ofKind(manifests, "Deployment");
      const users = deployments.map((deployment) => redisUserOf(deployment));
      assert.deepEqual(users.toSorted(), serviceRedisUsers.map(({ name }) => name).toSorted());
      const endpoints = ofKind(manifests, "ConfigMap").find(({ metadata }) =>
        metadata.name.startsWith("yard-endpoints"),
      );
      const text = `${String(dig(endpoints, "data.redisScheme"))}://${String(dig(endpoints, "data.redisAddress"))}`;
      assert.match(text, /^rediss?:\/\/[a-z.]+:6379$/);
    },
  );
}

test(
  "overlays/dev: Redis lets in the users of the list alone, and its probes are the one of them that sees no key",
  { skip },
  () => {
    const redis = ofKind(renderManifests(command ?? [], "overlays/dev"), "StatefulSet").find(
      ({ metadata }) => metadata.name === "redis",
    );
    const container = dig(redis, "spec.template.spec.containers.0");
    const args = dig(container, "args");
    assert.ok(Array.isArray(args));
    assert.equal(args[args.indexOf("--aclfile") + 1], "/keys/users.acl");
    assert.deepEqual(keysOf(redis), ["monitor.redis", "users.acl"]);
    for (const probe of ["startupProbe", "readinessProbe", "livenessProbe"])
      assert.match(JSON.stringify(dig(container, `${probe}.exec.command`)), /--user monitor ping/);
  },
);

test("overlays/dev: NATS' disk holds what the streams may grow to", { skip }, () => {
  const sets = ofKind(renderManifests(command ?? [], "overlays/dev"), "StatefulSet");
  const nats = sets.find(({ metadata }) => metadata.name === "nats");
  const request = dig(nats, "spec.volumeClaimTemplates.0.spec.resources.requests.storage");
  const bytes = Number(/^(\d+)Gi$/.exec(String(request))?.[1]) * 1024 ** 3;
  const needed = [...allStreams, payloadStore].reduce((sum, { maxBytes }) => sum + maxBytes, 0);
  assert.ok(bytes > needed, `${String(request)} for ${needed} bytes`);
});

function deploymentOf(folder: string, name: string): Manifest {
  const found = ofKind(renderManifests(command ?? [], folder), "Deployment").find(
    ({ metadata }) => metadata.name === name,
  );
  assert.ok(found, `${folder} has no ${name}`);
  return found;
}

interface Container {
  name: string;
  image: string;
  args?: string[];
  env?: { name: string }[];
  volumeMounts?: unknown[];
}

/** Those that run before, and those that run. */
function containersOf(deployment: Manifest): Container[] {
  const pod = dig(deployment, "spec.template.spec");
  const lists = [dig(pod, "initContainers"), dig(pod, "containers")];
  // The documents are checked by the Kubernetes types above.
  return lists.flatMap((list) => (Array.isArray(list) ? (list as Container[]) : []));
}

/** The user that a service is in Redis, by everything that has to fit. */
function redisUserOf(deployment: Manifest): string {
  const container = dig(deployment, "spec.template.spec.containers.0");
  const url = String(variable(container, "YARD_REDIS_URL"));
  const user = /^\$\(REDIS_SCHEME\):\/\/([a-z]+)@\$\(REDIS_ADDRESS\)$/.exec(url)?.[1];
  assert.ok(user, `${deployment.metadata.name} is nobody in Redis: ${url}`);
  const env = dig(container, "env");
  assert.ok(Array.isArray(env));
  const names = env.map(({ name }: { name: string }) => name);
  // Kubernetes puts in only what stands before.
  for (const part of ["REDIS_SCHEME", "REDIS_ADDRESS"])
    assert.ok(names.includes(part) && names.indexOf(part) < names.indexOf("YARD_REDIS_URL"), part);
  assert.equal(variable(container, "YARD_REDIS_PASSWORD_FILE"), `/keys/${user}.redis`);
  const passwords = keysOf(deployment).filter((key) => key.endsWith(".redis"));
  assert.deepEqual(passwords, [`${user}.redis`]);
  return user;
}

/** What a pod gets of the keys. */
function keysOf(workload: unknown): string[] {
  const volumes = dig(workload, "spec.template.spec.volumes");
  assert.ok(Array.isArray(volumes));
  const keys = volumes.find(({ name }: { name: string }) => name === "keys");
  const items = dig(keys, "secret.items");
  assert.ok(Array.isArray(items), "the whole secret is mounted");
  return items.map(({ key }: { key: string }) => key).toSorted();
}

test("base: the broker reaches no private address before an overlay names one", { skip }, () => {
  const permitted = (folder: string): unknown => {
    const manifests = renderManifests(command ?? [], folder);
    const broker = ofKind(manifests, "Deployment").find(
      ({ metadata }) => metadata.name === "mcp-broker",
    );
    const env = dig(broker, "spec.template.spec.containers.0.env");
    assert.ok(Array.isArray(env));
    const entry = env.find(({ name }: { name: string }) => name === "YARD_MCP_ALLOW_PRIVATE_HOSTS");
    const { name, key } = dig(entry, "valueFrom.configMapKeyRef") as { name: string; key: string };
    const config = ofKind(manifests, "ConfigMap").find(({ metadata }) => metadata.name === name);
    return dig(config, `data.${key}`);
  };
  assert.equal(permitted("base"), "");
  assert.equal(permitted("overlays/dev"), "private");
});

test("the type check finds a misspelt key and a wrong type", { skip }, async (t) => {
  const [deployment] = ofKind(renderManifests(command ?? [], "base"), "Deployment");
  assert.ok(deployment);
  const misspelt = { ...deployment, spec: { ...deployment.spec, replcas: 2 } };
  const mistyped = { ...deployment, spec: { ...deployment.spec, replicas: "two" } };
  assert.match(await typeErrors([misspelt], t), /replcas/);
  assert.match(await typeErrors([mistyped], t), /not assignable/);
});

function assertWellKept(deployment: Manifest): void {
  const { name } = deployment.metadata;
  const pod = dig(deployment, "spec.template.spec");
  const container = dig(pod, "containers.0");
  for (const probe of ["startupProbe", "readinessProbe", "livenessProbe"]) {
    assert.ok(dig(container, probe), `${name} has no ${probe}`);
  }
  assert.equal(dig(container, "livenessProbe.httpGet.path"), "/livez", name);
  assert.equal(dig(container, "readinessProbe.httpGet.path"), "/readyz", name);
  assert.equal(dig(pod, "securityContext.runAsNonRoot"), true, name);
  assert.equal(dig(pod, "automountServiceAccountToken"), false, name);
  assert.equal(dig(container, "securityContext.readOnlyRootFilesystem"), true, name);
  assert.equal(dig(container, "securityContext.allowPrivilegeEscalation"), false, name);
  assert.deepEqual(dig(container, "securityContext.capabilities.drop"), ["ALL"], name);
  assert.ok(dig(container, "resources.requests.memory"), name);
  assert.ok(dig(container, "resources.limits.memory"), name);
  const pauseMs = Number(dig(container, "lifecycle.preStop.sleep.seconds")) * 1000;
  const drainMs = Number(variable(container, "YARD_DRAIN_MS"));
  const graceMs = Number(dig(pod, "terminationGracePeriodSeconds")) * 1000;
  assert.ok(
    pauseMs + drainMs < graceMs,
    `${name}: ${pauseMs} + ${drainMs} is not below ${graceMs} ms`,
  );
  const secrets = JSON.stringify(dig(container, "env"));
  assert.ok(
    !/SEED|PASSWORD(?!_FILE")|secretKeyRef/.test(secrets),
    `${name} takes a secret from its environment`,
  );
}

/** What the compiler says of the manifests, or an empty string. */
async function typeErrors(
  manifests: Manifest[],
  t: { after(stop: () => Promise<void>): void },
): Promise<string> {
  // Below the repository, so that the compiler finds the installed types.
  const folder = await mkdtemp(join(root, "node_modules/.manifests-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, "manifests.ts"), typedManifests(manifests));
  const tsc = spawnSync(
    join(root, "node_modules/.bin/tsc"),
    [
      "--ignoreConfig",
      "--noEmit",
      "--strict",
      "--skipLibCheck",
      "--module",
      "nodenext",
      "--target",
      "es2024",
      "--types",
      "",
      "manifests.ts",
    ],
    { cwd: folder, encoding: "utf8" },
  );
  return tsc.stdout + tsc.stderr;
}

function ofKind(manifests: Manifest[], kind: string): Manifest[] {
  return manifests.filter((manifest) => manifest.kind === kind);
}

function variable(container: unknown, name: string): unknown {
  const list = dig(container, "env");
  assert.ok(Array.isArray(list));
  return list.find((entry: { name: string }) => entry.name === name)?.value;
}

/** The value at a dotted path, or undefined. */
function dig(value: unknown, path: string): unknown {
  return path.split(".").reduce<unknown>((at, key) => {
    if (typeof at !== "object" || at === null) return undefined;
    return (at as Record<string, unknown>)[key];
  }, value);
}
