import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { call } from "@switchyard/bus/call";
import { connectBus } from "@switchyard/bus/connect";
import { readEvents } from "@switchyard/bus/events";
import { publishCommand } from "@switchyard/bus/publish";
import { until } from "@switchyard/local-servers/until";
import { listApprovals } from "@switchyard/contracts/policy/approvals";
import { isError, ServiceError } from "@switchyard/contracts/errors";
import { callTool } from "@switchyard/contracts/mcp-broker/mcp";
import { startRun } from "@switchyard/contracts/agent-runner/runs";
import { callBuiltin } from "@switchyard/contracts/toolbox/toolbox";
import { anonymousUser } from "@switchyard/topology/topology";
import {
  startChatServer,
  textChunks,
  toolCallChunks,
} from "../../services/agent-runner/test-fixtures/chat-server.ts";
import { startYardDev, type DevProcess } from "../lib/yard-dev.ts";
import { yardCommand } from "../lib/yard-command.ts";

// The whole of Switchyard, with tools that leave a mark for each time they are really called.
const root = fileURLToPath(new URL("../../", import.meta.url));
const directory = await mkdtemp(join(tmpdir(), "yard-held-"));
const workspace = join(directory, "workspace");
const callsFile = join(directory, "calls");
const project = join(directory, "project");
const stateDir = join(directory, "state");
for (const folder of ["agents", "policies", "skills"])
  await mkdir(join(project, folder), { recursive: true });
await mkdir(workspace);
await writeFile(callsFile, "");
await writeFile(
  join(project, "mcp-servers.json"),
  JSON.stringify({
    mcpServers: {
      counting: {
        command: "${TEST_NODE}",
        args: ["${YARD_HOME}/test/e2e/fixtures/counting-server.ts"],
        env: { CALLS_FILE: callsFile },
        callTimeoutMs: 600_000,
      },
    },
  }),
);
await writeFile(
  join(project, "policies/rules.yaml"),
  `version: 1
rules:
  - { id: ask-first, effect: allow, who: { agents: [asker, patient] }, what: { tools: [counting.append] }, approval: always }
  - { id: look, effect: allow, who: { agents: [lister] }, what: { tools: [list_files] } }
  - { id: talk, effect: allow, who: { agents: [talker] }, what: { tools: [counting.append] }, approval: always }
  - { id: talk-big, effect: allow, who: { agents: [talker] }, what: { tools: [counting.big] }, approval: auto }
  - { id: shell, effect: allow, who: { users: [me] }, what: { tools: [execute_command] } }
  - { id: direct, effect: allow, who: { users: [me, cli] }, what: { tools: [counting.hang, counting.big, write_file] }, approval: auto }
`,
);
// A line of the run's own, then its result.
const agent = (name: string, takesMs: number): string => `name: ${name}
description: makes one call that a person has to approve
model: scripted/plan
plan:
  steps:
    - calls: [{ tool: mcp__counting__append, with: { line: { $from: /input/line }, takesMs: ${takesMs} }, as: call }]
  answer: "{{/results/call/text}}"
`;
await writeFile(
  join(project, "agents/lister.yaml"),
  `name: lister
description: names a built-in tool as other systems do
model: scripted/plan
tools: [list_directory]
plan:
  steps:
    - calls: [{ tool: list_directory, with: {}, as: list }]
  answer: "{{/results/list/text}}"
`,
);
await writeFile(
  join(project, "agents/talker.yaml"),
  "name: talker\ndescription: does what its model says\nmodel: local/chat\ntools: [counting.*]\nprompt: Help.\n",
);
const chat = await startChatServer();
const local = { type: "openai-compatible", baseURL: chat.baseURL };
await writeFile(join(project, "models.json"), JSON.stringify({ providers: { local } }));
await writeFile(join(project, "agents/asker.yaml"), agent("asker", 0));
await writeFile(join(project, "agents/patient.yaml"), agent("patient", 500_000));

const dev = await startYardDev({
  project: relative(root, project),
  stateDir,
  workspace,
  apart: true,
  env: { YARD_SANDBOX: "off" }, // without a sandbox commands run on any machine
});
const bus = await connectBus({
  servers: dev.natsUrl,
  user: anonymousUser.name,
  inboxPrefix: anonymousUser.inboxPrefix,
});
after(async () => {
  await bus.close();
  await dev.stop();
  await rm(directory, { recursive: true, force: true });
});

