import assert from "node:assert/strict";
import { test } from "node:test";
import { startRounds } from "./rounds.ts";

const HOUR_MS = 3_600_000;
const noError = (error: unknown) => assert.fail(String(error));

test("a round begins when it is woken, and one more after it for all that were woken meanwhile", async () => {
  const ends: PromiseWithResolvers<void>[] = [];
  const round = () => {
    const end = Promise.withResolvers<void>();
    ends.push(end);
    return end.promise;
  };
  const rounds = startRounds({ everyMs: HOUR_MS, round, onError: noError });
  const first = rounds.wake();
  await Promise.resolve();
  const second = [rounds.wake(), rounds.wake()];
  ends[0]?.resolve();
  await first;
  await Promise.resolve();
  assert.equal(ends.length, 2);
  ends[1]?.resolve();
  await Promise.all(second);
  assert.equal(ends.length, 2);
  await rounds.stop();
});

test("rounds repeat after the usual time, or after the one that a round returns", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const waits = [undefined, 10, Number.POSITIVE_INFINITY];
  let begun = 0;
  const round = async () => waits[begun++];
  const rounds = startRounds({ everyMs: 1_000, round, onError: noError });
  for (const [ms, count] of [
    [999, 0],
    [1, 1],
    [1_000, 2],
    [9, 2],
    [1, 3],
    [HOUR_MS, 3],
  ] as const) {
    t.mock.timers.tick(ms);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(begun, count);
  }
  await rounds.wake();
  assert.equal(begun, 4);
  await rounds.stop();
});

test("an error is reported, and the next round begins", async () => {
  const errors: unknown[] = [];
  let begun = 0;
  const again = Promise.withResolvers<void>();
  const rounds = startRounds({
    everyMs: 1,
    round: async () => {
      begun += 1;
      if (begun === 1) throw new Error("away");
      again.resolve();
    },
    onError: (error) => errors.push(error),
  });
  const keepAlive = setTimeout(() => again.reject(new Error("no other round")), 10_000);
  await again.promise;
  clearTimeout(keepAlive);
  assert.equal(errors.length, 1);
  await rounds.stop();
});

test("stopping waits for the round under way, and none begins after it", async () => {
  const end = Promise.withResolvers<void>();
  let begun = 0;
  const rounds = startRounds({
    everyMs: HOUR_MS,
    round: () => {
      begun += 1;
      return end.promise;
    },
    onError: noError,
  });
  const first = rounds.wake();
  await Promise.resolve();
  void rounds.wake();
  let isStopped = false;
  const stopped = rounds.stop().then(() => (isStopped = true));
  await Promise.resolve();
  assert.equal(isStopped, false);
  end.resolve();
  await Promise.all([first, stopped]);
  await rounds.wake();
  assert.equal(begun, 1);
});
