import assert from "node:assert/strict";
import { after, test } from "node:test";
import { consume } from "@switchyard/bus/consume";
import { publishEvent, publishLive } from "@switchyard/bus/publish";
import { serve } from "@switchyard/bus/serve";
import { ensureStreams } from "@switchyard/bus/streams";
import { testBus } from "@switchyard/testing/test-bus";
import * as runEvents from "@switchyard/contracts/agent-runner/run-events";
import { listRunEvents } from "@switchyard/contracts/agent-runner/run-history";
import { getRun, startRun } from "@switchyard/contracts/agent-runner/runs";
import { runCommands } from "@switchyard/topology/streams";
import { testDirectory, testNats } from "@switchyard/testing/test-servers";
import { yard, yardEnvironment, yardStarted } from "../../test-fixtures/yard-process.ts";

const directory = await testDirectory();
const nats = await testNats();
const env = { ...yardEnvironment(directory), YARD_NATS_URL: nats.url };
await ensureStreams(await testBus(nats, "admin"));
const bus = await testBus(nats, "runner");

const digest = `sha256:${"a".repeat(64)}`;
const usage = { inputTokens: 10, outputTokens: 5 };
const model = "anthropic/m";
const begun = Date.parse("2026-01-01T00:00:00.000Z");
const at = (ms: number): string => new Date(begun + ms).toISOString();
const onFault = ({ error }: { error: unknown }): never => assert.fail(String(error));

/** Publishes the events of a run whose model's stream breaks once and then answers. */
const consumption = consume(bus, {
  consumer: runCommands,
  commands: [startRun],
  concurrency: 1,
  onFault,
  async handle(delivery) {
    assert.equal(delivery.kind, "command");
    const { runId = "" } = startRun.payload.parse(delivery.payload);
    await steerRun(runId);
    return { outcome: "done" };
  },
});
after(() => consumption.stop());

const service = serve(bus, { name: "runner", version: "0.0.0", description: "Has runs", onFault });
service.handle(getRun, ({ runId }) => ({
  run: {
    runId,
    agent: "demo",
    requester: "cli",
    model,
    status: "succeeded" as const,
    steps: 2,
    toolCalls: 1,
    createdAt: at(0),
    updatedAt: at(1_500),
    attempts: 1,
    labels: {},
    input: "x",
    output: "the answer",
    failure: null,
    cancellation: null,
    usage,
    costUsd: 0.25,
    agentDigest: digest,
    skills: [],
    memory: { kept: 7, given: 2, named: 3 },
  },
}));

service.handle(listRunEvents, ({ runId }, { fail }) => {
  throw fail.journal_corrupt(`the journal of ${runId} cannot be read`, { runId });
});

test("shows text as it is written, marks what of it is void, and prints what the run cost", async () => {
  const ran = await yard(["run", "demo", "x"], env);
  assert.equal(ran.code, 0, ran.stderr);
  assert.equal(ran.stdout, "the answer\n", "stdout has the answer alone");
  const shown = ran.stderr.split("\n").map((line) => line.replace(/^ *[\d.]+s +/, "").trim());
  const broken = shown.findIndex((line) => line.endsWith("a first attempt"));
  const isVoid = shown.findIndex((line) =>
    line.includes("the text of step 1 so far does not count"),
  );
  const whole = shown.findIndex((line) => line.endsWith("looking"));
  assert.ok(broken >= 0 && broken < isVoid && isVoid < whole, ran.stderr);
  assert.match(ran.stderr, /finished +2 steps, 1 tool call, 1\.5 s, \$0\.250, anthropic\/m/);
  const json = await yard(["run", "demo", "x", "--json"], env);
  assert.equal(json.code, 0, json.stderr);
  for (const line of json.stdout.trim().split("\n"))
    assert.equal(typeof JSON.parse(line).sequence, "number", "only events are shown");
});

