import assert from "node:assert/strict";
import fc from "fast-check";
import { Plan } from "@switchyard/contracts/agent-runner/plan";
import { test } from "node:test";
import { positionIn, type PlayedTurn } from "./scripted-model.ts";
import { TemplateError } from "@switchyard/contracts/pointer-template";

const ok = (text: string): PlayedTurn => ({ results: [{ text, isError: false }] });
const failed = (text: string): PlayedTurn => ({ results: [{ text, isError: true }] });

test("skips steps whose condition does not hold, by input and by the last result", () => {
  const plan = Plan.parse({
    steps: [
      { when: { at: "/input/deep", equals: true }, calls: [{ tool: "deep" }] },
      { calls: [{ tool: "look", as: "look" }] },
      { when: { at: "/last/isError", equals: true }, answer: "gave up: {{/last/text}}" },
      { when: { at: "/results/look/text", contains: "more" }, calls: [{ tool: "more" }] },
      { when: { at: "/results/nothing", not: true }, calls: [{ tool: "always" }] },
    ],
    answer: "done",
  });
  assert.equal(positionIn(plan, { deep: true }, []).number, 1);
  assert.equal(positionIn(plan, {}, []).number, 2);
  assert.equal(positionIn(plan, {}, [failed("gone")]).number, 3);
  assert.equal(positionIn(plan, {}, [ok("there is more")]).number, 4);
  assert.equal(positionIn(plan, {}, [ok("nothing")]).number, 5);
  assert.equal(positionIn(plan, {}, [ok("nothing"), ok("x")]).step, null);
});

test("repeats a step while its condition holds, and never more often than it states", () => {
  const plan = Plan.parse({
    steps: [
      {
        calls: [{ tool: "poll", as: "poll" }],
        repeat: { while: { at: "/results/poll/text", equals: "pending" }, times: 3 },
      },
    ],
    answer: "{{/results/poll/text}}",
  });
  assert.equal(positionIn(plan, "", [ok("pending")]).number, 1);
  assert.equal(positionIn(plan, "", [ok("ready")]).step, null);
  const worn = positionIn(plan, "", [ok("pending"), ok("pending"), ok("pending")]);
  assert.equal(worn.step, null);
  assert.equal(worn.document.results["poll"]?.text, "pending");
});

test("names the condition whose pointer is invalid", () => {
  const plan = Plan.parse({
    steps: [{ when: { at: "/last/~2" }, calls: [{ tool: "t" }] }],
    answer: "x",
  });
  assert.throws(
    () => positionIn(plan, "", []),
    (error) => {
      assert.ok(error instanceof TemplateError);
      assert.match(error.message, /^plan step 1, when: \/last\/~2 is not a JSON pointer/);
      return true;
    },
  );
});

test("a plan ends after finitely many turns, whatever the results are", () => {
  const step = fc.record({
    calls: fc.constant([{ tool: "t" }]),
    repeat: fc.option(
      fc.record({
        while: fc.record({ at: fc.constant("/last/isError"), equals: fc.boolean() }),
        times: fc.integer({ min: 2, max: 5 }),
      }),
      { nil: undefined },
    ),
  });
  const plans = fc.array(step, { maxLength: 6 }).map((steps) => Plan.parse({ steps, answer: "a" }));
  fc.assert(
    fc.property(plans, fc.array(fc.boolean(), { minLength: 30, maxLength: 30 }), (plan, draws) => {
      const turns = draws.map((isError) => (isError ? failed("e") : ok("o")));
      const numbers = turns.map((_, count) => positionIn(plan, "", turns.slice(0, count)).number);
      assert.ok(numbers.every((number, at) => at === 0 || number >= (numbers[at - 1] ?? 0)));
      assert.equal(positionIn(plan, "", turns).step, null);
    }),
  );
});
