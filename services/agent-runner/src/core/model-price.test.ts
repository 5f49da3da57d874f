import assert from "node:assert/strict";
import { test } from "node:test";
import { addCost, costOf } from "./model-price.ts";

const price = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };

test("prices input, output and the tokens that the provider cached", () => {
  assert.equal(costOf({ inputTokens: 1_000_000, outputTokens: 0 }, price), 3);
  assert.equal(costOf({ inputTokens: 0, outputTokens: 1 }, price), 0.000015);
  const usage = {
    inputTokens: 1_000,
    outputTokens: 100,
    cacheReadTokens: 800,
    cacheWriteTokens: 100,
  };
  assert.equal(costOf(usage, price), 0.002415);
  assert.equal(costOf(usage, { input: 3, output: 15 }), 0.0045);
});

test("reports an unknown cost as unknown, also in a sum", () => {
  assert.equal(costOf({ inputTokens: 1, outputTokens: 1 }, null), null);
  assert.equal(addCost(1, null), null);
  assert.equal(addCost(0.1, 0.2), 0.3);
});
