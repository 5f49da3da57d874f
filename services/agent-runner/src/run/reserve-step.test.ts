import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { startedEntry } from "../../test-fixtures/journals.ts";
import { tooMuchForRun } from "./reserve-step.ts";

const limits = startedEntry().limits;

test("makes no request that does not fit into the rest of the limit", () => {
  const usage = { inputTokens: 60, outputTokens: 30 };
  const state = { limits: { ...limits, maxTokens: 100 }, usage, knownCostUsd: 0 };
  assert.equal(tooMuchForRun(state, { tokens: 10, costUsd: 0 }), null);
  assert.deepEqual(tooMuchForRun(state, { tokens: 11, costUsd: 0 }), {
    limit: "maxTokens",
    value: 100,
  });
  const dear = { limits: { ...limits, maxCostUsd: 1 }, usage, knownCostUsd: 0.5 };
  assert.equal(tooMuchForRun(dear, { tokens: 10, costUsd: 0.5 }), null);
  assert.equal(tooMuchForRun(dear, { tokens: 10, costUsd: 0.6 })?.limit, "maxCostUsd");
});

test("exceeds a limit by one answer at most [run-goal-9]", () => {
  const calls = fc.array(fc.record({ request: fc.nat(500), answer: fc.nat(500) }), {
    minLength: 1,
  });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2_000 }), calls, (maxTokens, drawn) => {
      let used = 0;
      for (const { request, answer } of drawn) {
        const usage = { inputTokens: used, outputTokens: 0 };
        const state = { limits: { ...limits, maxTokens }, usage, knownCostUsd: 0 };
        if (tooMuchForRun(state, { tokens: request, costUsd: 0 }) !== null) break;
        used += request + answer;
        assert.ok(used <= maxTokens + answer);
        if (used >= maxTokens) break; // the journal's own check, before the next call
      }
    }),
  );
});