test("tails a run that another client started, and ends as it does", async () => {
  await steerRun("tailed");
  const done = await yard(["runs", "tail", "tailed"], env);
  assert.equal(done.code, 0, done.stderr);
  assert.equal(done.stdout, "the answer\n", "stdout has the answer alone");
  assert.match(done.stderr, /finished +2 steps/);
  const about = {
    runId: "cli~refused",
    subject: "yard.cmd.me.run.start.x",
    caller: "me",
    at: at(0),
  };
  const why = { code: "unknown_agent", message: "there is no agent x", problems: [] };
  const rejected = { ...about, ...why, streamSequence: 1, messageId: null };
  await publishEvent(bus, runEvents.runRejected, { owner: "cli", runId: "refused" }, rejected);
  const failed = await yard(["runs", "tail", "refused"], env);
  assert.notEqual(failed.code, 0);
  assert.match(failed.stderr, /there is no agent x/);
  assert.equal((await yard(["runs", "tail", "no run"], env)).code, 2);
});

test("reports at once that a run is unknown, and still follows it when it begins", async () => {
  for (const [runId, ...args] of [
    ["later-1", "tail"],
    ["later-2", "events", "--follow"],
  ]) {
    assert.ok(runId !== undefined);
    const [command = "", ...options] = args;
    const following = yardStarted(["runs", command, runId, ...options, "--wait", "60"], env);
    await following.printed(`run ${runId} is unknown so far`);
    await steerRun(runId);
    assert.equal(await following.exited, 0, following.output());
    assert.match(following.output(), /finished +2 steps/);
    assert.doesNotMatch(following.output(), /still queued/);
  }
});

test("what was refused too early does not end a run that begins later", async () => {
  const about = { runId: "cli~early", caller: "me", at: at(0), problems: [], messageId: null };
  const why = { code: "unknown_run", message: "there is no run early" };
  for (const verb of ["steer", "cancel", "retry", "resume"]) {
    const rejected = { ...about, ...why, subject: `yard.cmd.me.run.${verb}.early` };
    await publishEvent(
      bus,
      runEvents.runRejected,
      { owner: "cli", runId: "early" },
      { ...rejected, streamSequence: 1 },
    );
  }
  await steerRun("early");
  const done = await yard(["runs", "tail", "early"], env);
  assert.equal(done.code, 0, done.stderr);
  assert.equal(done.stdout, "the answer\n");
});

test("a run whose journal is unreadable is over for its followers", async () => {
  const about = { runId: "cli~torn", caller: "me", at: at(0), problems: [], messageId: null };
  const why = { code: "journal_corrupt", message: "the journal of the run cannot be read" };
  const rejected = { ...about, ...why, subject: "yard.cmd.me.run.start.x", streamSequence: 1 };
  const resumed = { runId: "torn", seq: 2, at: at(0), attempt: 2, journalEntries: 3 };
  await publishEvent(bus, runEvents.runResumed, { owner: "cli", runId: "torn" }, resumed);
  await publishEvent(bus, runEvents.runRejected, { owner: "cli", runId: "torn" }, rejected);
  const over = await yard(["runs", "tail", "torn"], env);
  assert.equal(over.code, 1, over.stderr);
  assert.match(over.stderr, /journal of the run cannot be read/);
});

test("rejects what can be no run's id as a usage error, without a request", async () => {
  const lines = [["events"], ["retry"], ["steer", "hurry"], ["fork", "--step", "1"]];
  await Promise.all(
    lines.map(async ([verb = "", ...rest]) => {
      const { code, stderr } = await yard(["runs", verb, "a b", ...rest], env);
      assert.equal(code, 2, `${verb}: ${stderr}`);
      assert.match(stderr, /"a b" is not a valid run id/);
    }),
  );
});

test("starts no run whose recording could not be written", async () => {
  const file = `${directory}/missing/run.json`;
  const { code, stderr } = await yard(["run", "demo", "x", "--record", file], env);
  assert.equal(code, 2, stderr);
  assert.match(stderr, /--record .* cannot be written/);
  assert.doesNotMatch(stderr, /queued/);
});

