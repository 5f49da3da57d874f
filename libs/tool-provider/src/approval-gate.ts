import { randomUUID } from "node:crypto";
import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { admitCall, settleCall } from "@switchyard/contracts/policy/approval-admission";
import type { DecisionSignature } from "@switchyard/contracts/policy/audit-signatures";
import { bindingDigest } from "@switchyard/contracts/policy/approval-record";
import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import { failuresOf, isError, ServiceError } from "@switchyard/contracts/errors";
import { callTool } from "@switchyard/contracts/mcp-broker/mcp";
import type { Decision, Principal } from "@switchyard/contracts/policy/policy";
import type { ToolRef } from "@switchyard/contracts/tool-names";
import type { z } from "zod";
import { NotSentError } from "./call-once.ts";
import type { Requester } from "./policy-gate.ts";

/** A call exactly as it is about to be sent, and the policy's `ask` about it. */
export interface CallToApprove {
  readonly requester: Requester;
  readonly principal: Principal;
  readonly decision: Decision;
  readonly ref: ToolRef;
  readonly pin: string | undefined;
  readonly args: Readonly<Record<string, unknown>>;
  readonly callId: string | undefined;
  readonly approvalId: string | undefined;
  /** Set for the changed arguments of this approval. */
  readonly editOf?: string | undefined;
}

/**
 * Uses the approval of a call that the policy asks a person about. It is consumed right before the call is sent, so it
 * is good for one attempt. When the process dies between the two, it stays consumed, its execution `unknown`. When the policy service
 * dies, the next attempt of this process continues.
 */
export interface ApprovalGate {
  /**
   * Rejects with NotSentError when the call may not be sent: `approval_required` until a person has decided, `denied` when the decision was
   * no, `storage_full` when the approval has no room, `policy_unavailable` when the policy service cannot answer.
   */
  consume(call: CallToApprove): Promise<Consumed | Edited>;
}

/** An approver has changed the arguments. Nothing is consumed: the call is decided about, and consumes the approval, with these. */
export interface Edited {
  readonly edited: { readonly by: string; readonly args: Record<string, unknown> };
  readonly editOf: string;
}

/** The right to one attempt. Exactly one of the two ends it; without either the execution stays unknown. */
export interface Consumed extends Passed {
  /** The call was made, with this result. Never rejects. */
  executed(result: unknown): Promise<void>;
  /** The call was provably not sent. Never rejects. */
  notSent(): Promise<void>;
}

/** The person's approval or grant that let a call pass: one of the two. */
export interface Passed {
  readonly approvalId: string | null;
  readonly grantId: string | null;
  /** The policy's signature that it does, for the provider's record of the call. */
  readonly signed?: DecisionSignature | undefined;
}

const TIMEOUT_MS = 2_000;

/** Every tool provider declares these codes alike. */
const fail = failuresOf(callTool.errors);

/** The decision that is returned for a call which was made: where the policy asked, a person has approved it. */
export function asAllowed(decision: Decision): Decision {
  if (decision.effect === "allow") return decision;
  return { ...decision, effect: "allow", reason: `${decision.reason}; a person did` };
}

/** `onNotSettled` is called for an approval whose end could not be reported: it stays consumed, its execution `unknown`. */
export function createApprovalGate(
  bus: Bus,
  options: { readonly onNotSettled: (error: unknown, approvalId: string) => void },
): ApprovalGate {
  const policy = client(bus, { admitCall, settleCall });
  const unanswered = createUnanswered();

  const admit = async (call: CallToApprove, attempt: string): Promise<Passed | Edited> => {
    const reply = await orNotSent(() =>
      policy.admitCall(requestOf(call, attempt), limitsOf(call.requester)),
    );
    if (reply.outcome === "passed") {
      const { approvalId, grantId, signed } = reply;
      return { approvalId, grantId, signed };
    }
    const isRefused = reply.outcome === "refused" && call.editOf === undefined;
    if (isRefused && reply.edited !== undefined && reply.approvalId !== null)
      return { edited: reply.edited, editOf: reply.approvalId };
    throw new NotSentError(refusalOf(call, reply));
  };
  const settle = async (
    end: z.input<typeof settleCall.request>,
    { correlationId, traceparent }: Requester,
  ): Promise<void> => {
    try {
      await policy.settleCall(end, { correlationId, traceparent });
    } catch (error) {
      options.onNotSettled(error, end.approvalId);
    }
  };

  return {
    async consume(call) {
      const attempt = unanswered.take(call) ?? randomUUID();
      const passed = await admit(call, attempt).catch((error: unknown) => {
        if (isUnanswered(error)) unanswered.put(call, attempt);
        throw error;
      });
      if ("edited" in passed) return passed;
      const { approvalId } = passed;
      const end = async (how: End): Promise<void> => {
        // With a session grant nothing was consumed.
        if (approvalId !== null) await settle({ approvalId, attempt, ...how }, call.requester);
      };
      return {
        ...passed,
        executed: (result) => end({ outcome: "executed", ...digested(result) }),
        notSent: () => end({ outcome: "not_sent" }),
      };
    },
  };
}