async function callsOf(line: string): Promise<number> {
  const lines = (await readFile(callsFile, "utf8")).split("\n");
  return lines.filter((found) => found === line).length;
}

type RunEvent = { readonly name: string; readonly payload: Record<string, unknown> };

/** The events of a run up to one with this name. */
async function eventsUntil(runId: string, last: string): Promise<RunEvent[]> {
  const found: RunEvent[] = [];
  const filters = [`yard.evt.run.me.${runId}.*`];
  for await (const { subject, payload } of readEvents(bus, { filters, from: "beginning" })) {
    const name = subject.split(".").at(-1) ?? "";
    found.push({ name, payload: payload as Record<string, unknown> }); // every run event is an object
    if (name === last) return found;
    if (["failed", "rejected", "dead"].includes(name)) break;
  }
  throw new Error(`${runId} ended before ${last}: ${JSON.stringify(found.at(-1))}`);
}

/** The approval that a run waits for. */
async function approvalOf(runId: string): Promise<string> {
  await eventsUntil(runId, "waiting");
  const { approvals } = await call(bus, listApprovals, { runId });
  const [approval] = approvals;
  assert.ok(approval, `no approval is requested for ${runId}`);
  return approval.id;
}

/** Pid of the current process, which may differ from the one at the start. */
async function currentPid(name: string): Promise<number> {
  const text = await readFile(join(stateDir, "dev.json"), "utf8");
  const { processes } = JSON.parse(text) as { processes: DevProcess[] }; // as `yard dev` writes it
  const found = processes.find((process) => process.name === name);
  if (found === undefined) throw new Error(`there is no ${name}`);
  return found.pid;
}

function processOf(name: string): DevProcess {
  const found = dev.processes.find((process) => process.name === name);
  if (found === undefined) throw new Error(`there is no ${name}`);
  return found;
}

test("a call waits for a person, who approves it at the command line, and then happens once [E18]", async () => {
  await publishCommand(
    bus,
    startRun,
    { agent: "asker" },
    { runId: "approved", input: { line: "approved" } },
  );
  const id = await approvalOf("approved");
  assert.equal(await callsOf("approved"), 0);
  await yardCommand(stateDir, "approvals", "approve", id);
  const events = await eventsUntil("approved", "finished");
  assert.match(String(events.at(-1)?.payload["output"]), /appended approved/);
  assert.equal(await callsOf("approved"), 1);
  // It is spent: a second verdict and a second call find nothing.
  await assert.rejects(yardCommand(stateDir, "approvals", "deny", id), /ended with/);
  assert.match(JSON.stringify(await yardCommand(stateDir, "approvals", "show", id)), /"executed"/);
});

test("a person denies a call at the command line: it does not happen, and its reason reaches the model once", async () => {
  await publishCommand(
    bus,
    startRun,
    { agent: "asker" },
    { runId: "denied", input: { line: "denied" } },
  );
  const id = await approvalOf("denied");
  const reason = "not on a Friday";
  await yardCommand(stateDir, "approvals", "deny", id, "--reason", reason);
  const events = await eventsUntil("denied", "finished");
  assert.equal(await callsOf("denied"), 0);
  const reported = events.filter(
    ({ name, payload }) => name.startsWith("tool-") && JSON.stringify(payload).includes(reason),
  );
  assert.equal(reported.length, 1, JSON.stringify(events));
  const answer = String(events.at(-1)?.payload["output"]);
  assert.equal(answer.split(reason).length, 2, answer);
});

/** Occurrences of a text in the conversation that the model got with a request. */
function timesReported(request: number, text: string): number {
  return JSON.stringify(chat.requests[request]?.["messages"] ?? "").split(text).length - 1;
}

