import assert from "node:assert/strict";
import { test } from "node:test";
import type { CallProgress } from "@switchyard/contracts/mcp-broker/mcp-calls";
import { createProgressReporter } from "./progress-reporter.ts";

function renderer() {
  const reported: CallProgress[] = [];
  const clock = { now: 1_000_000 };
  const report = createProgressReporter({
    call: { server: "s", tool: "t", callId: null },
    publish: (progress) => reported.push(progress),
    redact: (text) => text.replaceAll("secret", "[redacted]"),
    now: () => clock.now,
  });
  return { told: reported, clock, tell: report };
}

test("passes on at most ten a second, and the end once", () => {
  const { told: reported, clock, tell: report } = renderer();
  for (let progress = 0; progress < 1_000; progress += 1) {
    report({ progress, total: 1_000 });
    clock.now += 1;
  }
  assert.equal(reported.length, 10);
  for (let n = 0; n < 50; n += 1) report({ progress: 1_000, total: 1_000 });
  assert.deepEqual(
    reported.slice(10).map(({ progress }) => progress),
    [1_000],
  );
});

test("takes secrets out of the message and cuts it", () => {
  const { told: reported, tell: report } = renderer();
  report({ progress: 1, message: `secret ${"x".repeat(1_000)}` });
  const [first = assert.fail("nothing was sent")] = reported;
  assert.ok(first.message !== null && first.message.startsWith("[redacted] x"));
  assert.equal(first.message.length, 500);
  assert.equal(first.total, null);
});

test("leaves out what is not a number", () => {
  const { told: reported, tell: report } = renderer();
  report({ progress: Number.NaN });
  report({ progress: 1, total: Number.POSITIVE_INFINITY });
  assert.deepEqual(reported, []);
});
