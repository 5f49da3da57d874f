import assert from "node:assert/strict";
import { after, test } from "node:test";
import { consume } from "@switchyard/bus/consume";
import type { Delivery } from "@switchyard/bus/delivery";
import { publishEvent } from "@switchyard/bus/publish";
import { serve } from "@switchyard/bus/serve";
import { ensureStreams } from "@switchyard/bus/streams";
import { testBus } from "@switchyard/testing/test-bus";
import { forkRun, resumeRun, steerRun } from "@switchyard/contracts/agent-runner/run-commands";
import * as runEvents from "@switchyard/contracts/agent-runner/run-events";
import { answerQuestion, listQuestions } from "@switchyard/contracts/agent-runner/run-waits";
import { listDeadRuns, redriveCommand, retryRun } from "@switchyard/contracts/agent-runner/runs";
import { runCommands } from "@switchyard/topology/streams";
import { testDirectory, testNats } from "@switchyard/testing/test-servers";
import { jsonProblem } from "../../test-fixtures/json-output/json-output.ts";
import { yard, yardEnvironment } from "../../test-fixtures/yard-process.ts";

const directory = await testDirectory();
const nats = await testNats();
const env = { ...yardEnvironment(directory), YARD_NATS_URL: nats.url };
await ensureStreams(await testBus(nats, "admin"));
const bus = await testBus(nats, "runner");

/** The commands that reached the runner's queue, by the last tokens of their subject. */
const taken: [string, unknown][] = [];
const at = "2026-01-01T00:00:00.000Z";
const digest = `sha256:${"a".repeat(64)}`;
const failure = { code: "too_many_attempts", message: "2 runners died" };
const known = { seq: 1, at };
const limits = { maxSteps: 9, maxToolCalls: null, timeoutMs: 60_000 };

const onFault = ({ error }: { error: unknown }): never => assert.fail(String(error));
const service = serve(bus, {
  name: "runner",
  version: "0.0.0",
  description: "Remembers what it was asked",
  onFault,
});
service.handle(listDeadRuns, ({ cursor }) => ({
  next: cursor === undefined ? "1767225600000:bombed" : null,
  runs: [
    {
      runId: "bombed",
      agent: "demo",
      requester: "cli",
      model: "scripted/plan",
      status: "dead" as const,
      steps: 1,
      toolCalls: 1,
      createdAt: at,
      updatedAt: at,
      attempts: 3,
      labels: {},
      failure,
    },
  ],
  letters: [
    {
      runId: "unborn",
      subject: "yard.cmd.cli.run.start.demo",
      caller: "cli",
      streamSequence: 7,
      sentAt: at,
      failure,
      id: "cli~unborn:1767225600000",
      canRedrive: true,
    },
  ],
}));
service.handle(redriveCommand, ({ letterId }, { fail }) => {
  if (letterId !== "cli~unborn:1767225600000") throw fail.unknown_letter("no such", { letterId });
  const isRepeat = taken.some(([what]) => what === "redrive");
  taken.push(["redrive", letterId]);
  return { runId: "cli~unborn", outcome: isRepeat ? ("repeated" as const) : ("sent" as const) };
});
service.handle(listQuestions, ({ cursor }) => ({
  next: cursor === undefined ? "1767225600000:asking:1:0" : null,
  questions: [
    {
      runId: "asking",
      callId: "asking:1:0",
      question: "Which one?",
      options: ["this", "that"],
      until: at,
      requester: "cli",
      agent: "demo",
    },
  ],
}));
service.handle(answerQuestion, ({ runId, callId, answer }, { fail }) => {
  taken.push(["answer", answer]);
  if (runId !== "asking") throw fail.no_question("asks nothing", { runId, callId });
  return { outcome: "accepted" as const };
});
const consumption = consume(bus, {
  consumer: runCommands,
  commands: [steerRun, resumeRun, retryRun, forkRun],
  concurrency: 1,
  onFault,
  async handle(delivery) {
    await answerCommand(delivery);
    return { outcome: "done" };
  },
});
after(() => consumption.stop());

test("gives a run a message, and says when it was refused", async () => {
  const said = await yard(["runs", "steer", "r1", "hurry"], env);
  assert.deepEqual([said.code, said.stdout], [0, "the run has the message\n"], said.stderr);
  assert.deepEqual(taken.at(-1), ["steer.r1", { message: "hurry" }]);
  const refused = await yard(["runs", "steer", "gone", "hurry"], env);
  assert.equal(refused.code, 3, refused.stderr);
  assert.match(refused.stderr, /there is no run gone/);
});

test("resumes a run with other limits, or with the same", async () => {
  const raised = ["--max-steps", "9", "--max-cost", "0.5", "--max-time", "60"];
  const resumed = await yard(["runs", "resume", "r1", ...raised, "--json"], env);
  assert.equal(resumed.code, 0, resumed.stderr);
  assert.deepEqual(JSON.parse(resumed.stdout).data, { runId: "r1", outcome: "resumed" });
  const asked = { limits: { maxSteps: 9, maxCostUsd: 0.5, timeoutMs: 60_000 } };
  assert.deepEqual(taken.at(-1), ["resume.r1", asked]);
  assert.equal((await yard(["runs", "resume", "r1"], env)).code, 0);
  assert.deepEqual(taken.at(-1), ["resume.r1", { limits: {} }]);
});

