import assert from "node:assert/strict";
import { test } from "node:test";
import { createToolRefresh, MIN_TTL_MS } from "./tool-refresh.ts";

/** A clock and timers that the test advances. */
function virtualTime() {
  const timers: { at: number; callback: () => void }[] = [];
  const time = { now: 0 };
  return {
    clock: () => time.now,
    delays: () => timers.map(({ at }) => at - time.now),
    schedule(delayMs: number, callback: () => void) {
      const timer = { at: time.now + delayMs, callback };
      timers.push(timer);
      return () => void timers.splice(timers.indexOf(timer), timers.includes(timer) ? 1 : 0);
    },
    /** Runs the timer that is due first, and what follows from it. */
    async next() {
      const timer = timers.toSorted((a, b) => a.at - b.at)[0] ?? assert.fail("no timer");
      timers.splice(timers.indexOf(timer), 1);
      time.now = timer.at;
      timer.callback();
      await new Promise(setImmediate);
    },
    pass(ms: number) {
      time.now += ms;
    },
  };
}

const noTrouble = (problem: string): never => assert.fail(problem);

test("reads once for changes that come close together, and once more for one during a reading", async () => {
  const time = virtualTime();
  const refresh = createToolRefresh(noTrouble, time);
  let reads = 0;
  refresh.request(); // before the session is there
  refresh.start(() => {
    reads += 1;
    if (reads === 1) refresh.request();
    return Promise.resolve(null);
  }, null);
  refresh.request();
  refresh.request();
  await time.next();
  assert.equal(reads, 1);
  await time.next();
  assert.equal(reads, 2);
  assert.deepEqual(time.delays(), []);
});

test("leaves four times the length of a reading between two of them", async () => {
  const time = virtualTime();
  const refresh = createToolRefresh(noTrouble, time);
  refresh.start(() => {
    time.pass(1_000);
    refresh.request();
    return Promise.resolve(null);
  }, null);
  refresh.request();
  await time.next();
  assert.deepEqual(time.delays(), [4_000]);
});

test("reads again when the time of the list is over, but not all the time", async () => {
  const time = virtualTime();
  const refresh = createToolRefresh(noTrouble, time);
  const ttls = [0, 60_000, null];
  let reads = 0;
  refresh.start(() => Promise.resolve(ttls[reads++] ?? null), 20_000);
  assert.deepEqual(time.delays(), [20_000]);
  await time.next(); // the time is over
  await time.next(); // the pause before a reading
  assert.equal(reads, 1);
  assert.deepEqual(time.delays(), [MIN_TTL_MS]);
  await time.next();
  await time.next();
  assert.deepEqual(time.delays(), [60_000]);
  refresh.stop();
  assert.deepEqual(time.delays(), []);
});

test("reports a reading that failed, and reads again at the next change", async () => {
  const time = virtualTime();
  const problems: string[] = [];
  const refresh = createToolRefresh((problem) => problems.push(problem), time);
  let reads = 0;
  refresh.start(() => {
    reads += 1;
    return Promise.reject(new Error("the server is busy"));
  }, null);
  refresh.request();
  await time.next();
  assert.deepEqual(problems, ["the changed tool list could not be read: the server is busy"]);
  refresh.request();
  await time.next();
  assert.equal(reads, 2);
});

test("reads at once on command, after the reading under way", async () => {
  const time = virtualTime();
  const refresh = createToolRefresh(noTrouble, time);
  const readings: PromiseWithResolvers<null>[] = [];
  refresh.start(() => {
    const reading = Promise.withResolvers<null>();
    readings.push(reading);
    return reading.promise;
  }, null);
  const first = refresh.now();
  const second = refresh.now();
  readings[0]?.resolve(null);
  await first;
  await new Promise(setImmediate);
  assert.equal(readings.length, 2);
  readings[1]?.reject(new Error("no"));
  await assert.rejects(second, /^Error: no$/);
  refresh.stop();
  await assert.rejects(refresh.now(), /the connection ended/);
});
