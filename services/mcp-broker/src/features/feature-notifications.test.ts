import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { createCoalescer } from "./feature-notifications.ts";

test("the first message passes at once, of many that follow one in each interval, and the last always", () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    const sent: string[] = [];
    const coalescer = createCoalescer({ intervalMs: 1_000, send: (key) => sent.push(key) });
    for (let index = 0; index < 100; index += 1) coalescer.notify("a");
    coalescer.notify("b");
    assert.deepEqual(sent, ["a", "b"]);
    mock.timers.tick(1_000);
    assert.deepEqual(sent, ["a", "b", "a"]);
    mock.timers.tick(5_000);
    assert.deepEqual(sent, ["a", "b", "a"]);
    coalescer.notify("b");
    assert.deepEqual(sent, ["a", "b", "a", "b"]);
    coalescer.stop();
  } finally {
    mock.timers.reset();
  }
});
