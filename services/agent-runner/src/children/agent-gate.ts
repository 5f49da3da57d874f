import { randomUUID } from "node:crypto";
import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/connect";
import { admitCall, settleCall } from "@switchyard/contracts/approval-admission";
import { bindingDigest } from "@switchyard/contracts/approval-record";
import { isError, ServiceError } from "@switchyard/contracts/errors";
import { checkPolicy, type Decision } from "@switchyard/contracts/policy";
import { releaseCall } from "@switchyard/contracts/policy-budgets";
import { builtinToolRef } from "@switchyard/contracts/tool-names";
import type { ExecutionAudit } from "@switchyard/service/audit/execution-audit";
import { asAllowed } from "@switchyard/service/tool-provider/approval-gate";
import { NotSentError } from "@switchyard/service/tool-provider/call-once";
import type { z } from "zod";
import type { CallState } from "../core/run-state.ts";
import { isOutage } from "../peers/peers.ts";
import { Suspended } from "../signals/interruption.ts";
import type { RunTokenKeeper } from "../tools/run-token-keeper.ts";
import { failed, type CallStep } from "../core/call-outcome.ts";
import { agentTool } from "./agent-tool.ts";
import { allowedStart, type AllowedStart, type Verdict } from "./allowed-start.ts";

type Checked = z.output<typeof checkPolicy.reply>;

/** Asks the policy about a call of the tool `agent`, as every tool provider asks about its calls. */
export interface AgentGate {
  /**
   * Starts the child with the decision that allows it, else says what becomes of the call: denied, or
   * parked until a person has decided. Rejects with Suspended when the policy cannot tell now, or when the
   * start cannot be recorded.
   */
  pass(
    call: CallState,
    args: Record<string, unknown>,
    start: (allowed: AllowedStart) => Promise<CallStep>,
  ): Promise<CallStep>;
}

export interface AgentGateOptions {
  readonly bus: Bus;
  readonly runId: string;
  readonly tokens: Pick<RunTokenKeeper, "get" | "refuse">;
  readonly executions: Pick<ExecutionAudit, "duringStart">;
  readonly signal: AbortSignal;
}

export function createAgentGate(options: AgentGateOptions): AgentGate {
  const { bus, runId, tokens, executions, signal } = options;
  const policy = client(bus, { checkPolicy, admitCall, settleCall, releaseCall });
  const limits = { correlationId: runId, signal };
  const tool = builtinToolRef(agentTool.name);

  const decide = async (token: string, args: Record<string, unknown>): Promise<Checked> => {
    const checked = await policy.checkPolicy({ onBehalfOf: bus.user, token, tool, args }, limits);
    const { reservation } = checked;
    // A place in a limit of calls at a time is for the call, and what it does is to start a run.
    if (reservation !== undefined) release(reservation);
    return checked;
  };
  const release = (reservation: string): void => {
    policy.releaseCall({ reservation }, { correlationId: runId }).catch(() => undefined); // it lapses by itself
  };
  const admit = (asked: AskedCall) => {
    const { call, token, args, checked, attempt } = asked;
    const { decision, principal } = checked;
    const about = { caller: bus.user, tool, pin: undefined, args, decision };
    const binding = bindingDigest({ principal, ...about });
    const { callId } = call.part;
    const request = { onBehalfOf: bus.user, token, tool, args, callId, decision, binding, attempt };
    return policy.admitCall(request, limits);
  };
  const settle = async (used: UsedApproval, outcome: "executed" | "not_sent"): Promise<void> => {
    const { approvalId, attempt } = used;
    if (approvalId === null) return;
    // The record of the approval then says that nobody knows; the journal does.
    const end = { approvalId, attempt, outcome };
    await policy.settleCall(end, { correlationId: runId }).catch(() => undefined);
  };
  const startOnce = async (used: UsedApproval, start: () => Promise<CallStep>) => {
    try {
      const step = await start();
      await settle(used, step.kind === "tool-failed" ? "not_sent" : "executed");
      return step;
    } catch (error) {
      if (error instanceof NotSentError) await settle(used, "not_sent");
      throw error;
    }
  };

  return {
    async pass(call, args, start) {
      const token = await tokens.get();
      try {
        const checked = await decide(token, args);
        const { decision } = checked;
        if (decision.effect === "deny") return deniedStep(call, decision);
        const made = { caller: bus.user, runId, callId: call.part.callId, args, checked };
        const begin = (by: Verdict) => start(allowedStart(made, by, executions));
        if (decision.effect === "allow") return await begin({ decision, passed: null });
        const attempt = randomUUID();
        const reply = await admit({ call, token, args, checked, attempt });
        const verdict = verdictOf(call, decision, reply);
        if ("step" in verdict) return verdict.step;
        if (reply.outcome !== "passed") return await begin(verdict);
        return await startOnce({ approvalId: reply.approvalId, attempt }, () => begin(verdict));
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof NotSentError)
          throw new Suspended("the start of a child cannot be recorded now", { cause: error });
        if (isError(error, checkPolicy, "invalid_token")) tokens.refuse(token);
        if (!(error instanceof ServiceError)) throw error;
        if (isOutage(error) || PASSING.has(error.code))
          throw new Suspended("the policy cannot decide now", { cause: error });
        return failed(call.part.callId, error);
      }
    },
  };
}

interface UsedApproval {
  /** Null: a grant let it pass. */
  readonly approvalId: string | null;
  readonly attempt: string;
}

interface AskedCall {
  readonly call: CallState;
  readonly token: string;
  readonly args: Record<string, unknown>;
  readonly checked: Checked;
  readonly attempt: string;
}

/** What another attempt, with a new token or after a pause, may come to another answer for; besides outages. */
const PASSING: ReadonlySet<string> = new Set([
  "invalid_token",
  "audit_unavailable",
  "stops_unknown",
  "approvals_unavailable",
  "policy_changed",
]);

function verdictOf(
  { part: { callId }, wait }: CallState,
  decision: Decision,
  reply: z.output<typeof admitCall.reply>,
): Verdict | { readonly step: CallStep } {
  if (reply.outcome === "waiting") {
    const { approvalId, expiresAt: until } = reply;
    return {
      step: { kind: "tool-parked", callId, wait: { reason: "approval", approvalId, until } },
    };
  }
  const asked = wait?.reason === "approval" ? wait.approvalId : null;
  // A runner that died between the approval's use and the start used it for this very call, whose child has one id.
  const isOwnUse =
    reply.outcome === "refused" && reply.state === "consumed" && reply.approvalId === asked;
  if (reply.outcome === "passed" || isOwnUse) {
    const { approvalId } = reply;
    const grantId = reply.outcome === "passed" ? reply.grantId : null;
    return { decision: asAllowed(decision), passed: { approvalId, grantId } };
  }
  const { rule, policyDigest } = decision;
  const denied: Decision = { effect: "deny", rule, reason: reply.reason, policyDigest };
  return { step: { kind: "tool-denied", callId, decision: denied } };
}

function deniedStep({ part: { callId } }: CallState, decision: Decision): CallStep {
  return { kind: "tool-denied", callId, decision };
}
