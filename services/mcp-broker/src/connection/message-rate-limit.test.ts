import assert from "node:assert/strict";
import { test } from "node:test";
import { createMessageRateLimit } from "./message-rate-limit.ts";

test("a server that sends a thousand small messages a second is never slowed down", () => {
  let now = 0;
  const limit = createMessageRateLimit(() => now);
  for (let second = 0; second < 100; second += 1) {
    for (let n = 0; n < 1_000; n += 1) limit.add(100);
    now += 1_000;
    assert.equal(limit.pauseMs(), 0);
  }
});

test("messages beyond the burst are delayed according to the rate, and at most a second", () => {
  let now = 0;
  const limit = createMessageRateLimit(() => now);
  for (let n = 0; n < 2_500; n += 1) limit.add(100);
  assert.equal(limit.pauseMs(), 500);
  now += 500;
  assert.equal(limit.pauseMs(), 0);
  limit.add(10 * 1024 * 1024);
  assert.equal(limit.pauseMs(), 1_000);
  now += 1_000;
  assert.equal(limit.pauseMs(), 0);
});

test("expected answers cost nothing, however large, and those beyond them count", () => {
  const limit = createMessageRateLimit(() => 0);
  for (let n = 0; n < 500; n += 1) limit.expect();
  for (let n = 0; n < 500; n += 1) limit.answer(4 * 1024 * 1024);
  assert.equal(limit.pauseMs(), 0);
  limit.answer(4 * 1024 * 1024);
  assert.equal(limit.pauseMs(), 1_000);
});
