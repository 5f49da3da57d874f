import assert from "node:assert/strict";
import { test } from "node:test";
import type { Approval } from "@switchyard/contracts/policy/approval-record";
import type { ApprovalVote } from "@switchyard/contracts/policy/approval-votes";
import { builtinToolRef } from "@switchyard/contracts/tool-names";
import { compileBundle } from "@switchyard/rules/bundle/compile-bundle";
import { parseBundle } from "@switchyard/rules/bundle/parse-bundle";
import { termsOfCall } from "@switchyard/rules/engine/evaluate";
import { votesText } from "@switchyard/contracts/policy/approval-words";
import { refusedBy } from "./approver.ts";
import { castVote, commonTerms } from "./cast-vote.ts";

const START = Date.parse("2026-12-24T10:00:00.000Z");
const HOUR = 3_600_000;
const PEOPLE = `
groups:
  - { id: security, users: [ann, ben, eve] }
people:
  - { id: ann, users: [ann-laptop] }
deputies:
  - { id: ben-away, for: ben, by: [carl], since: 2026-12-24, until: 2026-12-24 }
  - { id: carl-away, for: carl, by: [dora] }
  - { id: ann-away, for: ann, by: [carl] }
`;

/** A waiting call of team-a, for which the rules require these people. */
function waiting(approves: readonly string[], facts: Partial<Approval> = {}) {
  const rules = approves.map(
    (approve, at) => `  - { id: r${at}, effect: allow, approval: session, approve: ${approve} }`,
  );
  const bundle = compileBundle(
    parseBundle({ file: "rules.yaml", text: `version: 1\n${PEOPLE}rules:\n${rules.join("\n")}\n` }),
  );
  const principal = facts.principal ?? { user: "team-a", agent: "demo", runId: "run-1" };
  const tool = builtinToolRef("write_file");
  const call = { principal, tool, args: {}, layers: null, server: undefined };
  const { withinMs: _, ...terms } = termsOfCall(bundle, { call, named: [], now: START });
  const approval = { principal, caller: "runner", tool, votes: [], state: "pending", ...terms };
  // Only the facts of an approval that votes are counted by.
  return { approval: approval as unknown as Approval, people: bundle.people };
}

/** Casts the votes one after the other, as far as each user may decide: `ann carl@26` is carl 26 hours later. */
function cast(start: ReturnType<typeof waiting>, votes: string, approvers: readonly string[] = []) {
  let { approval } = start;
  const { people } = start;
  const outcomes = votes.split(" ").map((written) => {
    const [by = "", hours = "0"] = written.split("@");
    const atMs = START + Number(hours) * HOUR;
    const settings = {
      approvers,
      own: "all" as const,
      mayApprove: () => null,
      mayApproveOwn: () => true,
      people: () => people,
      namesPeople: () => true,
      now: () => atMs,
    };
    const refused = refusedBy(settings, by, approval);
    if (refused !== null) return refused;
    const vote = {
      by,
      authenticated: "nats-user" as const,
      isApprover: approvers.includes(by),
      scope: "once" as const,
      terms: null,
      reason: null,
      at: new Date(atMs).toISOString(),
    };
    const result = castVote(approval, vote, people);
    if (result.outcome !== "counted")
      return result.outcome === "idle" ? `idle beside ${result.by}` : "repeated";
    const requirements = approval.requirements.map((one, at) =>
      Object.assign({}, one, { approved: result.approved[at] }),
    );
    approval = { ...approval, requirements, votes: [...result.votes] };
    return result.isComplete ? "approved" : votesText(approval);
  });
  return outcomes.join(", ");
}

const TWO = "{ from: [group:security], count: 2 }";

