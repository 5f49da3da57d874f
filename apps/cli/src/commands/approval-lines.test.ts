import assert from "node:assert/strict";
import { test } from "node:test";
import type { Approval } from "@switchyard/contracts/policy/approval-record";
import { approvalLines, reasonPrompt, stateText, stillMissing } from "./approval-lines.ts";

const requirement = {
  rules: ["pays"],
  from: ["group:leads"],
  users: ["ann", "ben"],
  count: 2,
  approved: 1,
  notRequester: false,
  escalatesAt: null,
  to: [],
  toUsers: [],
};
const vote = {
  by: "carl",
  standsFor: "ben",
  authenticated: "nats-user",
  isApprover: false,
  scope: "once",
  terms: null,
  reason: "invoice 17",
  at: "2026-12-01T10:00:00.000Z",
} as const;
// The lines need no other facts of an approval.
const approval = {
  id: "apr-0123456789abcdef0123456789abcdef",
  risk: "high",
  rule: "pays",
  pin: null,
  expiresAt: "2026-12-01T11:00:00.000Z",
  policyDigest: "sha256:1",
  state: "pending",
  tier: "always",
  principal: { agent: null, user: "team-a", runId: null },
  tool: { server: "bank", tool: "pay", name: "mcp__bank__pay" },
  why: "two leads approve payments",
  requirements: [requirement],
  votes: [vote],
  needed: 2,
  reasonFor: ["denials"],
  decision: null,
} as unknown as Approval;

test("a call that needs several people is shown with the approvals it has, and those that are missing", () => {
  const presentation = {
    args: "{}",
    argsBytes: 2,
    isCut: false,
    hasHiddenCharacters: false,
    hasRedactions: false,
    changes: [],
  };
  const plain = (_: unknown, line: string): string => line;
  const text = approvalLines({ approval, presentation }, plain).join("\n");
  assert.match(text, /pending, 1 of 2/);
  assert.match(text, /1 of 2, carl for ben \(once\): invoice 17/);
  assert.match(text, /missing +1 more of group:leads/);
  assert.match(text, /reason +required for denials/);
  assert.equal(stateText({ ...approval, requirements: [] }), "pending");
  const card = approvalLines({ approval, presentation }, plain, ["id", "who"]).join("\n");
  assert.match(text, /apr-0123[^]*user team-a/);
  assert.doesNotMatch(card, /apr-0123|user team-a/);
  assert.match(card, /missing +1 more of group:leads/);
});

test("a person who approves sees whose approval is still missing, and is prompted for a reason that the rules require", () => {
  assert.match(stillMissing(approval) ?? "", /1 of 2; the call still waits for 1 more of group:/);
  assert.equal(stillMissing({ ...approval, state: "approved" }), null);
  assert.equal(reasonPrompt(approval, "approvals"), null);
  assert.match(reasonPrompt(approval, "denials") ?? "", /require/);
  assert.match(reasonPrompt({ reasonFor: [] }, "denials") ?? "", /may be empty/);
});
