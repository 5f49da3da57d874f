import assert from "node:assert/strict";
import { test } from "node:test";
import { axisOf, ticksOf, tickText } from "../src/run/time-axis.ts";

test("an axis has two to six marks a round distance apart, however long it is", () => {
  for (const longMs of [3, 17, 940, 1_000, 61_000, 3_599_000, 5 * 3_600_000, 4 * 86_400_000]) {
    const ticks = ticksOf(longMs);
    assert.ok(ticks.length >= 2 && ticks.length <= 6, `${longMs}: ${ticks.join(" ")}`);
    assert.equal(ticks[0], 0);
    assert.ok((ticks.at(-1) ?? 0) <= longMs);
  }
});

test("a mark says its time in the largest unit, with one decimal at most", () => {
  assert.deepEqual(ticksOf(940).map(tickText), ["0", "200 ms", "400 ms", "600 ms", "800 ms"]);
  assert.deepEqual(ticksOf(70_000).map(tickText), ["0", "15 s", "30 s", "45 s", "1 min"]);
  assert.deepEqual(ticksOf(2_500).map(tickText), ["0", "500 ms", "1 s", "1.5 s", "2 s", "2.5 s"]);
  assert.deepEqual([75_000, 90_000, 9_000_000].map(tickText), ["75 s", "1.5 min", "2.5 h"]);
  assert.deepEqual(ticksOf(4 * 3_600_000 + 1).map(tickText), ["0", "1 h", "2 h", "3 h", "4 h"]);
});

test("texts of an axis are equally far apart, and none stands over another one or over the end, however narrow it is", () => {
  const textsAt = (longMs: number, widthPx: number) =>
    axisOf(longMs, widthPx).map(({ text }) => text);
  assert.deepEqual(textsAt(2_600, 600), ["0", "500 ms", "1 s", "1.5 s", "2 s", null]);
  assert.deepEqual(textsAt(2_600, 200), ["0", null, "1 s", null, "2 s", null]);
  assert.deepEqual(textsAt(2_600, 10), [null, null, null, null, null, null]);
  for (let longMs = 1; longMs < 90 * 86_400_000; longMs = Math.ceil(longMs * 1.37))
    for (const widthPx of [0, 80, 140, 200, 320, 480, 900]) {
      const indexes = axisOf(longMs, widthPx).flatMap(({ text }, at) =>
        text === null ? [] : [at],
      );
      const every = indexes[1] ?? 1;
      assert.ok(
        indexes.every((at, index) => at === index * every),
        `${longMs} ms: ${indexes.join(" ")}`,
      );
      let free = 0;
      for (const { ms, text } of axisOf(longMs, widthPx)) {
        if (text === null) continue;
        const left = (ms / longMs) * widthPx;
        assert.ok(left >= free, `${longMs} ms on ${widthPx} px: ${text}`);
        // Eight pixels a letter, and a gap between two texts.
        free = left + text.length * 8 + 4;
        assert.ok(free <= widthPx, `${longMs} ms on ${widthPx} px: ${text} at the end`);
      }
    }
});
