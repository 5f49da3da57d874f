import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import {
  createCallQueue as createQueue,
  QueueFullError,
  QueueWaitError,
  notBegun,
} from "./call-queue.ts";

const unhurried = { timeoutMs: 60_000, signal: new AbortController().signal };

/** A queue that runs tasks in its slots. */
function createCallQueue(limits: Parameters<typeof createQueue>[0]) {
  const queue = createQueue(limits);
  return Object.assign(queue, {
    async run<T>(task: () => Promise<T>, wait: Parameters<typeof queue.enter>[0]): Promise<T> {
      await queue.enter(wait);
      try {
        return await task();
      } finally {
        queue.leave();
      }
    },
  });
}

function gate() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}

test("runs as many at a time as it may, queues a few and refuses the rest at once", async () => {
  const queue = createCallQueue({ maxConcurrency: 2, queueLimit: 1 });
  const { opened, open } = gate();
  const admitted = [1, 2, 3].map((n) => queue.run(() => opened.then(() => n), unhurried));
  assert.deepEqual([queue.inFlight, queue.queued], [2, 1]);
  await assert.rejects(
    queue.run(() => Promise.resolve(4), unhurried),
    QueueFullError,
  );
  open();
  assert.deepEqual(await Promise.all(admitted), [1, 2, 3]);
  assert.deepEqual([queue.inFlight, queue.queued], [0, 0]);
});

test("a place is free again after a task that failed", async () => {
  const queue = createCallQueue({ maxConcurrency: 1, queueLimit: 0 });
  await assert.rejects(
    queue.run(() => Promise.reject(new Error("no")), unhurried),
    /no/,
  );
  assert.equal(await queue.run(() => Promise.resolve("yes"), unhurried), "yes");
});

test("with a higher limit the waiting calls begin, in their order; a lower one ends no call", async () => {
  const limits = { maxConcurrency: 1, queueLimit: 8 };
  const queue = createCallQueue(limits);
  const { opened, open } = gate();
  const begun: number[] = [];
  const run = (n: number) =>
    queue.run(async () => {
      begun.push(n);
      await opened;
    }, unhurried);
  const all = [1, 2, 3, 4].map(run);
  limits.maxConcurrency = 3;
  queue.limitsChanged();
  await turn();
  assert.deepEqual([begun, queue.inFlight, queue.queued], [[1, 2, 3], 3, 1]);
  limits.maxConcurrency = 1;
  queue.limitsChanged();
  assert.deepEqual([queue.inFlight, queue.queued], [3, 1]);
  open();
  await Promise.all(all);
  assert.deepEqual([begun, queue.inFlight, queue.queued], [[1, 2, 3, 4], 0, 0]);
});

test("a caller that gives up leaves the queue and its task never runs", async () => {
  const queue = createCallQueue({ maxConcurrency: 1, queueLimit: 8 });
  const { opened, open } = gate();
  const first = queue.run(() => opened, unhurried);
  const controller = new AbortController();
  let ran = false;
  const task = (): Promise<void> => {
    ran = true;
    return Promise.resolve();
  };
  const aborted = queue.run(task, { timeoutMs: 60_000, signal: controller.signal });
  const tooSlow = queue.run(task, { timeoutMs: 1, signal: unhurried.signal });
  controller.abort();
  await assert.rejects(aborted, QueueWaitError);
  await assert.rejects(tooSlow, QueueWaitError);
  assert.equal(queue.queued, 0);
  open();
  await first;
  assert.equal(ran, false);
});

test("a call without any time left is refused before it takes a place", async () => {
  const queue = createCallQueue({ maxConcurrency: 1, queueLimit: 8 });
  await assert.rejects(
    queue.run(() => Promise.resolve(), { timeoutMs: 0, signal: unhurried.signal }),
    QueueWaitError,
  );
});

test("keeps the order of arrival and never exceeds its limits", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      fc.scheduler(),
      fc.nat(20),
      async (maxConcurrency, scheduler, count) => {
        const queue = createCallQueue({ maxConcurrency, queueLimit: 100 });
        const started: number[] = [];
        const calls = Array.from({ length: count }, (_, n) =>
          queue.run(async () => {
            started.push(n);
            assert.ok(queue.inFlight <= maxConcurrency);
            await scheduler.schedule(Promise.resolve());
          }, unhurried),
        );
        await scheduler.waitFor(Promise.all(calls));
        assert.deepEqual(
          started,
          started.toSorted((a, b) => a - b),
        );
        assert.equal(started.length, count);
      },
    ),
    { numRuns: 50 },
  );
});

test("reports that a call's time ran out, and not that a server without work has too much", () => {
  const late = new QueueWaitError("the time had run out");
  assert.match(notBegun("lab", { inFlight: 0, queued: 0 }, late), /^The call's time ran out/);
  const full = new QueueFullError("no more may wait");
  for (const error of [late, full])
    assert.match(notBegun("lab", { inFlight: 4, queued: 2 }, error), /4 calls .* 2 waiting.*later/);
});
