import assert from "node:assert/strict";
import { test } from "node:test";
import { sumLines } from "./runs-totals.ts";

test("a sum of costs states how many of its runs have no known price", () => {
  const sums = { runs: 3, failed: 0, costUsd: 0.5, inputTokens: 1, outputTokens: 1 };
  const lines = sumLines("MODEL", [
    { ...sums, name: "anthropic/a", unpriced: 0 },
    { ...sums, name: "ollama/b", costUsd: 0, unpriced: 3 },
  ]);
  assert.match(lines[1] ?? "", /^anthropic\/a +3 +0 +\$0\.500 +2$/);
  assert.match(lines[2] ?? "", /^ollama\/b +3 +0 +\$0[.0]* \+ 3 unknown +2$/);
});
