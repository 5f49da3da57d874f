import assert from "node:assert/strict";
import { test } from "node:test";
import { count, formatBytes, formatDuration } from "./quantities.ts";

test("shows bytes in decimal units", () => {
  const cases: [number, string][] = [
    [0, "0 B"],
    [999, "999 B"],
    [1_000, "1.0 KB"],
    [999_949, "999.9 KB"],
    [999_950, "1.0 MB"],
    [3_400_000_000, "3.4 GB"],
  ];
  for (const [bytes, text] of cases) assert.equal(formatBytes(bytes), text);
});

test("shows durations with as much precision as one can use", () => {
  const cases: [number, string][] = [
    [0.42, "0.4 ms"],
    [9, "9 ms"],
    [12.4, "12 ms"],
    [999.6, "1.0 s"],
    [59_949, "59.9 s"],
    [59_960, "1 min 00 s"],
    [245_000, "4 min 05 s"],
  ];
  for (const [ms, text] of cases) assert.equal(formatDuration(ms), text);
});

test("counts in words", () => {
  assert.equal(count(1, "tool"), "1 tool");
  assert.equal(count(0, "tool"), "0 tools");
  assert.equal(count(2, "journal entry", "journal entries"), "2 journal entries");
});