test("retries a run with each of the limits that it may have failed at", async () => {
  const raised = ["--max-cost", "2", "--max-repeated-calls", "99"];
  const retried = await yard(["runs", "retry", "r1", ...raised], env);
  assert.equal(retried.code, 0, retried.stderr);
  assert.deepEqual(taken.at(-1), ["retry.r1", { limits: { maxCostUsd: 2, maxRepeatedCalls: 99 } }]);
  const refused = await yard(["runs", "retry", "r1", "--max-cost", "much"], env);
  assert.equal(refused.code, 2, refused.stderr);
  assert.match(refused.stderr, /must be a number above 0/);
});

test("starts a run from a step of another one, under an id of its own", async () => {
  const forked = await yard(["runs", "fork", "r1", "--step", "2", "--input", "other"], env);
  assert.equal(forked.code, 0, forked.stderr);
  const [subject, body] = taken.at(-1) ?? [];
  assert.equal(subject, "fork.r1");
  assert.deepEqual(body, { newRunId: forked.stdout.trim(), fromStep: 2, input: "other" });
  assert.notEqual((await yard(["runs", "fork", "r1"], env)).code, 0, "a fork needs its step");
});

test("lists what was given up, runs and commands", async () => {
  const listed = await yard(["runs", "dead"], env);
  assert.equal(listed.code, 0, listed.stderr);
  assert.match(listed.stdout, /bombed +run of demo .*too_many_attempts: 2 runners died/);
  assert.match(listed.stdout, /cli~unborn:1767225600000 +yard\.cmd\.cli\.run\.start\.demo/);
  assert.match(listed.stderr, /\.\/yard runs redrive <letter>/);
  assert.match(listed.stderr, /there are more; .* --cursor 1767225600000:bombed\n/);
  const last = await yard(["runs", "dead", "--cursor", "1767225600000:bombed"], env);
  assert.equal(last.code, 0, last.stderr);
  assert.doesNotMatch(last.stderr, /there are more/);
  assert.equal((await yard(["runs", "dead", "--cursor", "what"], env)).code, 2);
});

test("has a command sent again that was given up, once", async () => {
  const sent = await yard(["runs", "redrive", "cli~unborn:1767225600000"], env);
  assert.deepEqual([sent.code, sent.stdout], [0, "the command is on its way again\n"], sent.stderr);
  assert.match(sent.stderr, /runs tail cli~unborn/);
  const again = await yard(["runs", "redrive", "cli~unborn:1767225600000", "--json"], env);
  assert.equal(jsonProblem(["runs", "redrive"], again), null);
  assert.deepEqual(JSON.parse(again.stdout).data, { runId: "cli~unborn", outcome: "repeated" });
  assert.equal((await yard(["runs", "redrive", "cli~other:1767225600000"], env)).code, 3);
  assert.equal((await yard(["runs", "redrive", "unborn"], env)).code, 2);
});

test("shows what runs ask, and answers", async () => {
  const asked = await yard(["runs", "questions"], env);
  assert.match(asked.stdout, /asking:1:0 .*Which one\? \[this\] \[that\]/);
  assert.match(asked.stderr, /--cursor 1767225600000:asking:1:0\n/);
  const last = await yard(
    ["runs", "questions", "--json", "--cursor", "1767225600000:asking:1:0"],
    env,
  );
  assert.match(last.stdout, /"next": null/);
  const answered = await yard(["runs", "answer", "asking:1:0", "this"], env);
  assert.deepEqual([answered.code, answered.stdout], [0, "the run has the answer\n"]);
  const json = ["runs", "answer", "asking:1:0", '{"n":1}', "--answer-json"];
  assert.equal((await yard(json, env)).code, 0);
  assert.deepEqual(taken.slice(-2), [
    ["answer", "this"],
    ["answer", { n: 1 }],
  ]);
  assert.equal((await yard(["runs", "answer", "other:1:0", "this"], env)).code, 3);
});

/** Published like a runner's reply: an event that names the command. */
async function answerCommand(delivery: Delivery): Promise<void> {
  const { subject, streamSequence, caller } = delivery;
  const payload = delivery.kind === "command" ? delivery.payload : null;
  const [verb = "", runId = ""] = subject.split(".").slice(-2);
  taken.push([`${verb}.${runId}`, payload]);
  const facts = { ...known, runId, by: caller, streamSequence };
  if (runId === "gone") {
    const code = "unknown_run";
    const message = `there is no run ${runId}`;
    const rejected = { runId, subject, caller, code, message, problems: [], messageId: null, at };
    await publishEvent(
      bus,
      runEvents.runRejected,
      { owner: "cli", runId },
      { ...rejected, streamSequence },
    );
  } else if (verb === "steer") {
    await publishEvent(
      bus,
      runEvents.runSteered,
      { owner: "cli", runId },
      { ...facts, preview: "hurry" },
    );
  } else if (verb === "retry") {
    await publishEvent(bus, runEvents.runRetried, { owner: "cli", runId }, { ...facts, limits });
  } else if (verb === "resume") {
    await publishEvent(
      bus,
      runEvents.runLimitsChanged,
      { owner: "cli", runId },
      { ...facts, limits },
    );
  } else {
    const { newRunId } = forkRun.payload.parse(payload);
    assert.ok(newRunId !== undefined);
    const started = {
      ...known,
      runId: newRunId,
      agent: "demo",
      agentDigest: digest,
      requester: caller,
      model: "scripted/plan",
      labels: {},
    };
    await publishEvent(bus, runEvents.runStarted, { owner: "cli", runId: newRunId }, started);
  }
}
