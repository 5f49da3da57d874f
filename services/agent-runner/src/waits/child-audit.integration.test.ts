import assert from "node:assert/strict";
import { after, test } from "node:test";
import { auditBounds, readAudit } from "@switchyard/bus/audit-log";
import { AUDIT_EVENT_OF } from "@switchyard/contracts/policy/audit";
import {
  recordsOf,
  type AuditBlock,
  type ChainedRecord,
} from "@switchyard/contracts/policy/audit-chain";
import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import { auditStream } from "@switchyard/topology/streams";
import { createAuditWriter } from "@switchyard/audit/audit-writer";
import { createExecutionAudit } from "@switchyard/tool-provider/execution-audit";
import { createAuditVerifier, readAuditBlock } from "@switchyard/audit/verify-audit";
import { until } from "@switchyard/local-servers/until";
import { connect } from "nats";
import { decideApproval } from "../../test-fixtures/decide-approval.ts";
import {
  Crash,
  dyingAt,
  mortalRunners,
  startDelivery,
} from "../../test-fixtures/mortal-runners.ts";
import { agent, ALLOWED, answering, DENIED } from "../../test-fixtures/fake-services.ts";
import { startLab } from "../../test-fixtures/runner-lab.ts";
import { openRunStore } from "../journal/run-store.ts";

const lab = await startLab();
const { services } = lab;
const runner = await lab.runner({}, { auditGiveUpMs: 60_000 });

const task = { tool: "agent", with: { agent: "helper", task: "it", wait: false } };
const ARGS = { agent: "helper", task: "it", wait: false };
services.agents.set("helper", answering("helper", "helped"));
services.agents.set(
  "boss",
  agent("boss", { plan: { steps: [{ calls: [task] }], answer: "done" } }),
);

test("the start of a child is recorded with its call, its decision and the approval that allowed it; a denied one is not", async () => {
  await lab.command("boss", { runId: "allowed", input: "x" });
  await lab.eventsUntil("allowed", "finished");
  services.hooks.check = () => DENIED;
  await lab.command("boss", { runId: "denied", input: "x" });
  await lab.eventsUntil("denied", "finished");
  const approvalId = `apr-${"a".repeat(32)}`;
  const asked = { ...ALLOWED, effect: "ask", tier: "always" } as const;
  services.hooks.check = () => asked;
  services.hooks.admit = () => ({ outcome: "passed", approvalId, grantId: null, by: "sam" });
  await lab.command("boss", { runId: "approved", input: "x" });
  await lab.eventsUntil("approved", "finished");
  delete services.hooks.check;
  delete services.hooks.admit;

  const records = await storedUntil((all) => startsIn(all).length === 2);
  const made = records.filter((record) => record.kind === "execution");
  const common = {
    kind: "execution",
    service: "runner",
    caller: "runner",
    principal: { user: "cli", agent: "test", runId: "test" },
    tool: { name: "agent", server: null, tool: "agent" },
    argsDigest: canonicalDigest(ARGS),
    rule: ALLOWED.rule,
    policyDigest: ALLOWED.policyDigest,
    decision: null, // the service names none
  };
  const about = [
    { ...common, callId: "cli~allowed:1:0", correlationId: "cli~allowed", effect: "allow" },
    {
      ...common,
      callId: "cli~approved:1:0",
      correlationId: "cli~approved",
      effect: "ask",
      approvalId,
    },
  ];
  assert.deepEqual(
    made.map(({ v: _v, writer: _w, seq: _s, at: _a, prev: _p, hash: _h, ...own }) => own),
    about,
  );
  assert.deepEqual(startsIn(records), ["cli~allowed:1:0 started", "cli~approved:1:0 started"]);
  assert.deepEqual(services.settled, [approvalId]);
});

test("while the start cannot be recorded no child is started, the approval is released, and the run resumes by itself", async () => {
  const approvalId = `apr-${"b".repeat(32)}`;
  const expiresAt = "2999-01-01T00:00:00.000Z";
  services.hooks.check = () => ({ ...ALLOWED, effect: "ask", tier: "always" });
  services.hooks.admit = () => ({ outcome: "waiting", approvalId, expiresAt, tier: "always" });
  await lab.command("boss", { runId: "held-up", input: "x" });
  await lab.eventsUntil("held-up", "waiting");
  const fill = await takeRoom();
  services.hooks.admit = () => ({ outcome: "passed", approvalId, grantId: null, by: "sam" });
  await decideApproval(lab.bus, { approvalId, callId: "cli~held-up:1:0", tool: "agent" });
  await until(async () =>
    runner.lines.some(
      ({ msg, err }) =>
        msg === "run suspended" && /cannot be recorded/.test(JSON.stringify(err ?? null)),
    ),
  );
  await until(async () => services.settled.includes(`${approvalId} not_sent`));
  await fill.giveBack();
  const events = await lab.eventsUntil("held-up", "finished");
  const names = events.map(({ name }) => name);
  assert.equal(names.filter((name) => name === "child-started").length, 1);
  assert.equal(services.settled.at(-1), approvalId);
  delete services.hooks.check;
  delete services.hooks.admit;

  const records = await storedUntil((all) => startsIn(all).includes("cli~held-up:1:0 started"));
  const tries = startsIn(records).filter((start) => start.startsWith("cli~held-up:"));
  assert.equal(tries.pop(), "cli~held-up:1:0 started");
  assert.ok(tries.every((start) => start === "cli~held-up:1:0 not_sent"));
  const verifier = createAuditVerifier(null, Date.now());
  for (const record of records) verifier.record(record);
  assert.deepEqual(verifier.finish().breaks, []);
});

