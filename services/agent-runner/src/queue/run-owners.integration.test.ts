import { call } from "@switchyard/bus/call";
import { isError } from "@switchyard/contracts/errors";
import { answerQuestion, listQuestions } from "@switchyard/contracts/agent-runner/run-waits";
import { listRunEvents } from "@switchyard/contracts/agent-runner/run-history";
import { getRecording } from "@switchyard/contracts/agent-runner/run-recordings";
import {
  getRun,
  listDeadRuns,
  listRuns,
  requestCancel,
} from "@switchyard/contracts/agent-runner/runs";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { agent, answering, connectAs } from "../../test-fixtures/fake-services.ts";
import { startLab } from "../../test-fixtures/runner-lab.ts";

/** Two callers without access to each other's runs, and one that may read them. */

const lab = await startLab();
const { services } = lab;
const redis = await connectRedis({
  url: lab.redis.url,
  name: "test",
  log: createLog({ service: "test", level: "silent" }),
});
const teamA = await connectAs(lab.nats, "team-a");
const teamB = await connectAs(lab.nats, "team-b");
const teamC = await connectAs(lab.nats, "team-c");
after(async () => {
  for (const bus of [teamA, teamB, teamC]) await bus.close();
  redis.disconnect();
});
await lab.runner({ YARD_RUNNER_SLOTS: "2" });

const ask = { tool: "ask_user", with: { question: "?" }, as: "said" };
services.agents.set(
  "asker",
  agent("asker", { plan: { steps: [{ calls: [ask] }], answer: "{{/input}}" } }),
);
services.agents.set("helper", answering("helper", "helped"));

test("two callers have a run each under one run id, and each sees its own only", async () => {
  for (const team of ["team-a", "team-b"]) {
    await start(team, "asker", { runId: "same", input: team });
    const events = await lab.eventsUntil(`${team}~same`, "waiting");
    assert.ok(events.every(({ payload }) => payload["runId"] === `${team}~same`));
    assert.equal(events.filter(({ name }) => name === "started").length, 1);
  }
  for (const [bus, own, foreign] of [
    [teamA, "team-a", "team-b"],
    [teamB, "team-b", "team-a"],
  ] as const) {
    const { run } = await call(bus, getRun, { runId: "same" });
    assert.deepEqual([run.runId, run.requester, run.input], [`${own}~same`, own, own]);
    assert.deepEqual(await listedFor(bus), [`${own}~same`]);
    assert.deepEqual((await call(bus, listRuns, { owner: foreign })).runs, []);
    const { questions } = await call(bus, listQuestions, {});
    assert.deepEqual(
      questions.map(({ runId }) => runId),
      [`${own}~same`],
    );
    const runId = `${foreign}~same`;
    await assertUnknown(bus, runId);
  }
  assert.deepEqual((await listedFor(lab.bus)).toSorted(), ["team-a~same", "team-b~same"]);
});

test("a run of another owner can be neither cancelled, answered, steered, retried nor copied, whether it exists or not", async () => {
  const said = new Set<string>();
  for (const name of ["same", "nothing"]) {
    const runId = `team-b~${name}`;
    const answer = { runId, callId: `${runId}:1:0`, answer: "yes" };
    for (const asked of [
      call(teamA, requestCancel, { runId }),
      call(teamA, answerQuestion, answer),
    ]) {
      const { code, message } = await refusalOf(asked);
      assert.equal(code, "not_allowed");
      said.add(message.replace(runId, "it"));
    }
    for (const [verb, body] of [
      ["cancel", {}],
      ["retry", {}],
      ["steer", { message: "hurry" }],
      ["resume", { limits: { maxSteps: 9 } }],
      ["fork", { newRunId: name, fromStep: 1 }],
    ] as const) {
      const subject = `yard.cmd.team-a.run.${verb}.${runId}`;
      await lab.publish(subject, JSON.stringify(body));
      // It is published to the sender, below its own name, and not to the owner of the run.
      const reported = await lab.eventsUntil(
        `team-a~${name}`,
        ({ name: event, payload }) => event === "rejected" && payload["subject"] === subject,
      );
      assert.equal(reported.at(-1)?.payload["code"], "not_allowed", verb);
      said.add(`${verb}: ${String(reported.at(-1)?.payload["message"]).replace(runId, "it")}`);
    }
  }
  assert.equal(said.size, 7, `the same is said of both runs: ${[...said].join("\n")}`);
  assert.equal((await call(teamB, getRun, { runId: "same" })).run.status, "waiting");
});

