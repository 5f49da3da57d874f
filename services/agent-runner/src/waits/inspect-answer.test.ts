import assert from "node:assert/strict";
import { test } from "node:test";
import type { AuditFact } from "@switchyard/contracts/policy/audit";
import type { Decision } from "@switchyard/contracts/policy/policy";
import type { JournalEntry } from "../core/journal-entry.ts";
import { createAnswerInspector } from "./inspect-answer.ts";

const CARD = "4111 1111 1111 1111";
const DIGEST = `sha256:${"0".repeat(64)}`;
const parent = { runId: "ann~1", callId: "1:2:0" };
const childRunId = "ann~sub-1";
const at = "2026-11-28T10:00:00.000Z";

function inspector(results: NonNullable<Decision["inspection"]>["results"] | null) {
  const decision: Decision = {
    effect: "allow",
    rule: "starts",
    reason: "",
    policyDigest: DIGEST,
    ...(results !== null && { inspection: { results, unmask: [] } }),
  };
  const start = { kind: "child-started", at, callId: parent.callId, childRunId, agent: "reader" };
  const entries = [{ ...start, decision }] as JournalEntry[]; // only this entry is read
  const facts: AuditFact[] = [];
  const writer = { append: (fact: () => AuditFact) => void facts.push(fact()) };
  const inspect = createAnswerInspector(
    { load: (runId) => Promise.resolve(runId === parent.runId ? entries : []) },
    { writer, isStrict: false } as never, // only `append` is called
  );
  const answer = { parent, childRunId, requester: "ann", text: `pay with ${CARD}` };
  return { facts, result: inspect(answer) };
}

test("the answer of a sub-agent is masked or withheld as the decision about its start says, and recorded once delivered", async () => {
  const masked = inspector({ card: { effect: "mask", rule: "hide" } });
  const { text, isWithheld, record } = await masked.result;
  assert.deepEqual([text, isWithheld], ["pay with ⟦card⟧", false]);
  assert.equal(masked.facts.length, 0, "nothing is recorded before the delivery");
  record();
  const [fact] = masked.facts;
  assert.ok(fact?.kind === "access");
  assert.deepEqual(
    [fact.change, fact.caller, fact.credential, fact.operation, fact.about, fact.code],
    ["inspected", "ann", childRunId, "agent", "1 card", undefined],
  );
  const denied = inspector({ card: { effect: "deny", rule: "no-cards" } });
  const withheld = await denied.result;
  assert.equal(withheld.isWithheld, true);
  assert.match(withheld.text, /^its answer is withheld: rule no-cards denies results with card/);
  assert.ok(!withheld.text.includes(CARD));
});

test("without rules about results the answer stays as it is, and nothing is recorded", async () => {
  const plain = inspector(null);
  const { text, record } = await plain.result;
  record();
  assert.deepEqual([text, plain.facts], [`pay with ${CARD}`, []]);
});
