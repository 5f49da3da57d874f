import { call } from "@switchyard/bus/call";
import { isError } from "@switchyard/contracts/errors";
import { answerQuestion, listQuestions } from "@switchyard/contracts/agent-runner/run-waits";
import { getRun, requestCancel } from "@switchyard/contracts/agent-runner/runs";
import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "@switchyard/local-servers/until";
import { agent, labTool } from "../../test-fixtures/fake-services.ts";
import { assertNumbered, startLab } from "../../test-fixtures/runner-lab.ts";

const lab = await startLab();
const { services } = lab;
// One slot: a run that held it while it waits would block every other run.
const runner = await lab.runner({ YARD_RUNNER_SLOTS: "1" }, { runSweepMs: 200 });

services.tools.set("count", ({ n }) => `counted ${String(n)}`);
services.agents.set("plain", agent("plain", { plan: { steps: [], answer: "plain" } }));
services.agents.set("asker", asking({ question: "May I?" }));

test("waits for an answer without a runner, and continues with it", async () => {
  await lab.command("asker", { runId: "asked", input: "x" });
  const waiting = await lab.eventsUntil("asked", "waiting");
  const requested = waiting.find(({ name }) => name === "question-requested")?.payload;
  assert.equal(requested?.["question"], "May I?");
  const { run } = await call(lab.bus, getRun, { runId: "asked" });
  assert.equal(run.status, "waiting");
  assert.deepEqual(
    run.waits?.map(({ reason, callId }) => [reason, callId]),
    [["question", "cli~asked:1:0"]],
  );
  await until(async () => (await lab.pendingCommands()) === 0);
  await lab.command("plain", { runId: "in-between", input: "x" });
  await lab.eventsUntil("in-between", "finished");

  const { questions } = await call(lab.bus, listQuestions, {});
  assert.deepEqual(
    questions.map(({ runId, callId, question }) => [runId, callId, question]),
    [["cli~asked", "cli~asked:1:0", "May I?"]],
  );
  const answer = { runId: "asked", callId: "cli~asked:1:0", answer: "you may" };
  assert.deepEqual(await call(lab.bus, answerQuestion, answer), { outcome: "accepted" });
  const events = await lab.eventsUntil("asked", "finished");
  assert.equal(events.at(-1)?.payload["output"], "said: you may; counted 1");
  assertNumbered(events);
  assert.equal(
    services.requested.get("cli~asked:1:1"),
    1,
    "the call beside the question is not repeated",
  );
  assert.deepEqual((await call(lab.bus, listQuestions, {})).questions, []);
});

test("lists questions a page at a time, each once", async () => {
  const asked = ["page-1", "page-2", "page-3"];
  for (const runId of asked) {
    await lab.command("asker", { runId, input: "x" });
    await lab.eventsUntil(runId, "waiting");
  }
  for (const limit of [1, 2, 3, 200]) {
    const seen: string[] = [];
    let pages = 0;
    for (let cursor: string | null | undefined; cursor !== null; pages += 1) {
      const page: Awaited<ReturnType<typeof questionsBehind>> = await questionsBehind(
        cursor,
        limit,
      );
      assert.ok(page.questions.length <= limit);
      seen.push(...page.questions.map(({ runId }) => runId));
      cursor = page.next;
    }
    assert.deepEqual(
      seen.toSorted(),
      asked.map((runId) => `cli~${runId}`),
    );
    assert.equal(pages, Math.ceil(asked.length / limit));
  }
  // The question in the cursor is answered; the page after it stays the same.
  const first = await questionsBehind(undefined, 1);
  const second = await questionsBehind(first.next ?? "", 1);
  const [{ runId, callId } = assert.fail("there is no question")] = first.questions;
  await call(lab.bus, answerQuestion, { runId, callId, answer: "yes" });
  await lab.eventsUntil(runId, "finished");
  assert.deepEqual(await questionsBehind(first.next ?? "", 1), second);
  for (const rest of (await questionsBehind(undefined, 200)).questions) {
    await call(lab.bus, answerQuestion, { runId: rest.runId, callId: rest.callId, answer: "yes" });
    await lab.eventsUntil(rest.runId, "finished");
  }
});

function questionsBehind(cursor: string | undefined, limit: number) {
  return call(lab.bus, listQuestions, cursor === undefined ? { limit } : { limit, cursor });
}

