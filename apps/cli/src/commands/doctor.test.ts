import assert from "node:assert/strict";
import { test } from "node:test";
import { failed, ok } from "../doctor/check.ts";
import { checkNode } from "../doctor/machine-checks.ts";
import { checkLines } from "./doctor.ts";

test("a row for each check, with what to do below it", () => {
  const checks = [ok("node", "Node.js 24"), failed("redis", "evicts keys", "set noeviction")];
  assert.deepEqual(
    checkLines(checks, (_style, text) => text),
    ["✓ node   Node.js 24", "✗ redis  evicts keys", "         → set noeviction"],
  );
});

test("Node.js below 24 fails", () => {
  assert.equal(checkNode("24.0.0").status, "ok");
  assert.equal(checkNode("26.1.0").status, "ok");
  assert.equal(checkNode("22.20.0").status, "failed");
});