test("a call is approved when as many distinct people as its rules want have approved it", () => {
  const table: readonly (readonly [string[], string, string])[] = [
    [[TWO], "ann ben", "1 of 2, approved"],
    // One person counts once: repeated, with a second name, and as a deputy besides.
    [[TWO], "ann ann ben", "1 of 2, repeated, approved"],
    [[TWO], "ann ann-laptop ben", "1 of 2, idle beside ann, approved"],
    [[TWO], "ann-laptop ann eve", "1 of 2, idle beside ann-laptop, approved"],
    // A deputy counts as the person that it acts for, who then does not count, too.
    [[TWO], "carl eve", "1 of 2, approved"],
    [["{ from: [ben, eve], count: 2 }"], "carl ben eve", "1 of 2, idle beside null, approved"],
    [["{ from: [ben, eve], count: 2 }"], "ben carl eve", "1 of 2, idle beside null, approved"],
    // A member of the list who is a deputy, too, counts as itself beside the person.
    [["{ from: [ben, carl], count: 2 }"], "carl ben", "1 of 2, approved"],
    [["{ from: [ben, carl], count: 2 }"], "ben carl", "1 of 2, approved"],
    // A deputy's deputy is none, and a deputy acts on its days only.
    [["{ from: [ben] }"], "dora carl@14", "from, from"],
    [["{ from: [ben] }"], "carl@13", "approved"],
    [["{ from: [carl] }"], "dora@500", "approved"],
    [[TWO], "mallory carl ann", "from, 1 of 2, approved"],
    // All requirements of all rules count; one person may meet several.
    [[TWO, "{ from: [fin] }"], "ann fin ben", "1 of 3, 2 of 3, approved"],
    [[TWO, "{ from: [eve] }"], "eve ann", "2 of 3, approved"],
    [[TWO, "{ from: [group:security], count: 3 }"], "ann ben eve", "1 of 3, 2 of 3, approved"],
    // After its time an escalation adds people, and not before.
    [
      ["{ from: [ann], escalate: { after: 1h, to: [boss] } }"],
      "boss boss@0.99 boss@1",
      "from, from, approved",
    ],
  ];
  for (const [approves, votes, expected] of table)
    assert.equal(cast(waiting(approves), votes), expected, `${approves.join(" and ")}: ${votes}`);
});

test("where a rule names no one, those who may approve calls count, and not those of another rule", () => {
  const rules = ["{ count: 2 }", "{ from: [ann] }"];
  const approvers = ["cli", "boss"];
  assert.equal(
    cast(waiting(rules), "ann cli boss", approvers),
    "1 of 3, 2 of 3, approved",
    "ann counts for its own rule alone",
  );
  assert.equal(cast(waiting(["{ count: 2 }"]), "ann cli", approvers), "YARD_APPROVERS, 1 of 2");
  assert.equal(cast(waiting([TWO]), "cli ann", approvers), "from, 1 of 2");
});

test("the requester does not count where a rule excludes it, and no deputy acts for the requester", () => {
  const ofAnn = { principal: { user: "ann-laptop", agent: "demo", runId: "run-1" } };
  const four = "{ from: [group:security], count: 2, notRequester: true }";
  assert.equal(
    cast(waiting([four], ofAnn), "ann ann-laptop ben eve"),
    "notRequester, notRequester, 1 of 2, approved",
  );
  assert.equal(cast(waiting(["{ from: [ann] }"], ofAnn), "carl ann"), "from, approved");
  const written = {
    principal: { user: "team-a", agent: "demo", runId: "r", context: { dictatedBy: "ben" } },
  };
  assert.equal(cast(waiting([four], written), "ben ann eve"), "notRequester, 1 of 2, approved");
});

test("a standing approval has the narrowest terms that everybody gave, and only when all gave one", () => {
  const vote = (terms: ApprovalVote["terms"]): ApprovalVote => ({
    by: "ann",
    standsFor: null,
    authenticated: "nats-user",
    isApprover: true,
    scope: terms === null ? "once" : "session",
    terms,
    reason: null,
    at: new Date(START).toISOString(),
  });
  const wide = { ttlMs: null, maxUses: 20, sameArguments: ["/path"] };
  const short = { ttlMs: 60_000, maxUses: 30, sameArguments: ["/mode", "/path"] };
  assert.deepEqual(commonTerms([vote(wide), vote(short)]), {
    ttlMs: 60_000,
    maxUses: 20,
    sameArguments: ["/path", "/mode"],
  });
  assert.equal(commonTerms([vote(wide), vote(null)]), null);
  assert.equal(commonTerms([]), null);
});