test("accepts the first answer, recognises a repeated one, and refuses any other", async () => {
  await lab.command("asker", { runId: "twice", input: "x" });
  await lab.eventsUntil("twice", "waiting");
  const answer = { runId: "twice", callId: "cli~twice:1:0", answer: "first" };
  await call(lab.bus, answerQuestion, answer);
  await lab.eventsUntil("twice", "woken");
  const repeated = await call(lab.bus, answerQuestion, answer).catch((error: unknown) => error);
  await assert.rejects(call(lab.bus, answerQuestion, { ...answer, answer: "second" }), (error) =>
    isError(error, answerQuestion, "no_question"),
  );
  const events = await lab.eventsUntil("twice", "finished");
  assert.equal(events.at(-1)?.payload["output"], "said: first; counted 1");
  assert.ok(
    isError(repeated, answerQuestion, "no_question") ||
      JSON.stringify(repeated) === JSON.stringify({ outcome: "answered_before" }),
  );
});

test("checks an answer against the question's options and schema, and keeps the question open", async () => {
  services.agents.set("chooser", asking({ question: "Which?", options: ["a", "b"] }));
  const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
  services.agents.set("former", asking({ question: "How many?", schema }));
  for (const [name, wrong, right, said] of [
    ["chooser", "c", "b", "b"],
    ["former", { n: "many" }, { n: 3 }, '{"n":3}'],
  ] as const) {
    await lab.command(name, { runId: name, input: "x" });
    await lab.eventsUntil(name, "waiting");
    const question = { runId: name, callId: `cli~${name}:1:0` };
    await assert.rejects(call(lab.bus, answerQuestion, { ...question, answer: wrong }), (error) =>
      isError(error, answerQuestion, "invalid_answer"),
    );
    await call(lab.bus, answerQuestion, { ...question, answer: right });
    const events = await lab.eventsUntil(name, "finished");
    assert.equal(events.at(-1)?.payload["output"], `said: ${said}; counted 1`);
  }
});

test("continues without an answer when the time for it is over", async () => {
  services.agents.set("hasty", asking({ question: "Now?", timeout_seconds: 1 }));
  await lab.command("hasty", { runId: "hasty", input: "x" });
  const events = await lab.eventsUntil("hasty", "finished");
  assert.match(String(events.at(-1)?.payload["output"]), /no_answer/);
  assert.equal(events.filter(({ name }) => name === "waiting").length, 1);
});

test("lets time pass without a runner", async () => {
  services.agents.set(
    "sleeper",
    agent("sleeper", {
      plan: { steps: [{ calls: [{ tool: "wait", with: { seconds: 6 } }] }], answer: "awake" },
    }),
  );
  await lab.command("sleeper", { runId: "slept", input: "x", limits: { timeoutMs: 5_000 } });
  const events = await lab.eventsUntil("slept", "finished");
  const waiting = events.find(({ name }) => name === "waiting");
  assert.match(JSON.stringify(waiting?.payload), /"reason":"timer"/);
  assert.equal(events.at(-1)?.payload["output"], "awake", "waiting does not count as run time");
});

test("cancels a run that waits", async () => {
  await lab.command("asker", { runId: "dropped", input: "x" });
  await lab.eventsUntil("dropped", "waiting");
  await call(lab.bus, requestCancel, { runId: "dropped" });
  const events = await lab.eventsUntil("dropped", "cancelled");
  const closed = events.find(({ name }) => name === "tool-failed")?.payload;
  assert.deepEqual([closed?.["callId"], closed?.["code"]], ["cli~dropped:1:0", "cancelled"]);
  const late = { runId: "dropped", callId: "cli~dropped:1:0", answer: "late" };
  await assert.rejects(call(lab.bus, answerQuestion, late), (error) =>
    isError(error, answerQuestion, "no_question"),
  );
});

test("ignores hints about runs that do not wait, that still wait, and that do not exist", async () => {
  await lab.command("asker", { runId: "hinted", input: "x" });
  await lab.eventsUntil("hinted", "waiting");
  for (const runId of ["hinted", "nowhere", "asked"])
    await lab.publish(`yard.cmd.cli.run.resume.${runId}`, "{}");
  await until(async () => (await lab.pendingCommands()) === 0);
  assert.equal((await call(lab.bus, getRun, { runId: "hinted" })).run.status, "waiting");
  await call(lab.bus, answerQuestion, { runId: "hinted", callId: "cli~hinted:1:0", answer: "ok" });
  await lab.eventsUntil("hinted", "finished");
  assert.deepEqual(
    runner.lines.filter(({ level }) => level === "error"),
    [],
  );
});

/** An agent that puts a question and makes a call in one step. */
function asking(question: Record<string, unknown>) {
  return agent("asking", {
    plan: {
      steps: [
        {
          calls: [
            { tool: "ask_user", with: question, as: "said" },
            { tool: labTool("count"), with: { n: 1 }, as: "count" },
          ],
        },
      ],
      answer: "said: {{/results/said/text}}; {{/results/count/text}}",
    },
  });
}
