import assert from "node:assert/strict";
import { test } from "node:test";
import { marksTo } from "../src/core/chart-marks.ts";

test("a scale has three to six round marks from 0 up to its top", () => {
  for (let top = 0.0001; top < 1e7; top *= 1.37) {
    const marks = marksTo(top, { isWhole: false });
    assert.ok(marks.length >= 3 && marks.length <= 6, `${top}: ${marks.join(" ")}`);
    assert.equal(marks[0], 0);
    assert.ok((marks.at(-1) ?? 0) <= top * (1 + 1e-9));
  }
  assert.deepEqual(marksTo(1.1, { isWhole: false }), [0, 0.5, 1]);
  assert.deepEqual(marksTo(0.4, { isWhole: false }), [0, 0.1, 0.2, 0.3, 0.4]);
});

test("a scale of counts has whole marks", () => {
  assert.deepEqual(marksTo(4, { isWhole: true }), [0, 1, 2, 3, 4]);
  assert.deepEqual(marksTo(7, { isWhole: true }), [0, 2, 4, 6]);
  assert.deepEqual(marksTo(10, { isWhole: true }), [0, 3, 6, 9]);
  assert.deepEqual(marksTo(1_000, { isWhole: true }), [0, 250, 500, 750, 1_000]);
});