test("the reason of a denial stands once in the model's conversation, also after its runner was killed", async () => {
  const runId = "talked";
  const reason = "ask me again on Monday";
  const calls = (tool: string, args: object) =>
    toolCallChunks({
      id: `call-${tool}`,
      name: `mcp__counting__${tool}`,
      args: JSON.stringify(args),
    });
  chat.answer(
    { chunks: calls("append", { line: "talked" }) },
    { chunks: calls("big", { bytes: 3 }) },
    { chunks: [], end: "hang" },
    { chunks: textChunks("I see.") },
  );
  await publishCommand(bus, startRun, { agent: "talker" }, { runId, input: "append a line" });
  const id = await approvalOf(runId);
  await yardCommand(stateDir, "approvals", "deny", id, "--reason", reason);
  await until(async () => chat.requests.length === 3);
  const killed = await currentPid("runner");
  process.kill(killed, "SIGKILL");
  const events = await eventsUntil(runId, "finished");
  assert.equal(events.at(-1)?.payload["output"], "I see.");
  assert.deepEqual(
    chat.requests.map((_, request) => timesReported(request, reason)),
    [0, 1, 1, 1],
  );
  assert.deepEqual(chat.requests[3]?.["messages"], chat.requests[2]?.["messages"]);
  assert.equal(events.filter(({ name }) => name === "tool-denied").length, 1);
  assert.equal(await callsOf("talked"), 0);
  const { approvals } = await call(bus, listApprovals, { runId, pendingOnly: false });
  assert.equal(approvals.length, 1, "a person was prompted once");
  await until(async () => (await currentPid("runner")) !== killed);
});

test("a command of the toolbox waits for a person, is shown as it would run, and runs once, as it was approved and not otherwise [X14][E17]", async () => {
  const marks = async (): Promise<string> =>
    readFile(join(workspace, "marks"), "utf8").catch(() => "");
  const command = { command: "echo ran >> marks", shell: true };
  const run = (args: object, more: object = {}) =>
    call(bus, callBuiltin, {
      tool: "execute_command",
      args: { ...args },
      callId: "shell-1",
      ...more,
    });
  const waiting = async (made: Promise<unknown>): Promise<string> => {
    const error = await made.then(
      () => null,
      (reason: unknown) => reason,
    );
    assert.ok(isError(error, callBuiltin, "approval_required"), String(error));
    assert.equal(error.data.tier, "always");
    return error.data.approvalId;
  };
  const id = await waiting(run(command));
  assert.equal(await waiting(run(command)), id, "it is the same question");
  const shown = JSON.stringify(await yardCommand(stateDir, "approvals", "show", id));
  assert.match(shown, /"execute_command"/);
  assert.match(shown, /echo ran >> marks/);
  assert.equal(await marks(), "");

  await yardCommand(stateDir, "approvals", "approve", id);
  const others = [
    { command: "echo other >> marks", shell: true },
    { ...command, timeout: 1_000 },
    { command: "echo ran >> marks" },
  ];
  for (const args of others) {
    const named = await failureOf(run(args, { approvalId: id }));
    assert.notEqual(named, null, JSON.stringify(args));
    assert.notEqual(await failureOf(run(args, { callId: "shell-2", approvalId: id })), null);
  }
  assert.equal(await marks(), "");

  const attempts = Array.from({ length: 20 }, () => failureOf(run(command)));
  await Promise.all(attempts);
  assert.equal((await run(command)).replayed, true);
  assert.equal(await marks(), "ran\n");
  await waiting(run(command, { callId: "shell-3" }));
  assert.equal(await marks(), "ran\n");
});

/** The code of the error that a call ended with; null when it was made. */
function failureOf(made: Promise<unknown>): Promise<string | null> {
  return made.then(
    () => null,
    (error: unknown) => (error instanceof ServiceError ? error.code : assert.fail(String(error))),
  );
}

test("a broker killed between the approval and the answer does not repeat the call, and reports its outcome as unknown [E18]", async () => {
  const { pid } = processOf("broker");
  await publishCommand(
    bus,
    startRun,
    { agent: "patient" },
    { runId: "killed", input: { line: "killed" } },
  );
  const id = await approvalOf("killed");
  await yardCommand(stateDir, "approvals", "approve", id);
  // The call has arrived and has its effect; its server would answer in minutes.
  await until(async () => (await callsOf("killed")) === 1);
  process.kill(pid, "SIGKILL");
  // The next runner requests the result at once, where this one would wait for the lost reply.
  process.kill(await currentPid("runner"), "SIGKILL");
  const events = await eventsUntil("killed", "finished");
  assert.equal(await callsOf("killed"), 1);
  const failed = events.find(({ name }) => name === "tool-failed");
  assert.equal(failed?.payload["code"], "outcome_unknown", JSON.stringify(events.at(-1)));
  // The operator's view.
  const shown = await yardCommand(stateDir, "approvals", "show", id);
  assert.match(JSON.stringify(shown), /"execution":"unknown"/);
  await assert.rejects(yardCommand(stateDir, "approvals", "approve", id), /ended with/);
});

