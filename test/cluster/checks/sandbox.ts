import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Check } from "../check.ts";
import { eventually } from "../eventually.ts";
import { repository } from "../settings.ts";
import { ready, upgradeLine } from "./install.ts";
import { runYard } from "./run-yard.ts";

const profile = "switchyard-toolbox.json";

const rules = `version: 1
rules:
  - id: marks
    effect: allow
    approval: auto
    who: { users: [team-a, cli] }
    what: { tools: ["marks.mark"] }
  - id: commands
    effect: allow
    approval: auto
    who: { users: [cli] }
    what: { tools: [execute_command] }
`;

/** Each prints one line; in the order of `expected`. */
const script = [
  "echo inside > made.txt && cat made.txt",
  "test -e /keys && echo keys || echo no keys",
  "cat /proc/[0-9]*/environ 2>/dev/null | grep -qa YARD_ && echo environment || echo no environment",
  "(: </dev/tcp/10.96.0.1/443) 2>/dev/null && echo network || echo no network",
  "mount -t tmpfs x /mnt 2>/dev/null && echo mounts || echo no mounts",
].join("; ");
const expected = ["inside", "no keys", "no environment", "no network", "no mounts"];

/** The value that lets agents run commands, on a namespace that permits what docs/kubernetes.md#commands-of-agents states. */
export const sandbox: Check = {
  name: "sandbox",
  title:
    "with toolbox.sandbox: userNamespaces a command runs in the toolbox's pod and sees no key, no other process and no network",
  async run({ lab, kubectl }) {
    const label = "pod-security.kubernetes.io/enforce";
    const text = await readFile(join(repository, "deploy/k8s/seccomp", profile), "utf8");
    for (const node of lab.nodes) {
      const file = `/var/lib/kubelet/seccomp/${profile}`;
      const write = `mkdir -p /var/lib/kubelet/seccomp && cat >${file}`;
      await node.run(["sh", "-c", write], { input: text });
    }
    const file = join(lab.clone, "sandbox.json");
    await writeFile(
      file,
      JSON.stringify({ toolbox: { sandbox: "userNamespaces" }, policy: { rules } }),
    );
    await lab.kubectl.run([
      "label",
      "namespace",
      "switchyard",
      `${label}=privileged`,
      "--overwrite",
    ]);
    try {
      await lab.shell(upgradeLine("-f", file), 600_000);
      await ready(kubectl);
      const map = await kubectl.run([
        "exec",
        "deployment/toolbox",
        "--",
        "cat",
        "/proc/self/uid_map",
      ]);
      const [, outside = "0"] = map.trim().split(/\s+/);
      if (Number(outside) === 0) throw new Error(`the pod has no user namespace: ${map}`);
      const input = JSON.stringify({ command: `bash -c '${script}'` });
      // The policy service reads changed rules when the kubelet has brought them to its pods.
      const said = await eventually(
        "a command is allowed and runs",
        () => runYard(lab, `tools call execute_command ${quoted(input)} --json`),
        { timeoutMs: 180_000, everyMs: 5_000 },
      );
      const at = expected.map((line) => said.indexOf(line));
      if (at.includes(-1)) throw new Error(`the command's output is ${said}`);
      return `the command states: ${expected.join(", ")}; user 0 of the pod is ${outside} of the node`;
    } finally {
      await lab.shell(upgradeLine(), 600_000);
      await ready(kubectl);
      await lab.kubectl.run([
        "label",
        "namespace",
        "switchyard",
        `${label}=restricted`,
        "--overwrite",
      ]);
    }
  },
};

/** One word for the shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
