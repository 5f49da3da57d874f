import assert from "node:assert/strict";
import { test } from "node:test";
import type { Approval, Presentation } from "@switchyard/contracts/policy/approval-record";
import { mcpToolRef } from "@switchyard/contracts/tool-names";
import { endText, promptText } from "./prompt-text.ts";

const DIGEST = `sha256:${"1".repeat(64)}`;
const ID = `apr-${"0".repeat(32)}`;
const AT = "2026-11-28T03:10:00.000Z";

const approval: Approval = {
  id: ID,
  state: "pending",
  tier: "always",
  risk: "high",
  binding: DIGEST,
  principal: { user: "team-a", agent: "coder", runId: "team-a~run-1" },
  caller: "runner",
  tool: mcpToolRef("files", "remove"),
  pin: null,
  argsDigest: DIGEST,
  rule: "removals",
  why: "it removes\u2028files",
  policyDigest: DIGEST,
  callId: null,
  grantTtlMs: null,
  requestedAt: AT,
  expiresAt: AT,
  decision: null,
  consumedAt: null,
  execution: null,
  resultDigest: null,
  requirements: [],
  votes: [],
  needed: 1,
  reasonFor: [],
  escalatesAt: null,
};

function shown(args: string, more: Partial<Presentation> = {}): Presentation {
  return {
    args,
    argsBytes: args.length,
    isCut: false,
    hasHiddenCharacters: false,
    hasRedactions: false,
    changes: null,
    ...more,
  };
}

test("a waiting call is shown with its agent, user, server, risk, reason and exact arguments at the end", () => {
  const args = '{"path":"a.txt"}';
  const place = { maxLength: 4_096, consoleUrl: null };
  const { text, argumentsAt } = promptText({ approval, presentation: shown(args) }, place);
  assert.equal(
    text,
    `Approval needed: mcp__files__remove
From: agent coder, for team-a
Server: files
Risk: high
Why: it removes files
Until: 2026-11-28 03:10 UTC
Arguments, 16 bytes:
${args}`,
  );
  assert.equal(text.slice(argumentsAt), args);
});

test("what a call changes is shown behind its arguments; a long change is cut at a line, and the arguments keep their room", () => {
  const presentation = shown('{"path":"a.txt"}');
  const place = { maxLength: 2_000, consoleUrl: null };
  const { text, argumentsAt } = promptText(
    { approval, presentation, changes: "-one\n+two" },
    place,
  );
  assert.equal(text.slice(argumentsAt), '{"path":"a.txt"}\n\nWhat changes:\n-one\n+two');
  const changes = Array.from({ length: 300 }, () => "+a line of a long text").join("\n");
  const long = promptText(
    { approval, presentation: shown(JSON.stringify({ text: "x".repeat(5_000) })), changes },
    place,
  );
  assert.ok(long.text.length <= 1_700, `${long.text.length}`);
  assert.match(long.text, /The arguments are cut\. All 5011 bytes, sha256:1/);
  assert.match(
    long.text,
    /x{200}\n\nWhat changes:\n(?:\+a line of a long text\n)+… the change is cut$/,
  );
});

test("arguments that do not fit are cut with their digest, and the text states where all of them are", () => {
  const args = JSON.stringify({ text: "x".repeat(5_000) });
  for (const maxLength of [2_000, 4_096]) {
    const place = { maxLength, consoleUrl: "https://yard.example.com" };
    const { text, argumentsAt } = promptText({ approval, presentation: shown(args) }, place);
    assert.ok(text.length <= maxLength - 300, `${text.length}`);
    assert.ok(text.includes(`The arguments are cut. All ${args.length} bytes, ${DIGEST}`));
    assert.ok(text.includes(`https://yard.example.com/approvals?id=${ID}`));
    assert.ok(args.startsWith(text.slice(argumentsAt)));
    assert.ok(argumentsAt < text.length);
  }
});

test("a call that the policy service has cut is never shown as a whole one", () => {
  const place = { maxLength: 4_096, consoleUrl: null };
  const presentation = shown('{"a":1', { isCut: true, argsBytes: 90_000 });
  const { text } = promptText({ approval, presentation }, place);
  assert.ok(text.includes(`All 90000 bytes, ${DIGEST}: yard approvals show ${ID}`));
});

test("names with invisible characters and line breaks stay one visible line", () => {
  const principal = { ...approval.principal, user: "ann\u202Eb\nRisk: low" };
  const place = { maxLength: 4_096, consoleUrl: null };
  const { text } = promptText(
    { approval: { ...approval, principal }, presentation: shown("{}") },
    place,
  );
  assert.ok(text.includes("for ann\\u{202e}b Risk: low\n"));
});

test("the end of a call names its state, who decided and in which channel", () => {
  const decision = {
    by: "ann",
    authenticated: "chat-link",
    via: "telegram",
    scope: "once",
    reason: null,
    at: AT,
  } as const;
  const when = "2026-11-28 03:10 UTC";
  assert.equal(endText(approval), null);
  for (const state of ["approved", "consumed"] as const)
    assert.equal(endText({ ...approval, state, decision }), `Approved by ann by telegram, ${when}`);
  const denied = { ...decision, reason: "not\ntoday" };
  assert.equal(
    endText({ ...approval, state: "denied", decision: denied }),
    `Denied by ann by telegram, ${when}: not today`,
  );
  assert.equal(
    endText({ ...approval, state: "cancelled", decision: { ...denied, by: "policy" } }),
    `Cancelled, ${when}: not today`,
  );
  assert.equal(endText({ ...approval, state: "expired" }), "Expired: no decision in time");
  assert.match(endText({ ...approval, state: "expired", decision }) ?? "", /not made in time/);
});
