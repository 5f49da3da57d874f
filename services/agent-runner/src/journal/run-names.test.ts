import assert from "node:assert/strict";
import { test } from "node:test";
import { runNames } from "./run-names.ts";

const names = runNames(new Map([["old", "team-a"]]));

test("resolves a name to the caller's own run, and a whole id to the run that it names", () => {
  assert.equal(names.known("team-a", "x"), "team-a~x");
  assert.equal(names.known("team-a", "team-b~x"), "team-b~x");
  assert.equal(names.known("cli", "x"), "cli~x");
});

test("lets a caller change its own runs only, and cli and admin those of all owners", () => {
  assert.equal(names.controlled("team-a", "x"), "team-a~x");
  assert.equal(names.controlled("team-a", "team-a~x"), "team-a~x");
  assert.equal(names.controlled("team-a", "team-b~x"), null);
  for (const admin of ["cli", "admin"])
    assert.equal(names.controlled(admin, "team-b~x"), "team-b~x");
});

test("lets every caller start its own runs only, cli and admin as well", () => {
  assert.equal(names.own("team-a", "x"), "team-a~x");
  assert.equal(names.own("team-a", "team-a~x"), "team-a~x");
  for (const caller of ["team-a", "cli", "admin"])
    assert.equal(names.own(caller, "team-b~x"), null);
});

test("finds a run without an owner in its id for its requester, cli and admin", () => {
  for (const caller of ["team-a", "cli", "admin"]) {
    assert.equal(names.known(caller, "old"), "old");
    assert.equal(names.controlled(caller, "old"), "old");
  }
  assert.equal(names.own("team-a", "old"), "old", "its command comes again");
});

test("resolves such an id of another owner to a run of the caller's own", () => {
  assert.equal(names.known("team-b", "old"), "team-b~old");
  assert.equal(names.controlled("team-b", "old"), "team-b~old");
  assert.equal(names.own("team-b", "old"), "team-b~old");
  assert.equal(names.own("cli", "old"), "cli~old", "cli may see it, and starts its own");
});

test("accepts the ids of runners unchanged, since they are whole", () => {
  for (const runId of ["old", "older", "team-b~x"]) {
    assert.equal(names.known("runner", runId), runId);
    assert.equal(names.controlled("runner", runId), runId);
  }
});
