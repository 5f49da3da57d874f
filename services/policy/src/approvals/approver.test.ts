import assert from "node:assert/strict";
import { test } from "node:test";
import { mcpToolRef } from "@switchyard/contracts/tool-names";
import { compileBundle } from "@switchyard/rules/bundle/compile-bundle";
import { BundleError, parseBundle } from "@switchyard/rules/bundle/parse-bundle";
import { mayApprove } from "@switchyard/rules/rights/may-approve";
import { compilePeople } from "@switchyard/rules/rights/people";
import { decidesAll, maySee, refusedBy, settingsFor, type OwnApprovals } from "./approver.ts";

const tool = mcpToolRef("files", "write_file");
const ofRun = {
  principal: { user: "cli", agent: "demo", runId: "run-1" },
  caller: "runner",
  tool,
};
const byHand = { principal: { user: "cli", agent: null, runId: null }, caller: "cli", tool };
const plain = { people: () => compilePeople({}), namesPeople: () => false, now: () => 0 };
const settings = (own: OwnApprovals, mayApproveOwn = true) => ({
  ...plain,
  approvers: ["cli", "boss"],
  own,
  mayApprove: () => null,
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

test("a user without the right to approve dictated calls cannot approve its own", () => {
  const dictatedBy = "cli";
  const context = { replayed: true as const, dictatedBy };
  const played = { ...ofRun, principal: { ...ofRun.principal, context } };
  const withToken = { ...ofRun, caller: "cli" };
  // Another user's run of an agent whose plan the approver wrote is dictated, too.
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

test("only approvers and the user of the call see an approval", () => {
  assert.ok(maySee(settings("runs"), "boss", ofRun));
  assert.ok(maySee({ ...settings("runs"), approvers: [] }, "cli", ofRun));
  assert.ok(!maySee({ ...settings("runs"), approvers: [] }, "team-b", ofRun));
});

test("a user who signed in over HTTP as an approver may decide, except about calls it dictated or requested itself", () => {
  const { approvers } = settings("none");
  const as = (caller: string, roles: readonly ("approver" | "admin" | "operator")[]) =>
    settingsFor({ ...settings("none"), approvers }, { caller, roles });
  assert.equal(refusedBy(as("alice", ["approver"]), "alice", ofRun), null);
  assert.equal(refusedBy(as("alice", ["admin"]), "alice", ofRun), null);
  assert.equal(refusedBy(as("alice", ["operator"]), "alice", ofRun), "YARD_APPROVERS");
  const own = ofRun.principal.user;
  assert.equal(refusedBy(as(own, ["approver"]), own, ofRun), "YARD_APPROVE_OWN");
});

test("a user whom the policy's approvers name decides about the calls of those entries and sees no others", () => {
  const bundle = compileBundle(
    parseBundle({
      file: "rules.yaml",
      text: `version: 1
labels:
  - { tools: [bank.*], are: [money] }
approvers:
  - { id: leads, users: [ann], callsOf: { users: [team-a], agents: [support-*] } }
  - { id: finance, users: [ann, boss], callsOf: { labels: [money] } }
rules:
  - { id: all, effect: allow }
`,
    }),
  );
  const scoped = { ...settings("none"), mayApprove: (user: string) => mayApprove(bundle, user) };
  const of = (user: string, agent: string | null, server: string) => ({
    principal: { user, agent, runId: null },
    caller: "runner",
    tool: mcpToolRef(server, "send"),
  });
  const cases = [
    [of("team-a", "support-eu", "files"), null, "approvers"],
    [of("team-a", "writer", "files"), "approvers", "approvers"],
    [of("team-a", null, "files"), "approvers", "approvers"],
    [of("team-b", "support-eu", "files"), "approvers", "approvers"],
    [of("team-b", null, "bank"), null, null],
  ] as const;
  for (const [call, ann, boss] of cases) {
    assert.equal(refusedBy(scoped, "ann", call), ann);
    assert.equal(maySee(scoped, "ann", call), ann === null);
    assert.equal(refusedBy(scoped, "boss", call), boss, "also who is in YARD_APPROVERS");
    assert.equal(refusedBy(scoped, "me", call), "YARD_APPROVERS");
    assert.equal(refusedBy(scoped, "cli", call), null, "no entry names it");
  }
  const overHttp = settingsFor(scoped, { caller: "ann", roles: ["admin"] });
  assert.equal(refusedBy(overHttp, "ann", cases[3][0]), "approvers", "a role widens no entry");
  assert.deepEqual(
    ["ann", "boss", "cli", "me"].map((user) => decidesAll(scoped, user)),
    [false, false, true, false],
  );
});

test("entries of approvers with mistakes refuse the bundle with their position", () => {
  const problem = (entry: string): string => {
    try {
      parseBundle({
        file: "rules.yaml",
        text: `version: 1\napprovers:\n  - ${entry}\nrules:\n  - { id: all, effect: allow }\n`,
      });
      return "";
    } catch (error) {
      assert.ok(error instanceof BundleError);
      return error.lines.join("\n");
    }
  };
  assert.match(problem("{ id: a, users: [x] }"), /3:5.*approvers\[0\]\.callsOf is missing/);
  assert.match(
    problem("{ id: a, users: [x], callsOf: {} }"),
    /approvers\[0\]\.callsOf selects nothing/,
  );
  assert.match(
    problem("{ id: a, users: [x], callsOf: { team: [y] } }"),
    /unknown key "team" in approvers\[0\]\.callsOf; known keys are users, agents, labels/,
  );
  const twice = "{ id: a, users: [x], callsOf: { users: [y] } }";
  assert.match(problem(`${twice}\n  - ${twice}`), /already the id of approvers\[0\]/);
});
