import assert from "node:assert/strict";
import { test } from "node:test";
import { LaneTurns } from "./lane-turns.ts";

const LANES = { perCaller: ["run.start"], shared: ["run.cancel", "run.resume"] };
const startOf = (caller: string): string => `yard.cmd.${caller}.run.start.helper`;
const CANCEL = "yard.cmd.a.run.cancel.r1";

test("the turn is that of the lane with the least in work, of equal ones of that which waited longest", () => {
  const turns = new LaneTurns(LANES);
  turns.take(startOf("a"), true);
  const second = turns.take(startOf("a"), true);
  turns.refresh([startOf("a"), startOf("b"), startOf("c")], true);
  assert.equal(turns.next()?.filter, "yard.cmd.b.run.start.>");
  turns.take(startOf("b"), false);
  assert.equal(turns.next()?.filter, "yard.cmd.c.run.start.>");
  turns.take(startOf("c"), false);
  second.inWork -= 1;
  assert.equal(turns.next(), null, "all have one, a has waited longest, and the queue is at a's");
});

test("commands that share a lane are one, whatever their senders", () => {
  const turns = new LaneTurns(LANES);
  turns.take(startOf("a"), true);
  turns.refresh([startOf("a"), CANCEL, "yard.cmd.b.run.cancel.r2"], true);
  const lane = turns.next();
  assert.equal(lane?.filter, "yard.cmd.*.run.cancel.>");
  assert.equal(turns.take(CANCEL, false), lane);
});

test("what the list does not name has nothing, unless the list is of callers alone", () => {
  const turns = new LaneTurns(LANES);
  turns.take(startOf("a"), true);
  turns.refresh([startOf("a"), "yard.cmd.policy.approval.expire.x"], true);
  assert.equal(turns.next(), null);
  turns.refresh([startOf("a")], false);
  const found: string[] = [];
  for (let lane = turns.next(); lane !== null; lane = turns.next()) {
    found.push(lane.filter);
    lane.mayWait = false;
  }
  assert.deepEqual(found.toSorted(), ["yard.cmd.*.run.cancel.>", "yard.cmd.*.run.resume.>"]);
});

test("a lane that is no longer used is forgotten, with the position up to which it was read", () => {
  const turns = new LaneTurns(LANES);
  const lane = turns.take(startOf("a"), false);
  lane.from = 17;
  turns.refresh([], true);
  assert.equal(turns.take(startOf("a"), false).from, 17, "something of it is in work");
  lane.inWork = 0;
  turns.refresh([], true);
  assert.equal(turns.take(startOf("a"), false).from, 0);
});

test("a lane that was notified of a message while it had one in progress is searched when that has left", () => {
  const turns = new LaneTurns(LANES);
  const lane = turns.take(startOf("a"), false);
  assert.equal(turns.left(lane, 0), false, "nothing was announced");
  turns.take(startOf("a"), false);
  turns.take(startOf("a"), false);
  turns.markWaiting(startOf("a"), 100);
  assert.equal(turns.left(lane, 50), false, "it has another in work");
  assert.equal(turns.left(lane, 50), true);
  turns.take(startOf("a"), false);
  assert.equal(turns.left(lane, 50), false, "it was taken since");
  turns.take(startOf("a"), false);
  turns.markWaiting(startOf("a"), 100);
  assert.equal(turns.left(lane, 101), false, "that was too long ago: another process has it");
});
