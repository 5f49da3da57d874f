import assert from "node:assert/strict";
import { test } from "node:test";
import { progressLine } from "./call-progress.ts";

const at = "2026-01-01T00:00:00.000Z";
const call = { server: "s", tool: "t", callId: null, at };

test("shows the share of what there is to do, or the number alone, and no control characters", () => {
  assert.equal(
    progressLine({ ...call, progress: 5, total: 12, message: null }),
    "progress 41% of 12",
  );
  assert.equal(
    progressLine({ ...call, progress: 20, total: 10, message: null }),
    "progress 100% of 10",
  );
  const odd = progressLine({ ...call, progress: 7, total: null, message: "in\u001b[31mdexing" });
  assert.match(odd, /^progress 7: in/);
  assert.ok(!odd.includes("\u001b"));
});
