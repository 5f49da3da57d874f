import assert from "node:assert/strict";
import { test } from "node:test";
import { AUDIT_EVENT_OF } from "@switchyard/contracts/policy/audit";
import { recordsOf, type ChainedRecord } from "@switchyard/contracts/policy/audit-chain";
import { NotSentError } from "./call-once.ts";
import { createAuditWriter } from "@switchyard/audit/audit-writer";
import { createExecutionAudit, type ExecutedCall } from "./execution-audit.ts";

const DIGEST = `sha256:${"0".repeat(64)}`;
const START: ExecutedCall = {
  caller: "runner",
  principal: { user: "cli", agent: "boss", runId: "r1" },
  ref: { name: "agent", server: null, tool: "agent" },
  pin: undefined,
  callId: "r1:1:0",
  args: { agent: "helper" },
  decision: { effect: "allow", rule: "r", reason: "because", policyDigest: DIGEST },
  decisionRef: `policy-${"0".repeat(16)}:7`,
  passed: null,
  correlationId: "r1",
};

/** An audit with the setting `on`, whose stream does what the test sets. */
function lab(store: () => Promise<void>) {
  const records: ChainedRecord[] = [];
  const writer = createAuditWriter({
    service: "runner",
    giveUpAfterMs: 0,
    async publish(json, { kind }) {
      await store();
      records.push(...recordsOf(AUDIT_EVENT_OF[kind].payload.parse(JSON.parse(json))));
    },
    onTrouble: () => undefined,
    onRecovered: () => undefined,
  });
  const audit = { writer, isStrict: false, stop: async () => undefined };
  return { writer, records, executions: createExecutionAudit(audit) };
}

test("a start is made when its record is stored, also where others do not wait for that", async () => {
  const { writer, records, executions } = lab(async () => undefined);
  const known = await executions.duringStart(START, async () => records.length);
  assert.equal(known, 1);
  const [record] = records;
  assert.ok(record?.kind === "execution");
  assert.deepEqual([record.decision, record.outcome], [START.decisionRef, undefined]);
  await writer.close(30_000);
  const end = records.at(-1);
  assert.ok(end?.kind === "outcome");
  assert.deepEqual([end.of, end.outcome], [1, "started"]);
});

test("a start that cannot be recorded is not made, and is recorded as such when it can be", async () => {
  let isFull = true;
  const { writer, records, executions } = lab(async () => {
    if (isFull) throw new Error("full");
  });
  const made = executions.duringStart(START, () => assert.fail("it was made"));
  await assert.rejects(made, NotSentError);
  isFull = false;
  await writer.close(30_000);
  assert.deepEqual(
    records.map((record) => (record.kind === "outcome" ? record.outcome : record.kind)),
    ["execution", "not_sent"],
  );
});

test("a start that failed in the middle is recorded with an unknown outcome", async () => {
  const { writer, records, executions } = lab(async () => undefined);
  const lost = new Error("the store is away");
  const made = executions.duringStart(START, () => Promise.reject(lost));
  await assert.rejects(made, lost);
  await writer.close(30_000);
  const end = records.at(-1);
  assert.equal(end?.kind === "outcome" && end.outcome, "unknown");
});

test("of the calls by one kept decision the first record has its signature, of others each", async () => {
  const { writer, records, executions } = lab(async () => undefined);
  const signed = { at: 1, kid: "k".repeat(43), signature: "s".repeat(86) };
  const kept = { ...START, signed: { ...signed, keptForMs: 500 } };
  const other = { ...kept, decisionRef: `policy-${"0".repeat(16)}:8` };
  for (const call of [kept, kept, other, { ...START, signed }, { ...START, signed }])
    await executions.begin(call);
  await writer.close(30_000);
  const made = records.flatMap((record) => (record.kind === "execution" ? [record] : []));
  assert.deepEqual(
    made.map((record) => record.signed !== undefined),
    [true, false, true, true, true],
  );
});
