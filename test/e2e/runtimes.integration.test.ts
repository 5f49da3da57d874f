import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { call } from "@switchyard/bus/call";
import { publishCommand } from "@switchyard/bus/publish";
import { approveCall, listApprovals } from "@switchyard/contracts/policy/approvals";
import { getRun, startRun } from "@switchyard/contracts/agent-runner/runs";
import { PLATFORM_TOOLS } from "@switchyard/contracts/toolbox/toolbox";
import { testSandbox } from "@switchyard/testing/test-sandbox";
import { until } from "@switchyard/local-servers/until";
import { connectAsCli, startYardDev } from "../lib/yard-dev.ts";

const AGENT = fileURLToPath(new URL("../../examples/coding-agents/acp-agent.ts", import.meta.url));
// Removed after the instance has stopped, which still reads it.
const directory = await mkdtemp(join(tmpdir(), "switchyard-runtimes-"));
const [project, workspace] = [join(directory, "project"), join(directory, "work")];
for (const path of ["agents", "policies"]) await mkdir(join(project, path), { recursive: true });
await mkdir(workspace);
await writeFile(join(workspace, "a.txt"), "plugh");
await writeFile(join(project, "mcp-servers.json"), '{"mcpServers":{}}');
const { skip } = await testSandbox();
const script = {
  type: "runtime",
  cli: "acp",
  command: [process.execPath, AGENT],
  sandbox: skip === false ? "bubblewrap" : "off",
};
await writeFile(join(project, "models.json"), JSON.stringify({ providers: { script } }));
await writeFile(
  join(project, "agents", "coder.md"),
  "---\nname: coder\nruntime: script\ntools: [read_file, write_file, list_files]\n---\nDo what the lines say.\n",
);
await writeFile(
  join(project, "agents", "desk.md"),
  "---\nname: desk\nruntime: script\n---\nDo what the lines say.\n",
);
await writeFile(
  join(project, "policies", "rules.yaml"),
  `version: 1
rights: [{ id: one-person, right: approve-own, users: [cli] }]
owners: { users: [cli] }
rules:
  - { id: desk-has-all, effect: allow, who: { agents: [desk] }, what: { tools: ["*"] }, approval: auto }
  - { id: desk-pins-nothing, effect: deny, who: { agents: [desk] }, what: { tools: [message_pin] } }
  - { id: coder-reads, effect: allow, who: { agents: [coder] }, what: { tools: [read_file] }, approval: auto }
  - { id: coder-writes, effect: allow, who: { agents: [coder] }, what: { tools: [write_file] }, approval: always }
`,
);
const dev = await startYardDev({ project, workspace, stateDir: join(directory, "state") });
const bus = await connectAsCli(dev);
after(async () => {
  await bus.close();
  await dev.stop();
  await rm(directory, { recursive: true, force: true });
});

test("a coding CLI works for the real services: the policy decides, a person approves, and the tool writes [complaint-5]", async () => {
  const input = [
    'call read_file {"path":"a.txt"}',
    'call list_files {"path":"."}',
    'call write_file {"path":"b.txt","content":"xyzzy"}',
  ].join("\n");
  await publishCommand(bus, startRun, { agent: "coder" }, { runId: "coding", input });
  const { approvals } = await until(
    () => call(bus, listApprovals, { pendingOnly: true }),
    (reply) => reply.approvals.length === 1,
  );
  const [approval] = approvals;
  assert.equal(approval?.tool.name, "write_file");
  assert.equal(approval.principal.agent, "coder");
  await call(bus, approveCall, { id: approval.id });
  const { run } = await until(
    () => call(bus, getRun, { runId: "coding" }),
    (reply) => reply.run.status === "succeeded" || reply.run.status === "failed",
  );
  assert.match(String(run.output), /plugh/, JSON.stringify(run.failure));
  assert.match(String(run.output), /list_files failed: there is no tool list_files/);
  assert.equal(run.toolCalls, 2);
  assert.equal(await readFile(join(workspace, "b.txt"), "utf8"), "xyzzy");
});

test("a coding CLI that the runner starts has all 29 tools but those that a rule denies its agent [F1] [F39]", async () => {
  const input = ["list tools", "call cron_status {}", "call message_pin {}"].join("\n");
  await publishCommand(bus, startRun, { agent: "desk" }, { runId: "all-tools", input });
  // There is no run before a runner has taken the command.
  const run = await until(
    async () => (await call(bus, getRun, { runId: "all-tools" }).catch(() => null))?.run,
    (found) => found?.status === "succeeded" || found?.status === "failed",
  );
  assert.ok(run !== undefined);
  const [names = "", cron, pin] = String(run.output).split("; ");
  assert.equal(PLATFORM_TOOLS.length, 29);
  const platform = new Set<string>(PLATFORM_TOOLS);
  assert.deepEqual(
    names
      .split(" ")
      .filter((name) => platform.has(name))
      .toSorted(),
    PLATFORM_TOOLS.filter((name) => name !== "message_pin").toSorted(),
    JSON.stringify(run.failure),
  );
  assert.match(String(cron), /^cron_status: .*"jobs": 0/s);
  assert.match(String(pin), /^message_pin failed: /);
});