test("a start is recorded before it is made and reported as started once, wherever its runner dies", async () => {
  const blocks: AuditBlock[] = [];
  const writer = createAuditWriter({
    service: "runner",
    giveUpAfterMs: 60_000,
    publish: async (json, { kind }) =>
      void blocks.push(AUDIT_EVENT_OF[kind].payload.parse(JSON.parse(json))),
    onTrouble: (error) => assert.fail(String(error)),
    onRecovered: () => undefined,
  });
  const executions = createExecutionAudit({ writer, isStrict: false, stop: async () => undefined });
  const mortal = await mortalRunners(lab, { holdMs: 10_000, executions });
  const store = openRunStore(mortal.redis, { holdMs: 0 });
  let last = 1;
  for (let isDead = true; isDead; last += 1) {
    const place = { streamSequence: 10_000 + last };
    const command = { runId: `dies-${last}`, input: "x" };
    isDead = false;
    for (const deliveryCount of [1, 2]) {
      const worker = mortal.worker(dyingAt(deliveryCount === 1 ? last : null));
      try {
        await worker.handle(startDelivery("boss", command, { ...place, deliveryCount }));
      } catch (error) {
        assert.ok(error instanceof Crash, String(error));
        isDead = true;
      }
    }
  }
  assert.equal(await writer.close(30_000), 0);

  const records = blocks.flatMap(recordsOf);
  let repeated = 0;
  for (let point = 1; point < last; point += 1) {
    const callId = `cli~dies-${point}:1:0`;
    const journal = await store.load(`cli~dies-${point}`);
    assert.equal(journal.filter(({ kind }) => kind === "child-started").length, 1, callId);
    const starts = startsIn(records).filter((start) => start.startsWith(`${callId} `));
    // A runner that died before its journal entry has not started the child; one that died afterwards leaves the outcome unknown.
    const reported = starts.map((start) => start.slice(callId.length + 1)).join(" then ");
    assert.ok(
      ["started", "unknown", "unknown then started"].includes(reported),
      `${callId}: ${reported}`,
    );
    if (starts.length > 1) repeated += 1;
  }
  assert.ok(repeated >= 1, "a runner died between the record and the start");
});

/** The call and the outcome of each recorded execution, in order. */
function startsIn(records: readonly ChainedRecord[]): string[] {
  return records.flatMap((record) => {
    if (record.kind !== "execution") return [];
    const { writer, seq, callId, outcome } = record;
    if (outcome !== undefined) return [`${callId} ${outcome}`];
    const end = records.find(
      (other) => other.kind === "outcome" && other.writer === writer && other.of === seq,
    );
    return end?.kind === "outcome" ? [`${callId} ${end.outcome}`] : [];
  });
}

async function storedUntil(fits: (records: ChainedRecord[]) => boolean): Promise<ChainedRecord[]> {
  return until(async () => {
    const records = await stored();
    return fits(records) ? records : null;
  });
}

/** Every record of the audit, in the order of the stream. */
async function stored(): Promise<ChainedRecord[]> {
  const { first: sequence, last: upTo } = await auditBounds(lab.bus);
  const found: ChainedRecord[] = [];
  for await (const { subject, payload } of readAudit(lab.bus, { from: { sequence }, upTo })) {
    const block = readAuditBlock(subject, payload);
    assert.ok(typeof block !== "string");
    found.push(...recordsOf(block));
  }
  return found;
}

/** Fills the audit's stream until the returned function frees the space. */
async function takeRoom(): Promise<{ giveBack(): Promise<void> }> {
  const plain = await connect({ servers: lab.nats.url });
  after(() => plain.close());
  const { streams } = await plain.jetstreamManager();
  const { config, state } = await streams.info(auditStream.name);
  await streams.update(auditStream.name, { ...config, max_bytes: state.bytes });
  return {
    async giveBack() {
      await streams.update(auditStream.name, config);
    },
  };
}
