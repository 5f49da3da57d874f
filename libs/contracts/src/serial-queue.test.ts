import assert from "node:assert/strict";
import { test } from "node:test";
import { SerialQueue } from "./serial-queue.ts";

test("work under one name runs in its order, and work under another one at the same time", async () => {
  const queue = new SerialQueue();
  const log: string[] = [];
  const gate = Promise.withResolvers<void>();
  const first = queue.run(async () => {
    log.push("first begins");
    await gate.promise;
    log.push("first ends");
    return 1;
  }, "a");
  const second = queue.run(() => log.push("second"), "a");
  await queue.run(() => log.push("other"), "b");
  assert.deepEqual(log, ["first begins", "other"]);
  gate.resolve();
  assert.equal(await first, 1);
  await second;
  assert.deepEqual(log, ["first begins", "other", "first ends", "second"]);
});

test("a failure is its caller's alone, and settled waits for everything", async () => {
  const queue = new SerialQueue();
  let isDone = false;
  const failed = assert.rejects(
    queue.run(() => Promise.reject(new Error("no"))),
    /no/,
  );
  void queue.run(async () => {
    await new Promise((resolve) => setImmediate(resolve));
    isDone = true;
  });
  await queue.settled();
  assert.equal(isDone, true);
  await failed;
});