const MOST_UNANSWERED = 1_000;

/**
 * The attempts whose request got no answer, by call. A policy service that was killed may have consumed the approval before; the call was not
 * sent, so it is repeated with the same attempt, which that service lets pass. Other providers do not know the attempt.
 */
function createUnanswered() {
  const attempts = new Map<string, string>();
  return {
    take(call: CallToApprove): string | null {
      const key = keyOfCall(call);
      const attempt = key === null ? undefined : attempts.get(key);
      if (key === null || attempt === undefined) return null;
      attempts.delete(key);
      return attempt;
    },
    put(call: CallToApprove, attempt: string): void {
      const key = keyOfCall(call);
      if (key === null) return;
      const [oldest] = attempts.keys();
      if (oldest !== undefined && attempts.size >= MOST_UNANSWERED) attempts.delete(oldest);
      attempts.set(key, attempt);
    },
  };
}

/** Null for a call that nothing names: its repeat is another call. */
function keyOfCall({ callId, ref, args, requester }: CallToApprove): string | null {
  if (callId === undefined) return null;
  return canonicalDigest({ callId, name: ref.name, args, caller: requester.onBehalfOf });
}

function isUnanswered(error: unknown): boolean {
  return error instanceof NotSentError && error.reply.code === "policy_unavailable";
}

type End = Pick<z.input<typeof settleCall.request>, "outcome" | "resultDigest">;

/** A result may be nested deeper than it can be digested, and was made all the same. */
function digested(result: unknown): { readonly resultDigest?: string } {
  try {
    return { resultDigest: canonicalDigest(result) };
  } catch (error) {
    if (error instanceof RangeError) return {};
    throw error;
  }
}

function requestOf(call: CallToApprove, attempt: string): z.input<typeof admitCall.request> {
  const { requester, principal, decision, ref: tool, pin, args, callId, approvalId, editOf } = call;
  const { onBehalfOf, token } = requester;
  return {
    onBehalfOf,
    ...(token === undefined ? {} : { token }),
    tool,
    ...(pin === undefined ? {} : { pin }),
    args: { ...args },
    ...(callId === undefined ? {} : { callId }),
    ...(approvalId === undefined ? {} : { approvalId }),
    ...(editOf === undefined ? {} : { editOf }),
    decision,
    binding: bindingDigest({ principal, caller: onBehalfOf, tool, pin, args, decision }),
    attempt,
  };
}

type Reply = z.output<typeof admitCall.reply>;

function refusalOf(
  { ref, decision }: CallToApprove,
  reply: Exclude<Reply, { outcome: "passed" }>,
): ServiceError {
  if (reply.outcome === "waiting") {
    const { approvalId, expiresAt, tier } = reply;
    return fail.approval_required(
      `A person has to approve ${ref.name} until ${expiresAt}: ${decision.reason}. It was not called; after yard approvals approve ${approvalId}, make the same call again.`,
      { approvalId, expiresAt, tier },
    );
  }
  const { rule, policyDigest } = decision;
  return fail.denied(`${ref.name} was not approved: ${reply.reason}`, {
    effect: "deny",
    rule,
    reason: reply.reason,
    policyDigest,
    ...(reply.stop !== undefined && { stop: reply.stop }),
  });
}

function limitsOf({ deadline, signal, correlationId, traceparent }: Requester) {
  const soon = Date.now() + TIMEOUT_MS;
  return { deadline: Math.min(deadline, soon), signal, correlationId, traceparent };
}

async function orNotSent<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    if (isError(error, admitCall, "invalid_token"))
      throw new NotSentError(fail.invalid_token(error.message, error.data));
    if (error.code === "storage_full") throw new NotSentError(error);
    const cause = `${error.code}: ${error.message}`;
    throw new NotSentError(
      fail.policy_unavailable(
        `Whether a person approved the call cannot be looked up now, so it was not made: ${error.message}`,
        { cause },
      ),
    );
  }
}
