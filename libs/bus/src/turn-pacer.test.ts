import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { TurnPacer } from "./turn-pacer.ts";

/** Lets so many pieces arrive together, and remembers which have begun. */
function arrivals(pacer: TurnPacer, count: number): number[] {
  const begun: number[] = [];
  for (let piece = 0; piece < count; piece += 1) pacer.begin(() => begun.push(piece));
  return begun;
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, piece) => piece);

test("what arrives alone begins at once", () => {
  assert.deepEqual(arrivals(new TurnPacer(), 1), [0]);
});

test("what arrives together begins in portions, one a turn, in order", async () => {
  const begun = arrivals(new TurnPacer(), 40);
  const seen = [begun.length];
  for (let turn = 0; turn < 10 && begun.length < 40; turn += 1) {
    await nextTurn();
    seen.push(begun.length);
  }
  assert.deepEqual(seen, [16, 32, 40]);
  assert.deepEqual(begun, upTo(40));
});

test("what arrives while others wait stands behind them, and is not held back when none does", async () => {
  const pacer = new TurnPacer();
  const begun = arrivals(pacer, 20);
  pacer.begin(() => begun.push(20));
  assert.equal(begun.length, 16);
  await nextTurn();
  assert.deepEqual(begun, upTo(21));
  await nextTurn();
  await nextTurn();
  assert.equal(arrivals(pacer, 16).length, 16);
});

test("when too many wait all of them begin, and so does whatever an end does not want to wait for", () => {
  const pacer = new TurnPacer();
  assert.equal(arrivals(pacer, 16 + 1_024).length, 16);
  const begun = arrivals(new TurnPacer(), 16 + 1_025);
  assert.deepEqual(begun, upTo(16 + 1_025));
  const held = arrivals(pacer, 3);
  pacer.flush();
  assert.deepEqual(held, upTo(3));
});

test("work that brings more work does not make a turn longer", async () => {
  const pacer = new TurnPacer();
  const begun: string[] = [];
  for (let piece = 0; piece < 17; piece += 1)
    pacer.begin(() => {
      begun.push(`first ${piece}`);
      pacer.begin(() => begun.push(`second ${piece}`));
    });
  const seen = [begun.length];
  for (let turn = 0; turn < 10 && begun.length < 34; turn += 1) {
    await nextTurn();
    seen.push(begun.length);
  }
  assert.deepEqual(seen, [16, 32, 34]);
  assert.equal(new Set(begun).size, 34);
});
