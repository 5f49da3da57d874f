import assert from "node:assert/strict";
import { test } from "node:test";
import { boundedParallel } from "./run-driver.ts";

test("runs every item, at most so many at a time", async () => {
  let running = 0;
  let most = 0;
  const seen: number[] = [];
  await boundedParallel([1, 2, 3, 4, 5, 6, 7], 3, async (item) => {
    running += 1;
    most = Math.max(most, running);
    await Promise.resolve();
    seen.push(item);
    running -= 1;
  });
  assert.deepEqual(new Set(seen), new Set([1, 2, 3, 4, 5, 6, 7]));
  assert.equal(most, 3);
});

test("waits for running tasks after a failure, and begins no more", async () => {
  const slow = Promise.withResolvers<void>();
  const begun: number[] = [];
  let isSlowDone = false;
  const all = boundedParallel([1, 2, 3], 2, async (item) => {
    begun.push(item);
    if (item === 2) throw new Error("second");
    await slow.promise;
    isSlowDone = true;
  });
  slow.resolve();
  await assert.rejects(all, { message: "second" });
  assert.ok(isSlowDone);
  assert.deepEqual(begun, [1, 2]);
});
