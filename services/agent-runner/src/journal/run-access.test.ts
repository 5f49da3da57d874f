import assert from "node:assert/strict";
import { test } from "node:test";
import { controlledRun, isAdmin, mayControl, maySee, ownRun } from "./run-access.ts";

const run = { requester: "team-a", readers: ["team-b"] };

test("lets only the requester, cli and admin control a run", () => {
  for (const caller of ["team-a", "cli", "admin"]) assert.ok(mayControl(caller, run), caller);
  for (const caller of ["team-b", "team-c", "runner", ""])
    assert.ok(!mayControl(caller, run), caller);
});

test("shows a run to its readers and to every caller that may control it", () => {
  for (const caller of ["team-a", "cli", "admin", "team-b"]) assert.ok(maySee(caller, run), caller);
  for (const caller of ["team-c", "runner", ""]) assert.ok(!maySee(caller, run), caller);
  assert.ok(!maySee("team-b", { requester: "team-a" }), "a run without readers");
});

test("accepts cli and admin as administrators of all runs", () => {
  assert.deepEqual(["cli", "admin", "me", "runner"].filter(isAdmin), ["cli", "admin"]);
});

test("lets a caller change its own runs only, cli, admin and runners those of all owners", () => {
  for (const runId of ["x", "team-a~x"]) assert.equal(controlledRun("team-a", runId), "team-a~x");
  assert.equal(controlledRun("team-a", "team-b~x"), null);
  for (const caller of ["cli", "admin", "runner"])
    assert.equal(controlledRun(caller, "team-b~x"), "team-b~x");
});

test("lets every caller start its own runs only, cli and admin as well", () => {
  for (const runId of ["x", "team-a~x"]) assert.equal(ownRun("team-a", runId), "team-a~x");
  for (const caller of ["team-a", "cli", "admin"]) assert.equal(ownRun(caller, "team-b~x"), null);
});
