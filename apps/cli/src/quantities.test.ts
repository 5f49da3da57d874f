import assert from "node:assert/strict";
import { test } from "node:test";
import { count, formatBytes, formatDuration, timeText } from "./quantities.ts";

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

test("shows times as ages, those to come as such, and in full when asked", () => {
  const now = Date.parse("2026-01-02T00:00:00.000Z");
  for (const [at, shown] of [
    ["2026-01-01T23:59:59.001Z", "0s"],
    ["2026-01-01T23:59:01.000Z", "59s"],
    ["2026-01-01T23:57:00.000Z", "3m"],
    ["2026-01-01T00:00:00.001Z", "23h"],
    ["2025-12-01T00:00:00.000Z", "32d"],
    ["2026-01-02T00:05:00.000Z", "in 5m"],
    ["not a time", "not a time"],
  ] as const)
    assert.equal(timeText(at, {}, now), shown);
  assert.equal(
    timeText("2026-01-01T23:57:00.000Z", { wide: true }, now),
    "2026-01-01T23:57:00.000Z",
  );
});
