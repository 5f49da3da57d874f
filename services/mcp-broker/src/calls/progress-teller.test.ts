import assert from "node:assert/strict";
import { test } from "node:test";
import type { CallProgress } from "@switchyard/contracts/mcp-calls";
import { createProgressTeller } from "./progress-teller.ts";

function teller() {
  const told: CallProgress[] = [];
  const clock = { now: 1_000_000 };
  const tell = createProgressTeller({
    call: { server: "s", tool: "t", callId: null },
    tell: (progress) => told.push(progress),
    redact: (text) => text.replaceAll("secret", "[redacted]"),
    now: () => clock.now,
  });
  return { told, clock, tell };
}

test("passes on at most ten a second, and the end once", () => {
  const { told, clock, tell } = teller();
  for (let progress = 0; progress < 1_000; progress += 1) {
    tell({ progress, total: 1_000 });
    clock.now += 1;
  }
  assert.equal(told.length, 10);
  for (let n = 0; n < 50; n += 1) tell({ progress: 1_000, total: 1_000 });
  assert.deepEqual(
    told.slice(10).map(({ progress }) => progress),
    [1_000],
  );
});

test("takes secrets out of the message and cuts it", () => {
  const { told, tell } = teller();
  tell({ progress: 1, message: `secret ${"x".repeat(1_000)}` });
  const [first = assert.fail("nothing was sent")] = told;
  assert.ok(first.message !== null && first.message.startsWith("[redacted] x"));
  assert.equal(first.message.length, 500);
  assert.equal(first.total, null);
});

test("leaves out what is not a number", () => {
  const { told, tell } = teller();
  tell({ progress: Number.NaN });
  tell({ progress: 1, total: Number.POSITIVE_INFINITY });
  assert.deepEqual(told, []);
});
