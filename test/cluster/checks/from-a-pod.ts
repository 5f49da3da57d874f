import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Check } from "../check.ts";
import { commandsBelow } from "../docs-lines.ts";
import { eventually } from "../eventually.ts";
import type { Lab } from "../lab.ts";
import { team } from "../load/load.ts";
import { repository } from "../settings.ts";
import { ready } from "./install.ts";

/** The page's commands make the user; its Job starts a run from another namespace. */
export const overNats: Check = {
  name: "pod-nats",
  title:
    "a pod of another namespace starts a run with the team's own NATS user, as docs/kubernetes.md#publish-a-run-from-a-pod has it",
  isInstallation: true,
  async run({ lab, kubectl }) {
    const [commands = []] = await commandsBelow("kubernetes.md", "Publish a run from a pod");
    for (const command of commands) await lab.shell(command.replace(/ # .*$/, ""));
    await ready(kubectl);
    const restricted = "pod-security.kubernetes.io/enforce=restricted";
    await lab.kubectl.run(["label", "namespace", team, restricted]);
    const example = await readFile(
      join(repository, "deploy/k8s/examples/publish-run.yaml"),
      "utf8",
    );
    const job = example
      .replace(/image: ghcr\.io\S+/, "image: switchyard:dev")
      .replace('"assistant"', '"demo"');
    await lab.kubectl.in(team).apply(job);
    return `the Job's output ends with: ${await outputOf(lab.kubectl.in(team), "publish-run")}`;
  },
};

/** A program with an API key needs the address of the gateway and nothing else. */
export const overHttp: Check = {
  name: "pod-http",
  title: "a pod of another namespace starts a run over HTTP with an API key",
  async run({ lab }) {
    const kubectl = lab.kubectl.in(team);
    const env = await gatewayWithKey(lab, "/api/v1");
    await kubectl.apply(jobOf("http-run", ["--input-type=module", "-e", program], env));
    return `its end: ${await outputOf(kubectl, "http-run")}`;
  },
};

/** The two requests of docs/http.md; the second one waits for the run's end. */
const program = `
  const headers = { authorization: "Bearer " + process.env.KEY, "content-type": "application/json" };
  const body = JSON.stringify({ agent: "hello", input: "from a pod", runId: "from-a-pod" });
  const started = await fetch(process.env.GATEWAY + "/runs", { method: "POST", headers, body });
  if (!started.ok) throw new Error(started.status + " " + (await started.text()));
  for (let i = 0; i < 120; i += 1) {
    const { run } = await (await fetch(process.env.GATEWAY + "/runs/from-a-pod", { headers })).json();
    if (run?.status === "succeeded") { console.log(run.status + ": " + JSON.stringify(run.output)); process.exit(0); }
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  throw new Error("the run has not succeeded within a minute");`;

/** The gateway keeps a catalogue for each caller, and the broker makes the call: tools are listed before one is called. */
export const overMcp: Check = {
  name: "pod-mcp",
  title:
    "a pod of another namespace lists tools and calls one over /mcp with an API key, with the official client in both eras",
  async run({ lab }) {
    const kubectl = lab.kubectl.in(team);
    const env = await gatewayWithKey(lab, "/mcp");
    await kubectl.run(["delete", "job/mcp-call", "--ignore-not-found"]);
    await kubectl.apply(jobOf("mcp-call", ["--input-type=module", "-e", mcpProgram], env));
    return await outputOf(kubectl, "mcp-call");
  },
};

const mcpProgram = `
  import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
  const headers = { authorization: "Bearer " + process.env.KEY };
  const eras = [];
  for (const mode of ["auto", "legacy"]) {
    const client = new Client({ name: "pod", version: "1" }, { versionNegotiation: { mode } });
    await client.connect(new StreamableHTTPClientTransport(new URL(process.env.GATEWAY), { requestInit: { headers } }));
    const { tools } = await client.listTools();
    const names = tools.map(({ name }) => name);
    if (!names.includes("mcp__marks__mark")) throw new Error("tools: " + names.join(" "));
    const call = { name: "mcp__marks__mark", arguments: { run: "mcp-" + mode, place: "one", takesMs: 0 } };
    const { content, isError } = await client.callTool(call);
    if (isError || !content[0].text.startsWith("marked")) throw new Error(JSON.stringify(content));
    eras.push(client.getNegotiatedProtocolVersion() + ": " + names.length + " tools, " + content[0].text);
    await client.close();
  }
  console.log(eras.join("; "));`;

/** The variables of a pod with the key that the first run printed and an address of the gateway. */
async function gatewayWithKey({ clone, kubectl }: Lab, path: string): Promise<object[]> {
  const key = (await readFile(join(clone, "api-key"), "utf8")).trim();
  const metadata = { name: "api-key" };
  const secret = { apiVersion: "v1", kind: "Secret", metadata, stringData: { key } };
  await kubectl.in(team).apply(secret);
  return [
    { name: "KEY", valueFrom: { secretKeyRef: { name: metadata.name, key: "key" } } },
    { name: "GATEWAY", value: `http://gateway.switchyard${path}` },
  ];
}

function jobOf(name: string, args: readonly string[], env: readonly object[]): object {
  const container = {
    name: "run",
    image: "switchyard:dev",
    imagePullPolicy: "Never",
    args,
    env,
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
  };
  const spec = {
    restartPolicy: "Never",
    automountServiceAccountToken: false,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: 10001,
      seccompProfile: { type: "RuntimeDefault" },
    },
    containers: [container],
  };
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name },
    spec: { backoffLimit: 0, activeDeadlineSeconds: 240, template: { spec } },
  };
}

async function outputOf(kubectl: Parameters<typeof ready>[0], job: string): Promise<string> {
  await eventually(
    `the Job ${job} ends`,
    async () => {
      const path = "jsonpath={.status.succeeded} {.status.failed}";
      const [succeeded, failed] = (await kubectl.run(["get", "job", job, "-o", path])).split(" ");
      return succeeded === "1" || failed === "1";
    },
    { timeoutMs: 270_000 },
  );
  const output = await kubectl.run(["logs", `job/${job}`]);
  const succeeded = await kubectl.run(["get", "job", job, "-o", "jsonpath={.status.succeeded}"]);
  if (succeeded !== "1") throw new Error(`the Job ${job} failed:\n${output}`);
  return output.trim().split("\n").at(-1) ?? "";
}
