import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { createCallClock } from "./call-clock.ts";

/** Runs the steps on a clock of a second that nothing but the test moves. */
async function onOneSecond(
  steps: (clock: ReturnType<typeof createCallClock>, move: (ms: number) => void) => void,
): Promise<string> {
  let now = 0;
  const read = mock.method(performance, "now", () => now);
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    const clock = createCallClock();
    const caller = new AbortController();
    const signal = clock.start({ limitMs: 1_000, signal: caller.signal });
    steps(clock, (ms) => {
      now += ms;
      mock.timers.tick(ms);
    });
    clock.stop();
    return signal.aborted ? String(signal.reason) : "in time";
  } finally {
    mock.timers.reset();
    read.mock.restore();
  }
}

test("a call ends when its time is used up, as the protocol layer ends it", async () => {
  const end = await onOneSecond((clock, move) => {
    move(999);
    assert.equal(clock.isOver, false);
    move(1);
    assert.equal(clock.isOver, true);
  });
  assert.match(end, /Request timed out/);
});

test("the time pauses while a person is prompted, and continues from the same point", async () => {
  const end = await onOneSecond((clock, move) => {
    move(600);
    const resume = clock.pause();
    move(1_000_000);
    assert.equal(clock.isOver, false);
    resume();
    resume();
    move(399);
    assert.equal(clock.isOver, false);
    move(1);
    assert.equal(clock.isOver, true);
  });
  assert.match(end, /Request timed out/);
});

test("of two questions at a time the later end counts", async () => {
  const end = await onOneSecond((clock, move) => {
    const [first, second] = [clock.pause(), clock.pause()];
    move(5_000);
    first();
    move(5_000);
    second();
    move(999);
  });
  assert.equal(end, "in time");
});

test("a caller's abort reaches the work, and a clock that has ended is not started again", () => {
  const clock = createCallClock();
  const caller = new AbortController();
  const resume = clock.pause();
  const signal = clock.start({ limitMs: 1_000, signal: caller.signal });
  caller.abort("taken back");
  assert.equal(signal.reason, "taken back");
  clock.stop();
  resume();
  assert.equal(clock.isOver, false);
});
