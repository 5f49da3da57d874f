import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Check, World } from "../check.ts";
import { eventually } from "../eventually.ts";
import { checkLoad } from "../load/load.ts";
import { ready, upgradeLine, type Pod } from "./install.ts";
import { listed } from "./run-yard.ts";

/** An edit with a mistake is refused before anything changes; the log of the Job names file and line. */
export const brokenFiles: Check = {
  name: "broken-files",
  title:
    "an upgrade with a broken policy or agent file fails, states file and line, and leaves rules and agents in force",
  async run({ lab, kubectl, load }) {
    const wrong = {
      policy: { policy: { rules: "version: 1\nrules:\n  - id: marks\n    effekt: allow\n" } },
      agent: { skillImporter: { agents: { "marker.yaml": "name: marker\nmodel: [\n" } } },
    };
    const seen: string[] = [];
    for (const [name, values] of Object.entries(wrong)) {
      const file = join(lab.clone, `broken-${name}.json`);
      await writeFile(file, JSON.stringify(values));
      const { code } = await lab.tryShell(upgradeLine("-f", file, "--timeout 3m"), 240_000);
      if (code === 0) throw new Error(`helm upgraded with a broken ${name} file`);
      const said = await kubectl.run(["logs", "job/switchyard-check-files", "--all-containers"]);
      const line = said.split("\n").find((text) => /\.ya?ml/.test(text) && /\d/.test(text));
      if (line === undefined) throw new Error(`the log names no file and line:\n${said}`);
      seen.push(line.trim());
    }
    const plan = { name: "broken", runs: 10, takesMs: 0, perSecond: 10, seconds: 120 };
    checkLoad(await (await load.start(plan)).result());
    return seen.join(" | ");
  },
};

/** The pods of a release with a wrong key are not ready and state why, and those of before continue. */
export const wrongSecret: Check = {
  name: "wrong-secret",
  title:
    "with a wrong NATS key or Redis password new pods are not ready and state it; the pods of before continue",
  async run({ kubectl, load }) {
    const good = await kubectl.run(["get", "secret", "yard-keys", "-o", "json"]);
    const { data }: { data: Record<string, string> } = JSON.parse(good);
    const seen: string[] = [];
    try {
      for (const key of ["runner.nk", "runner.redis"]) {
        if (data[key] === undefined)
          throw new Error(`yard-keys has no ${key}: ${Object.keys(data).join(" ")}`);
        const other = data[key === "runner.nk" ? "scheduler.nk" : "scheduler.redis"] ?? "";
        await kubectl.run([
          "patch",
          "secret",
          "yard-keys",
          "-p",
          JSON.stringify({ data: { [key]: other } }),
        ]);
        await kubectl.run(["rollout", "restart", "deployment/agent-runner"]);
        const reason = await eventually(
          `a new pod with a wrong ${key} states the reason`,
          async () => {
            const pod = await notReady(kubectl);
            if (pod === undefined) return null;
            const logs = await kubectl.run(["logs", pod, "--tail=40"]);
            return (
              logs.split("\n").find((text) => /"level":"(fatal|error|warn)"/.test(text)) ?? null
            );
          },
          { timeoutMs: 120_000 },
        );
        seen.push(`${key}: ${messageOf(reason)}`);
        const isReady = await kubectl.run([
          "get",
          "deployment",
          "agent-runner",
          "-o",
          "jsonpath={.status.readyReplicas}",
        ]);
        if (Number(isReady) < 2) throw new Error(`${isReady} of the pods of before are ready`);
        await kubectl.run([
          "patch",
          "secret",
          "yard-keys",
          "-p",
          JSON.stringify({ data: { [key]: data[key] } }),
        ]);
        await kubectl.run(["rollout", "undo", "deployment/agent-runner"]);
        await ready(kubectl);
      }
    } finally {
      await kubectl.run(["patch", "secret", "yard-keys", "-p", JSON.stringify({ data })]);
    }
    const plan = { name: "secret", runs: 10, takesMs: 0, perSecond: 10, seconds: 120 };
    checkLoad(await (await load.start(plan)).result());
    return seen.join(" | ");
  },
};

/** A runner that is not ready: those of before are. */
async function notReady(kubectl: World["kubectl"]): Promise<string | undefined> {
  const pods = await kubectl.list<Pod>("pod", "-lapp.kubernetes.io/name=agent-runner");
  const found = pods.find(({ status }) =>
    status.conditions?.some(({ type, status: is }) => type === "Ready" && is === "False"),
  );
  return found?.metadata.name;
}

function messageOf(line: string): string {
  const json = /\{.*\}/.exec(line)?.[0];
  if (json === undefined) return line.slice(0, 200);
  const { msg = "", reason = msg }: Record<string, unknown> = JSON.parse(json);
  return String(reason);
}

export const rollback: Check = {
  name: "rollback",
  title:
    "`helm rollback` to the first version and an upgrade again become ready, and a run succeeds after each",
  async run({ lab, kubectl, load }) {
    const history = await lab.shell("helm -n switchyard history switchyard -o json");
    const revisions: { revision: number; status: string }[] = JSON.parse(history);
    await lab.shell(
      "helm -n switchyard rollback switchyard 1 --force-conflicts --timeout 5m",
      360_000,
    );
    await ready(kubectl);
    const first = await lab.shell("helm -n switchyard test switchyard --timeout 4m", 300_000);
    if (!first.includes("Succeeded")) throw new Error(first);
    await lab.shell(upgradeLine(), 600_000);
    await ready(kubectl);
    const plan = { name: "back", runs: 10, takesMs: 0, perSecond: 10, seconds: 120 };
    return `${revisions.length} revisions before; ${checkLoad(await (await load.start(plan)).result())}`;
  },
};

/** The keys and volumes are the user's; an installation with the same names finds them again. */
export const uninstall: Check = {
  name: "uninstall",
  title:
    "`helm uninstall` keeps keys, streams, runs and the agents' files, and a new installation finds them",
  async run({ lab, kubectl }) {
    const before = await listed(lab);
    await lab.shell("helm -n switchyard uninstall switchyard --wait --timeout 4m", 300_000);
    const left = await kubectl.run(["get", "pvc,secret", "-o", "name"]);
    for (const name of ["toolbox-workspaces", "data-nats-0", "data-redis-0", "secret/yard-keys"])
      if (!left.includes(name)) throw new Error(`${name} is gone; left: ${left}`);
    const pods = await kubectl.run(["get", "pods", "-o", "name"]);
    await lab.shell(upgradeLine("--install"), 600_000);
    await ready(kubectl);
    const after = await listed(lab);
    const lost = before.filter((id) => !after.includes(id));
    // The list has the newest runs: each new one takes the place of an old one.
    const added = after.filter((id) => !before.includes(id)).length;
    if (lost.length > added) throw new Error(`runs that are gone: ${lost.join(", ")}`);
    return `${before.length} runs are listed as before; pods left after the uninstall: ${pods.trim() === "" ? 0 : pods.trim().split("\n").length}`;
  },
};
