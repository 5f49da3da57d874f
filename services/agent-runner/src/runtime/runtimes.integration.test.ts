import assert from "node:assert/strict";
import { readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { testSandbox } from "@switchyard/testing/test-sandbox";
import { readProcessStat, readProcessStats } from "@switchyard/service/process/process-stat";
import { testDirectory } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { decideApproval } from "../../test-fixtures/decide-approval.ts";
import { agent, connectAs, DENIED, labTool } from "../../test-fixtures/fake-services.ts";
import { startLab } from "../../test-fixtures/runner-lab.ts";
import { testConstants } from "@switchyard/testing/test-constants";

const AGENT = fileURLToPath(
  new URL("../../../../examples/coding-agents/acp-agent.ts", import.meta.url),
);
const lab = await startLab();
const { services } = lab;
const policy = await connectAs(lab.nats, "policy");
after(() => policy.close());
const directory = await testDirectory();
const runtimes = join(directory, "runtimes");
const modelsFile = join(directory, "models.json");
const script = { type: "runtime", cli: "acp", command: [process.execPath, AGENT], sandbox: "off" };
const missing = { ...script, command: ["/no/such/program"] };
const confined = { ...script, sandbox: "bubblewrap" };
await writeFile(modelsFile, JSON.stringify({ providers: { script, missing, confined } }));
const sandbox = await testSandbox();
const env = {
  YARD_BIN_DIR: sandbox.directory,
  YARD_MODELS_FILE: modelsFile,
  YARD_STATE_DIR: directory,
  ...testConstants({ runSweepMs: 200 }),
};
let runner = await lab.runnerProcess(env);

services.agents.set("coder", agent("coder", { model: "script/default" }));
services.agents.set("nobody", agent("nobody", { model: "missing/default" }));
services.tools.set("read", ({ path }) => `contents of ${String(path)}`);
services.tools.set("write", (_args, { fail }) => {
  throw fail.denied(DENIED.reason, DENIED);
});
const approvalId = `apr-${"3".repeat(32)}`;
const approved = new Set<string>();
services.tools.set("guarded", (_args, { fail }) => {
  if (approved.size > 0) return "guarded done";
  throw fail.approval_required("a person must approve", {
    approvalId,
    expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
    tier: "always",
  });
});

const read = (path: string): string => `call ${labTool("read")} {"path":"${path}"}`;
const gave = (text: string): RegExp =>
  new RegExp(`<tool_output[^>]*>\\s*${text}\\s*</tool_output>`);

test("a CLI's calls are steps of the run, and its last text is the answer", async () => {
  const input = ["say Looking.", read("a"), `call ${labTool("write")} {}`, read("b")].join("\n");
  const events = await runToEnd("whole", input);
  const output = String(events.at(-1)?.payload["output"]);
  assert.match(output, gave("contents of a"));
  assert.match(output, gave("contents of b"));
  assert.match(output, /write failed: <[^>]*>\s*the policy denied this call: rule no-writes/);
  assert.deepEqual(
    ["tool-requested", "tool-denied", "tool-completed", "model-responded"].map((name) =>
      countOf(events, name),
    ),
    [3, 1, 2, 4],
  );
  await until(async () => (await readdir(runtimes)).length === 0); // the CLI's files are removed with the run
});

test("a CLI that cannot be started fails the run with the reason", async () => {
  await lab.command("nobody", { runId: "nobody", input: "say x" });
  const events = await lab.eventsUntil("nobody", "failed");
  assert.match(JSON.stringify(events.at(-1)?.payload), /\/no\/such\/program cannot be started/);
});

test("a CLI in a sandbox has its tools all the same", { skip: sandbox.skip }, async () => {
  services.agents.set("confined", agent("confined", { model: "confined/default" }));
  await lab.command("confined", { runId: "confined", input: read("inside") });
  const events = await lab.eventsUntil("confined", (event) => isEnd(event.name));
  assert.match(String(events.at(-1)?.payload["output"]), gave("contents of inside"));
});

test("concurrent runs have separate files, readable by this user alone", async () => {
  const gates = { x: newGate(), y: newGate() };
  services.tools.set("gate", async ({ name }) => gates[name === "x" ? "x" : "y"].pass());
  const ends = ["x", "y"].map((name) => runToEnd(`beside-${name}`, gateCall(name)));
  await Promise.all([gates.x.reached, gates.y.reached]);
  await until(async () => (await readdir(runtimes)).length === 2);
  const places = await readdir(runtimes);
  assert.equal(places.length, 2);
  for (const place of places) assert.equal((await stat(join(runtimes, place))).mode & 0o077, 0);
  gates.x.open("one");
  gates.y.open("two");
  const [x, y] = await Promise.all(ends);
  assert.match(String(x?.at(-1)?.payload["output"]), gave("one"));
  assert.match(String(y?.at(-1)?.payload["output"]), gave("two"));
  await until(async () => (await readdir(runtimes)).length === 0);
});

test("a person's message in the middle reaches the CLI with the result that it waits for", async () => {
  const gate = newGate();
  services.tools.set("gate", () => gate.pass());
  const end = runToEnd("steered", [gateCall("x"), read("after")].join("\n"));
  await gate.reached;
  await lab.publish("yard.cmd.cli.run.steer.steered", '{"message":"hurry up"}');
  await lab.eventsUntil("steered", "steered");
  gate.open("done");
  assert.match(
    String((await end).at(-1)?.payload["output"]),
    /message that came meanwhile: hurry up/,
  );
});

test("the cost that a CLI reports is the cost of the steps, and limits apply to it", async () => {
  const input = ["cost 0.25", read("a"), "cost 0.75", read("b"), "cost 0.75"].join("\n");
  const events = await runToEnd("priced", input);
  const costs = events
    .filter(({ name }) => name === "model-responded")
    .map(({ payload }) => payload["costUsd"]);
  assert.deepEqual(costs, [0.25, 0.5, 0]);
  await lab.command("coder", { runId: "dear", input, limits: { maxCostUsd: 0.5 } });
  const over = await lab.eventsUntil("dear", (event) => isEnd(event.name));
  assert.match(JSON.stringify(over.at(-1)?.payload), /maxCostUsd|cost/);
});

test("the limits of a run hold a CLI, too", async () => {
  const input = [read("a"), read("b"), read("c")].join("\n");
  await lab.command("coder", { runId: "limited", input, limits: { maxSteps: 2 } });
  const events = await lab.eventsUntil("limited", "failed");
  assert.match(JSON.stringify(events.at(-1)?.payload), /max_?steps|step/i);
  assert.equal(countOf(events, "tool-requested"), 2);
  await until(async () => (await childrenOf(runner.pid)).length === 0);
});

test("a host that dies in the middle is restarted, and its CLI resumes its session without a second call", async () => {
  const gate = newGate();
  services.tools.set("gate", () => gate.pass());
  const end = runToEnd("host-dies", [read("before"), gateCall("x"), read("after")].join("\n"));
  await gate.reached;
  const [host = 0] = await childrenOf(runner.pid);
  const [cli = 0] = await childrenOf(host);
  // The CLI ends before it stores in its session that its tools failed.
  runner.kill("SIGSTOP");
  process.kill(host, "SIGKILL");
  await until(async () => !(await isAlive(cli)));
  runner.kill("SIGCONT");
  gate.open("once");
  const events = await end;
  const output = String(events.at(-1)?.payload["output"]);
  for (const text of ["contents of before", "once", "contents of after"])
    assert.match(output, gave(text));
  assert.equal(countOf(events, "tool-requested"), 3, "no call was made twice");
});

test("a cancel ends the CLI with its process group", async () => {
  const gate = newGate();
  services.tools.set("gate", () => gate.pass());
  const end = lab.command("coder", { runId: "cancelled", input: gateCall("x") });
  await gate.reached;
  await end;
  const [host = 0] = await childrenOf(runner.pid);
  const [cli = 0] = await childrenOf(host);
  const bridges = await childrenOf(cli);
  assert.equal(bridges.length, 1);
  await lab.publish("yard.cmd.cli.run.cancel.cancelled", "{}");
  await lab.eventsUntil("cancelled", "cancelled");
  for (const pid of [host, cli, ...bridges]) await until(async () => !(await isAlive(pid)));
  gate.open("too late");
});

test("an approval parks the run; another runner resumes the CLI's session after it", async () => {
  const input = [read("first"), `call ${labTool("guarded")} {}`, read("last")].join("\n");
  await lab.command("coder", { runId: "approved", input });
  await lab.eventsUntil("approved", "waiting");
  const [host = 0] = await childrenOf(runner.pid);
  runner.kill("SIGKILL");
  await runner.exited;
  await until(async () => !(await isAlive(host)));
  runner = await lab.runnerProcess(env);
  approved.add(approvalId);
  await decideApproval(policy, {
    approvalId,
    callId: "cli~approved:2:0",
    tool: "guarded",
  });
  const events = await lab.eventsUntil("approved", (event) => isEnd(event.name));
  const output = String(events.at(-1)?.payload["output"]);
  for (const text of ["contents of first", "guarded done", "contents of last"])
    assert.match(output, gave(text));
  assert.equal(countOf(events, "tool-requested"), 3);
});

async function runToEnd(runId: string, input: string) {
  await lab.command("coder", { runId, input });
  const events = await lab.eventsUntil(runId, (event) => isEnd(event.name));
  assert.equal(events.at(-1)?.name, "finished", JSON.stringify(events.at(-1)));
  return events;
}

function isEnd(name: string): boolean {
  return ["finished", "failed", "cancelled", "rejected", "dead"].includes(name);
}

function countOf(events: readonly { readonly name: string }[], name: string): number {
  return events.filter((event) => event.name === name).length;
}

function gateCall(name: string): string {
  return `call ${labTool("gate")} {"name":"${name}"}`;
}

function newGate() {
  const reached = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<string>();
  return {
    reached: reached.promise,
    open: opened.resolve,
    pass(): Promise<string> {
      reached.resolve();
      return opened.promise;
    },
  };
}

async function childrenOf(parent: number): Promise<number[]> {
  const stats = await readProcessStats();
  return stats.flatMap((one) => (one.parent === parent && !one.isDead ? [one.pid] : []));
}

async function isAlive(pid: number): Promise<boolean> {
  const found = readProcessStat(pid);
  return found !== null && !found.isDead;
}