test("a cancel of another owner's run that does not exist yet is not remembered", async () => {
  await assert.rejects(call(teamB, requestCancel, { runId: "team-a~later" }), (error) =>
    isError(error, requestCancel, "not_allowed"),
  );
  await lab.publish("yard.cmd.team-b.run.cancel.team-a~later", "{}");
  await lab.eventsUntil("team-b~later", "rejected");
  assert.equal((await call(teamB, requestCancel, { runId: "later" })).outcome, "remembered");
  await start("team-a", "asker", { runId: "later", input: "x" });
  const events = await lab.eventsUntil("team-a~later", ({ name }) =>
    ["waiting", "cancelled"].includes(name),
  );
  assert.equal(events.at(-1)?.name, "waiting");
  await start("team-b", "asker", { runId: "later", input: "x" });
  await lab.eventsUntil("team-b~later", "cancelled");
});

test("no caller starts a run in another owner's name", async () => {
  for (const sender of ["team-a", "cli"]) {
    await start(sender, "asker", { runId: "team-b~forged", input: "x" });
    const rejected = (await lab.eventsUntil(`${sender}~forged`, "rejected")).at(-1);
    assert.equal(rejected?.payload["code"], "invalid_command");
  }
  await assertUnknown(teamB, "forged");
});

test("readers may see a run, and do no more", async () => {
  await start("team-a", "asker", { runId: "shown", input: "x", readers: ["team-b"] });
  await lab.eventsUntil("team-a~shown", "waiting");
  const runId = "team-a~shown";
  const { run } = await call(teamB, getRun, { runId });
  assert.deepEqual([run.runId, run.readers], [runId, ["team-b"]]);
  assert.notEqual((await refusalOf(call(teamB, getRecording, { runId }))).code, "unknown_run");
  assert.equal((await call(teamB, listRunEvents, { runId })).events[0]?.event, "started");
  assert.equal((await refusalOf(call(teamB, requestCancel, { runId }))).code, "not_allowed");
  assert.ok(!(await listedFor(teamB)).includes(runId));
  await assertUnknown(teamC, runId);
});

test("a run that works for another one has its owner and its readers", async () => {
  const task = { tool: "agent", with: { agent: "helper", task: "x" } };
  services.agents.set(
    "boss",
    agent("boss", { plan: { steps: [{ calls: [task] }], answer: "done" } }),
  );
  await start("team-a", "boss", { runId: "boss", input: "x", readers: ["team-b"] });
  await lab.eventsUntil("team-a~boss", "finished");
  const { children = [] } = (await call(teamA, getRun, { runId: "boss" })).run;
  const runId = children[0]?.runId ?? "";
  assert.match(runId, /^team-a~sub-/);
  const { run } = await call(teamB, getRun, { runId });
  assert.deepEqual([run.requester, run.readers], ["team-a", ["team-b"]]);
  await lab.eventsUntil(runId, "finished");
  assert.equal((await refusalOf(call(teamB, requestCancel, { runId }))).code, "not_allowed");
  await assertUnknown(teamC, runId);
});

test("the event of a run that was given up is published to its owner only", async () => {
  await redis.hset("yard:run:{team-b~same}:state", {
    status: "running",
    stalled: 99,
    heldUntil: 0,
  });
  await lab.publish("yard.cmd.team-b.run.resume.same", "{}");
  await lab.eventsUntil("team-b~same", "dead");
  for (const [bus, expected] of [
    [teamA, []],
    [teamB, ["team-b~same"]],
    [lab.bus, ["team-b~same"]],
  ] as const) {
    const { runs } = await call(bus, listDeadRuns, {});
    assert.deepEqual(
      runs.map(({ runId }) => runId),
      expected,
    );
  }
});

test("an unreadable journal is reported to its owner, and no other caller learns that there is such a run", async () => {
  await start("team-a", "asker", { runId: "torn", input: "x" });
  await lab.eventsUntil("team-a~torn", "waiting");
  await redis.rpush("yard:run:{team-a~torn}:journal", '{"kind":"unknown"}');
  for (const contract of [getRun, getRecording, listRunEvents]) {
    const asked = (bus: typeof teamA) => call(bus, contract, { runId: "team-a~torn" });
    assert.equal((await refusalOf(asked(teamA))).code, "journal_corrupt");
    assert.equal((await refusalOf(asked(teamB))).code, "unknown_run");
  }
});

function start(team: string, agentName: string, body: object): Promise<void> {
  return lab.publish(`yard.cmd.${team}.run.start.${agentName}`, JSON.stringify(body));
}

async function listedFor(bus: typeof teamA): Promise<string[]> {
  const { runs } = await call(bus, listRuns, {});
  return runs.map(({ runId }) => runId);
}

/** A run that a caller may not see is as unknown as one that does not exist. */
async function assertUnknown(bus: typeof teamA, runId: string): Promise<void> {
  for (const contract of [getRun, getRecording, listRunEvents])
    assert.equal((await refusalOf(call(bus, contract, { runId }))).code, "unknown_run");
}

async function refusalOf(asked: Promise<unknown>): Promise<{ code: string; message: string }> {
  try {
    await asked;
  } catch (error) {
    if (error instanceof Error && "code" in error)
      return { code: String(error.code), message: error.message };
    throw error;
  }
  return { code: "none", message: "it was not refused" };
}
