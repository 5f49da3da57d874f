import assert from "node:assert/strict";
import { test } from "node:test";
import { checkApprovalName } from "./named-approval.ts";
import { checkRunName } from "./named-run.ts";
import { beginningOf, isNamed } from "./shown-name.ts";

test("a name that a table cut is accepted as it is shown", () => {
  assert.equal(beginningOf("chat-2026…"), "chat-2026");
  assert.equal(beginningOf("…"), null);
  assert.ok(isNamed("nightly report of the shop", "nightly report…"));
  assert.ok(!isNamed("nightly report", "nightly"), "without the sign a name is whole");
  for (const run of ["cli~01M8FGRXVWGC…", "01M8FGRX…"]) checkRunName(run);
  checkApprovalName("apr-b1e5c0b4…");
  assert.throws(() => checkRunName("a b…"), /not a valid run id/);
});
