import assert from "node:assert/strict";
import { test } from "node:test";
import type { AuditFact } from "@switchyard/contracts/policy/audit";
import { builtinToolRef, mcpToolRef } from "@switchyard/contracts/tool-names";
import { recordText } from "./audit-read.ts";

const digest = `sha256:${"0".repeat(64)}`;
const about = {
  principal: { user: "cli", agent: "writer", runId: "r1" },
  tool: builtinToolRef("write_file"),
  policyDigest: digest,
  rule: "writes",
};
const approvalId = `apr-${"a".repeat(32)}`;

test("a person's verdict is printed with who gave it and why", () => {
  const fact: AuditFact = { kind: "approval", change: "denied", approvalId, ...about };
  const text = recordText({ ...fact, by: "boss", reason: "not on a Friday" });
  assert.equal(text, `denied ${approvalId} by boss: write_file for cli/writer/r1: not on a Friday`);
  assert.doesNotMatch(recordText(fact), /undefined|null/);
});

test("a refused token is printed with the request that used it", () => {
  const refused = { kind: "refusal", provider: "broker", caller: "me", reason: "expired" } as const;
  assert.equal(recordText(refused), "refused a run token of me: expired");
  const tool = mcpToolRef("files", "read");
  assert.equal(
    recordText({ ...refused, tool }),
    "refused a run token of me for mcp__files__read: expired",
  );
});

test("an object that is not a tool is printed by its own name, and values where they are recorded", () => {
  const uri = "demo://a/b";
  const made: AuditFact = {
    kind: "execution",
    access: "resource",
    method: "resources/read",
    caller: "me",
    ...about,
    tool: mcpToolRef("docs", uri),
    argsDigest: digest,
    effect: "allow",
    decision: `policy-${"0".repeat(16)}:7`,
    correlationId: "c",
  };
  assert.equal(
    recordText(made),
    `resources/read resource ${uri} of docs for cli/writer/r1 by policy-${"0".repeat(16)}:7`,
  );
  const decided: AuditFact = {
    kind: "decision",
    provider: "broker",
    caller: "me",
    principal: about.principal,
    access: "prompt",
    tool: mcpToolRef("docs", "review"),
    argsDigest: digest,
    argKeys: ["text"],
    decision: { effect: "allow", rule: "r", reason: "rule r", policyDigest: digest },
    correlationId: "c",
  };
  const text = "allow prompt review of docs for cli/writer/r1: rule r (000000000000)";
  assert.equal(recordText(decided), text);
  const args = { text: "x".repeat(300) };
  assert.equal(recordText({ ...decided, args }), `${text} ${JSON.stringify(args).slice(0, 200)}…`);
});
