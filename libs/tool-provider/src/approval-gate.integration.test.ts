import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import type { z } from "zod";
import { serve } from "@switchyard/bus/serve";
import { testBus } from "@switchyard/testing/test-bus";
import { admitCall, settleCall } from "@switchyard/contracts/policy/approval-admission";
import { bindingDigest } from "@switchyard/contracts/policy/approval-record";
import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import { failuresOf, isError, ServiceError } from "@switchyard/contracts/errors";
import { callTool } from "@switchyard/contracts/mcp-broker/mcp";
import { mcpToolRef } from "@switchyard/contracts/tool-names";
import { testNats } from "@switchyard/testing/test-servers";
import { createApprovalGate, type CallToApprove, type Consumed } from "./approval-gate.ts";
import { NotSentError } from "./call-once.ts";

const nats = await testNats();
const [policy, broker] = await Promise.all([testBus(nats, "policy"), testBus(nats, "broker")]);

type Admission = z.input<typeof admitCall.reply>;
const approvalId = `apr-${"0".repeat(32)}`;
const grantId = `grt-${"0".repeat(32)}`;
const consumed: Admission = { outcome: "passed", approvalId, grantId: null, by: "admin" };
const policyFail = failuresOf({ ...admitCall.errors, ...settleCall.errors });

/** The policy's answers, and the requests that it received. */
const admission = { reply: (): Admission => consumed, settle: (): boolean => true };
const admitted: z.output<typeof admitCall.request>[] = [];
const settled: z.output<typeof settleCall.request>[] = [];
const service = serve(policy, {
  name: "policy",
  version: "1.0.0",
  description: "Knows what a person approved",
  onFault: ({ error }) => assert.fail(String(error)),
});
service.handle(admitCall, (request) => {
  admitted.push(request);
  return admission.reply();
});
service.handle(settleCall, (request) => {
  settled.push(request);
  return { settled: admission.settle() };
});
await policy.flush();

const notSettled: string[] = [];
const gate = createApprovalGate(broker, {
  onNotSettled: (_, id) => notSettled.push(id),
});
beforeEach(() => {
  Object.assign(admission, { reply: () => consumed, settle: () => true });
  for (const list of [admitted, settled, notSettled]) list.length = 0;
});

const policyDigest = canonicalDigest("rules");
function callToApprove(): CallToApprove {
  return {
    requester: {
      onBehalfOf: "team-a",
      token: undefined,
      deadline: Date.now() + 10_000,
      signal: new AbortController().signal,
      correlationId: "c",
      traceparent: `00-${"1".repeat(32)}-${"2".repeat(16)}-01`,
    },
    principal: { user: "team-a", agent: null, runId: null },
    decision: { effect: "ask", rule: "asks", reason: "rule asks", policyDigest, tier: "always" },
    ref: mcpToolRef("files", "write_file"),
    pin: undefined,
    args: { path: "a" },
    callId: "call-1",
    approvalId: undefined,
  };
}

/** Uses the approval of a call that has its own arguments. */
async function consume(call: CallToApprove): Promise<Consumed> {
  const used = await gate.consume(call);
  assert.ok(!("edited" in used));
  return used;
}

/** The error of a call that must not be sent. */
async function refusal(): Promise<ServiceError> {
  const sent = consume(callToApprove());
  const error = await sent.then(
    () => assert.fail("it was made"),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof NotSentError, String(error));
  assert.deepEqual(settled, []);
  return error.reply;
}

test("an approved call is admitted as it is sent, sent once, and its event has the digest of its result", async () => {
  const call = callToApprove();
  const passed = await consume(call);
  assert.deepEqual([passed.approvalId, passed.grantId], [approvalId, null]);
  assert.deepEqual(settled, []);
  const result = { content: "made" };
  await passed.executed(result);
  const { principal, decision, pin, args, ref: tool } = call;
  const binding = bindingDigest({ principal, caller: "team-a", tool, pin, args, decision });
  const [{ attempt, ...requester } = assert.fail("it was not asked")] = admitted;
  assert.deepEqual(requester, {
    onBehalfOf: "team-a",
    tool,
    args,
    callId: "call-1",
    decision,
    binding,
  });
  const resultDigest = canonicalDigest(result);
  assert.deepEqual(settled, [{ approvalId, attempt, outcome: "executed", resultDigest }]);
  await consume(call);
  assert.notEqual(admitted[1]?.attempt, attempt);
});