test("shows a run with how long its steps, calls and waits took", async () => {
  await steerRun("shown");
  const { stdout, stderr, code } = await yard(["runs", "show", "shown"], env);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^cost +\$0\.250$/m);
  assert.match(stdout, /^memory +7 kept, 2 in the prompt, 3 there by name alone$/m);
  assert.match(stdout, /\+0 ms +500 ms +step 1 +anthropic\/m asks for 1 tool call, \$0\.200$/m);
  assert.match(stdout, /\+500 ms +700 ms +call 1 +ask_user$/m);
  assert.match(stdout, /\+600 ms +500 ms +wait +for an answer$/m);
  assert.match(stdout, /step 2 +anthropic\/m answers, \$0\.050$/m);
  const json = await yard(["runs", "show", "shown", "--json"], env);
  const { run, timeline } = JSON.parse(json.stdout).data;
  assert.equal(run.runId, "shown");
  assert.deepEqual(
    timeline.map(({ kind, durationMs }: { kind: string; durationMs: number }) => [
      kind,
      durationMs,
    ]),
    [
      ["step", 500],
      ["call", 700],
      ["wait", 500],
      ["step", 300],
    ],
  );
});

test("shows a run whose events have left the stream and whose journal is unreadable", async () => {
  const { stdout, code } = await yard(["runs", "show", "old"], env);
  assert.equal(code, 0);
  assert.match(stdout, /^status +succeeded$/m);
  assert.doesNotMatch(stdout, /TOOK/);
});

async function steerRun(runId: string): Promise<void> {
  const live = (delta: string) =>
    publishLive(bus, runEvents.runLive, { owner: "cli", runId }, { runId, step: 1, delta });
  let seq = 0;
  const known = (ms: number) => ({ runId, seq: (seq += 1), at: at(ms) });
  const call = { callId: `${runId}:1:0`, tool: "ask_user", step: 1 };
  const wait = { reason: "question" as const, callId: call.callId, tool: call.tool, until: null };
  const answered = { model, usage };
  await publishEvent(
    bus,
    runEvents.runStarted,
    { owner: "cli", runId },
    {
      ...known(0),
      agent: "demo",
      agentDigest: digest,
      requester: "cli",
      model,
      labels: {},
    },
  );
  live("a first attempt\nthat br");
  const reset = { runId, step: 1, delta: "", kind: "reset-step" as const };
  publishLive(bus, runEvents.runLive, { owner: "cli", runId }, reset);
  live("look");
  live("ing");
  const first = { step: 1, text: "looking", toolCalls: 1, durationMs: 500, costUsd: 0.2 };
  await publishEvent(
    bus,
    runEvents.modelResponded,
    { owner: "cli", runId },
    {
      ...known(500),
      ...answered,
      ...first,
    },
  );
  const asked = { argsPreview: "{}", argsDigest: digest };
  await publishEvent(
    bus,
    runEvents.toolRequested,
    { owner: "cli", runId },
    { ...known(500), ...call, ...asked },
  );
  await publishEvent(
    bus,
    runEvents.runWaiting,
    { owner: "cli", runId },
    {
      ...known(600),
      waits: [wait],
      until: null,
    },
  );
  await publishEvent(
    bus,
    runEvents.runWoken,
    { owner: "cli", runId },
    { ...known(1_100), attempt: 2 },
  );
  const result = { isError: false, decision: null, preview: "yes", textBytes: 3, replayed: false };
  await publishEvent(
    bus,
    runEvents.toolCompleted,
    { owner: "cli", runId },
    {
      ...known(1_200),
      ...call,
      ...result,
      durationMs: 0,
    },
  );
  const last = { step: 2, text: "the answer", toolCalls: 0, durationMs: 300, costUsd: 0.05 };
  await publishEvent(
    bus,
    runEvents.modelResponded,
    { owner: "cli", runId },
    {
      ...known(1_500),
      ...answered,
      ...last,
    },
  );
  const ended = { output: "the answer", steps: 2, toolCalls: 1, durationMs: 1_500, costUsd: 0.25 };
  await publishEvent(
    bus,
    runEvents.runFinished,
    { owner: "cli", runId },
    {
      ...known(1_500),
      ...answered,
      ...ended,
    },
  );
}
