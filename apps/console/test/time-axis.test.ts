import assert from "node:assert/strict";
import { test } from "node:test";
import { ticksOf, tickText } from "../src/run/time-axis.ts";

test("an axis has two to six marks a round distance apart, however long it is", () => {
  for (const longMs of [3, 17, 940, 1_000, 61_000, 3_599_000, 5 * 3_600_000, 4 * 86_400_000]) {
    const ticks = ticksOf(longMs);
    assert.ok(ticks.length >= 2 && ticks.length <= 6, `${longMs}: ${ticks.join(" ")}`);
    assert.equal(ticks[0], 0);
    assert.ok((ticks.at(-1) ?? 0) <= longMs);
  }
});

test("a mark says its time in the largest unit that it is a whole number of", () => {
  assert.deepEqual(ticksOf(940).map(tickText), ["0", "200 ms", "400 ms", "600 ms", "800 ms"]);
  assert.deepEqual(ticksOf(70_000).map(tickText), ["0", "15 s", "30 s", "45 s", "1 min"]);
  assert.deepEqual(ticksOf(4 * 3_600_000 + 1).map(tickText), ["0", "1 h", "2 h", "3 h", "4 h"]);
});
