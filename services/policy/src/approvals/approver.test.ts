import assert from "node:assert/strict";
import { test } from "node:test";
import { maySee, refusedBy, settingsFor, type OwnApprovals } from "./approver.ts";

const ofRun = {
  principal: { user: "cli", agent: "demo", runId: "run-1" },
  caller: "runner",
};
const byHand = { principal: { user: "cli", agent: null, runId: null }, caller: "cli" };
const settings = (own: OwnApprovals, mayApproveOwn = true) => ({
  approvers: ["cli", "boss"],
  own,
  mayApproveOwn: () => mayApproveOwn,
});

test("only users of the setting may decide", () => {
  assert.equal(refusedBy(settings("all"), "me", ofRun), "YARD_APPROVERS");
  assert.equal(refusedBy(settings("none"), "boss", ofRun), null);
  assert.equal(refusedBy(settings("none"), "boss", byHand), null);
});

test("whether one approves for oneself is a setting", () => {
  const allowed = (own: OwnApprovals) =>
    [ofRun, byHand].map((one) => refusedBy(settings(own), "cli", one));
  assert.deepEqual(allowed("none"), ["YARD_APPROVE_OWN", "YARD_APPROVE_OWN"]);
  assert.deepEqual(allowed("runs"), [null, "YARD_APPROVE_OWN"]);
  assert.deepEqual(allowed("all"), [null, null]);
});

test("a call that one makes oneself is one's own, also with the token of a run", () => {
  const withToken = { ...ofRun, caller: "cli" };
  assert.equal(refusedBy(settings("runs"), "cli", withToken), "YARD_APPROVE_OWN");
  assert.equal(refusedBy(settings("all"), "cli", withToken), null);
  assert.equal(refusedBy(settings("runs"), "boss", withToken), null);
});

test("nobody approves a call that it dictated without the right to", () => {
  const dictatedBy = "cli";
  const context = { replayed: true as const, dictatedBy };
  const played = { ...ofRun, principal: { ...ofRun.principal, context } };
  const withToken = { ...ofRun, caller: "cli" };
  // Somebody else's run of an agent whose plan it wrote is dictated, too.
  const planned = {
    ...ofRun,
    principal: { ...ofRun.principal, user: "me", context: { dictatedBy } },
  };
  for (const one of [byHand, withToken, played, planned]) {
    assert.equal(refusedBy(settings("all", false), "cli", one), "approve-own");
    assert.equal(refusedBy(settings("all", true), "cli", one), null);
    assert.equal(refusedBy(settings("all", false), "boss", one), null);
  }
  assert.equal(refusedBy(settings("none", true), "cli", played), "YARD_APPROVE_OWN");
  assert.equal(refusedBy(settings("runs", false), "cli", ofRun), null, "the agent decided itself");
});

test("approvers and who it is about see an approval, nobody else", () => {
  assert.ok(maySee(settings("runs"), "boss", ofRun));
  assert.ok(maySee({ approvers: [] }, "cli", ofRun));
  assert.ok(!maySee({ approvers: [] }, "team-b", ofRun));
});

test("who signed in over HTTP as an approver may decide, and not about what it dictated or asked for itself", () => {
  const { approvers } = settings("none");
  const as = (caller: string, roles: readonly ("approver" | "admin" | "operator")[]) =>
    settingsFor({ ...settings("none"), approvers }, { caller, roles });
  assert.equal(refusedBy(as("alice", ["approver"]), "alice", ofRun), null);
  assert.equal(refusedBy(as("alice", ["admin"]), "alice", ofRun), null);
  assert.equal(refusedBy(as("alice", ["operator"]), "alice", ofRun), "YARD_APPROVERS");
  const own = ofRun.principal.user;
  assert.equal(refusedBy(as(own, ["approver"]), own, ofRun), "YARD_APPROVE_OWN");
});
