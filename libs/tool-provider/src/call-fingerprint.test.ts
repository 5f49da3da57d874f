import assert from "node:assert/strict";
import { test } from "node:test";
import { callFingerprint } from "./call-fingerprint.ts";

const call = {
  caller: "runner",
  principal: { user: "team-a", agent: "researcher", runId: "r1" },
  ref: { name: "mcp__s__t", server: "s", tool: "t" },
  args: { a: 1, b: { c: 2, d: [1, 2] } },
};

test("is the same for the same call with its arguments in another order", () => {
  assert.equal(
    callFingerprint({ ...call, args: { b: { d: [1, 2], c: 2 }, a: 1 } }),
    callFingerprint(call),
  );
});

const others = {
  caller: { ...call, caller: "cli" },
  user: { ...call, principal: { ...call.principal, user: "team-b" } },
  run: { ...call, principal: { ...call.principal, runId: "r2" } },
  server: { ...call, ref: { ...call.ref, server: "s2" } },
  tool: { ...call, ref: { ...call.ref, tool: "t2" } },
  "order of a list": { ...call, args: { ...call.args, b: { c: 2, d: [2, 1] } } },
};
for (const [what, other] of Object.entries(others)) {
  test(`differs for another ${what}`, () => {
    assert.notEqual(callFingerprint(other), callFingerprint(call));
  });
}