test("an agent that lists a built-in tool by its alias calls the tool, under the tool's own rule", async () => {
  await writeFile(join(workspace, "seen.txt"), "x");
  await publishCommand(bus, startRun, { agent: "lister" }, { runId: "alias", input: "x" });
  const events = await eventsUntil("alias", "finished");
  assert.match(String(events.at(-1)?.payload["output"]), /seen\.txt/, JSON.stringify(events));
});

test("yard tools lists what the policy lets a person call, calls it, and a stop of the real policy ends that", async () => {
  const listed = JSON.stringify(await yardCommand(stateDir, "tools", "list"));
  assert.match(listed, /"write_file"/);
  assert.doesNotMatch(listed, /execute_command|read_file/);
  const write = (path: string): Promise<unknown> =>
    yardCommand(stateDir, "tools", "call", "write_file", JSON.stringify({ path, content: "x" }));
  await write("by-hand");
  assert.ok(existsSync(join(workspace, "by-hand")));
  await yardCommand(stateDir, "policy", "stop", "--user", "cli", "--reason", "a test");
  await assert.rejects(write("stopped"), /ended with/);
  assert.equal(existsSync(join(workspace, "stopped")), false);
  await yardCommand(stateDir, "policy", "resume", "--user", "cli");
  await write("resumed");
  assert.ok(existsSync(join(workspace, "resumed")));
});

/** A call of each tool provider; resolves to the names of those that happened. */
async function callBoth(path: string): Promise<string[]> {
  const [brokered, builtin] = await Promise.allSettled([
    call(bus, callTool, { tool: "big", args: { bytes: 3 } }, { tokens: { server: "counting" } }),
    call(bus, callBuiltin, { tool: "write_file", args: { path, content: "x" } }),
  ]);
  const outcomes = { broker: brokered, toolbox: builtin };
  return Object.entries(outcomes).flatMap(([name, outcome]) => {
    if (outcome.status === "fulfilled") return [name];
    const { reason } = outcome;
    assert.ok(reason instanceof ServiceError, String(reason));
    assert.equal(reason.code, "policy_unavailable", reason.message);
    return [];
  });
}

test("a policy that is stopped dead: kept decisions run out, then no call happens, and none afterwards [ER1]", async () => {
  const { pid } = processOf("policy");
  await until(async () => (await callBoth("before")).length === 2);
  process.kill(pid, "SIGSTOP");
  try {
    // Cached decisions stay valid for as long as the policy had promised.
    await until(async () => (await callBoth("meanwhile")).length === 0);
    for (const path of ["one", "two"]) {
      assert.deepEqual(await callBoth(path), []);
      assert.equal(existsSync(join(workspace, path)), false);
    }
  } finally {
    process.kill(pid, "SIGCONT");
  }
  await until(async () => (await callBoth("after")).length === 2);
  // The policy has since answered the requests from its pause, without a waiting caller.
  for (const path of ["one", "two"]) assert.equal(existsSync(join(workspace, path)), false);
});

test("a policy that is killed: a call happens with a decision of the next one, or not at all [ER1]", async () => {
  process.kill(processOf("policy").pid, "SIGKILL");
  const isBack = (): boolean => dev.log.some(({ msg }) => msg === "policy is back");
  let attempts = 0;
  let refused = 0;
  await until(async () => {
    attempts += 1;
    const path = `killed-${attempts}`;
    const happened = await callBoth(path);
    assert.equal(existsSync(join(workspace, path)), happened.includes("toolbox"), path);
    refused += happened.length === 0 ? 1 : 0;
    return isBack() && happened.length === 2;
  });
  assert.ok(refused > 0, "no call met the outage");
});
