import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { test } from "node:test";
import { until } from "@switchyard/local-servers/until";
import { FairTurns, type Turn } from "./fair-turns.ts";

function begin(turns: FairTurns, caller: string, times: number): Turn[] {
  return Array.from({ length: times }, () => turns.begin(caller));
}

function waitingOf(turns: readonly Turn[]): Turn[] {
  return turns.filter(({ begins }) => begins !== null);
}

test("a caller that is alone never waits", () => {
  assert.deepEqual(waitingOf(begin(new FairTurns(8), "noisy", 1_000)), []);
});

test("of callers that compete, each has its share begun, and the next one does not wait behind another's rest", async () => {
  const turns = new FairTurns(8, () => 0);
  begin(turns, "quiet", 1);
  const noisy = begin(turns, "noisy", 100);
  assert.equal(waitingOf(noisy).length, 96);
  assert.deepEqual(waitingOf(begin(turns, "quiet", 3)), []);
  assert.deepEqual(waitingOf(begin(turns, "third", 2)), []);
  const begun: number[] = [];
  noisy.forEach(({ begins }, place) => void begins?.then(() => begun.push(place)));
  for (const turn of noisy.slice(0, 4)) turn.end();
  await setImmediate();
  assert.deepEqual(
    begun,
    [4, 5],
    "with three callers the share is two, and the order is that of arrival",
  );
});

test("however many compete, each has one begun", () => {
  const turns = new FairTurns(2, () => 0);
  for (const caller of ["a", "b", "c", "d"])
    assert.equal(waitingOf(begin(turns, caller, 2)).length, caller === "a" ? 0 : 1);
});

test("what is in work for long makes room, since it waits for something else than a processor", async () => {
  let now = 0;
  const turns = new FairTurns(2, () => now);
  begin(turns, "quiet", 1);
  const noisy = begin(turns, "noisy", 3);
  let begun = 0;
  for (const { begins } of noisy) void begins?.then(() => (begun += 1));
  now = 24;
  begin(turns, "quiet", 1);
  await setImmediate();
  assert.equal(begun, 0);
  now = 25;
  await until(() => begun === 1);
  now = 50;
  await until(() => begun === 2);
});

test("waiting work begins as soon as no other caller competes any longer", async () => {
  let now = 0;
  const turns = new FairTurns(2, () => now);
  begin(turns, "quiet", 1);
  const waiting = waitingOf(begin(turns, "noisy", 50));
  assert.equal(waiting.length, 49);
  let begun = 0;
  for (const { begins } of waiting) void begins?.then(() => (begun += 1));
  now = 100;
  await until(() => begun === 49);
});