test("a result that is nested too deeply for a digest reaches the caller, and its event has none", async () => {
  const deep: unknown = JSON.parse("[".repeat(50_000) + "]".repeat(50_000));
  await (await consume(callToApprove())).executed(deep);
  const [reported] = settled;
  assert.deepEqual([reported?.outcome, reported?.resultDigest], ["executed", undefined]);
});

test("a call by a session grant consumes no approval, so nothing is settled", async () => {
  admission.reply = () => ({ ...consumed, approvalId: null, grantId });
  const passed = await consume(callToApprove());
  await passed.executed("made");
  await passed.notSent();
  assert.deepEqual([passed.approvalId, passed.grantId], [null, grantId]);
  assert.deepEqual([settled, notSettled], [[], []]);
});

test("a call that was provably not sent gives its approval back; after anything else it stays consumed", async () => {
  await (await consume(callToApprove())).notSent();
  await consume(callToApprove());
  const attempts = admitted.map(({ attempt }) => attempt);
  assert.deepEqual(settled, [{ approvalId, attempt: attempts[0], outcome: "not_sent" }]);
});

test("an approval that has no room is refused as such, so that the caller knows that nothing is wrong with the policy", async () => {
  const data = { scope: "owner", usedBytes: 2, limitBytes: 1 };
  admission.reply = () => {
    throw new ServiceError("storage_full", "team-a keeps too much", { data });
  };
  const refused = await refusal();
  assert.deepEqual([refused.code, refused.data], ["storage_full", data]);
});

test("without a person's yes a call is not sent, and its error names the next step", async () => {
  const expiresAt = "2030-01-01T00:00:00.000Z";
  admission.reply = () => ({ outcome: "waiting", approvalId, expiresAt, tier: "always" });
  const waits = await refusal();
  assert.ok(isError(waits, callTool, "approval_required"));
  assert.deepEqual(waits.data, { approvalId, expiresAt, tier: "always" });
  assert.match(waits.message, new RegExp(`yard approvals approve ${approvalId}`));
  for (const state of ["denied", "expired", "cancelled", "consumed", "rate_limited"] as const) {
    admission.reply = () => ({ outcome: "refused", approvalId, state, reason: `it is ${state}` });
    const denied = await refusal();
    assert.ok(isError(denied, callTool, "denied"));
    assert.equal(denied.data.reason, `it is ${state}`);
  }
});

test("whatever is not a clear answer lets no call through", async () => {
  for (const error of [
    policyFail.policy_changed("other rules", { policyDigest }),
    policyFail.binding_mismatch("another call", { expected: policyDigest }),
    policyFail.approvals_unavailable("no Redis", { cause: "redis" }),
  ]) {
    admission.reply = () => {
      throw error;
    };
    const refused = await refusal();
    assert.ok(isError(refused, callTool, "policy_unavailable"));
    assert.match(refused.message, /so it was not made/);
  }
  admission.reply = () => {
    throw policyFail.invalid_token("expired", { reason: "expired" });
  };
  assert.ok(isError(await refusal(), callTool, "invalid_token"));
});

test("a request without an answer is repeated with its attempt, for this call alone and until there is an answer", async () => {
  admission.reply = () => {
    throw policyFail.approvals_unavailable("no Redis", { cause: "redis" });
  };
  await refusal();
  await refusal();
  admission.reply = () => consumed;
  await consume({ ...callToApprove(), callId: "call-2" });
  await consume({ ...callToApprove(), args: { path: "b" } });
  await consume(callToApprove());
  await consume(callToApprove());
  const [first, second, other, changed, answered, later] = admitted.map(({ attempt }) => attempt);
  assert.deepEqual([second, answered], [first, first]);
  assert.equal(new Set([first, other, changed, later]).size, 4);
});

test("a caller gets its result even when the end of the call cannot be reported", async () => {
  admission.settle = () => {
    throw policyFail.approvals_unavailable("no Redis", { cause: "redis" });
  };
  await (await consume(callToApprove())).executed("made");
  assert.deepEqual(notSettled, [approvalId]);
});
