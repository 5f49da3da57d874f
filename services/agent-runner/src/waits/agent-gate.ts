import { randomUUID } from "node:crypto";
import { client } from "@switchyard/bus/call";
import { admitCall, settleCall } from "@switchyard/contracts/policy/approval-admission";
import { bindingDigest } from "@switchyard/contracts/policy/approval-record";
import { isError, ServiceError } from "@switchyard/contracts/errors";
import { checkPolicy, type Decision } from "@switchyard/contracts/policy/policy";
import { releaseCall } from "@switchyard/contracts/policy/policy-budgets";
import { builtinToolRef } from "@switchyard/contracts/tool-names";
import { asAllowed } from "@switchyard/tool-provider/approval-gate";
import { NotSentError } from "@switchyard/tool-provider/call-once";
import { z } from "zod";
import type { ExecutedCall, ExecutionAudit } from "@switchyard/tool-provider/execution-audit";
import { AgentName, ModelName } from "@switchyard/contracts/ids";
import type { CallState } from "../core/run-state.ts";
import { isOutage } from "../context/service-clients.ts";
import { stopOfRun, RunStopped, Suspended } from "../core/interruption.ts";
import type { RunContext } from "../context/run-context.ts";
import type { ActiveRun } from "../journal/active-run.ts";
import { failed, type CallStep } from "../core/call-outcome.ts";
import type { OfferedTool } from "../core/tool-catalogue.ts";

/** Delegates work to a run of its own, of the same agent or another one. */
export const agentTool: OfferedTool = {
  name: "agent",
  description:
    "Gives a task to another agent, which works on it by itself with a fresh context and no more tools " +
    "than you have. You get its answer as the result; with wait false you continue, and its answer comes as a message.",
  inputSchema: {
    type: "object",
    properties: {
      agent: { type: "string", description: "Name of the agent; your own when left out" },
      task: { type: "string", description: "What to do, with everything that it needs to know" },
      wait: { type: "boolean", description: "Whether to wait for the answer; true when left out" },
      model: { type: "string", description: "As provider/model, in place of the agent's own" },
    },
    required: ["task"],
    additionalProperties: false,
  },
};

export const AgentToolInput = z.strictObject({
  agent: AgentName.optional(),
  task: z.string().min(1).max(65_536),
  wait: z.boolean().default(true),
  model: ModelName.optional(),
});

type GateContext = Pick<RunContext, "bus" | "tokens" | "executions" | "signal"> & {
  readonly run: Pick<ActiveRun, "hold">;
};

/**
 * Checks the policy for a call of the tool `agent`, as every tool provider does for its calls, and starts the child with the
 * decision that allows it; else returns the outcome of the call: denied, or parked until a person has decided. Rejects with
 * Suspended when the policy is unavailable, or when the start cannot be recorded.
 */
export async function passAgentGate(
  call: CallState,
  args: Record<string, unknown>,
  {
    start,
    context,
  }: {
    readonly start: (allowed: AllowedStart) => Promise<CallStep>;
    readonly context: GateContext;
  },
): Promise<CallStep> {
  const { bus, tokens, executions, signal } = context;
  const { runId } = context.run.hold;
  const { callId } = call.part;
  const policy = client(bus, { checkPolicy, admitCall, settleCall, releaseCall });
  const limits = { correlationId: runId, signal };
  const tool = builtinToolRef(agentTool.name);
  const onBehalfOf = bus.user;
  const token = await tokens.get();
  let reserved: string | undefined;
  let isMade = false;
  try {
    const checked = await policy.checkPolicy({ onBehalfOf, token, tool, args }, limits);
    const { decision, principal, reservation } = checked;
    reserved = reservation;
    if (decision.effect === "deny") return deniedStep(callId, decision);
    const made = { caller: onBehalfOf, runId, callId, args, checked };
    const begin = async (by: Verdict) => {
      isMade = true;
      const step = await start(allowedStart(made, by, executions));
      if (step.kind === "tool-failed") isMade = false;
      return step;
    };
    if (decision.effect === "allow") return await begin({ decision, passed: null });
    const about = { caller: onBehalfOf, tool, pin: undefined, args, decision };
    const binding = bindingDigest({ principal, ...about });
    const attempt = randomUUID();
    const question = { onBehalfOf, token, tool, args, callId, decision, binding, attempt };
    const reply = await policy.admitCall(question, limits);
    const verdict = verdictOf(call, decision, reply);
    if ("step" in verdict) return verdict.step;
    if (reply.outcome !== "passed" || reply.approvalId === null) return await begin(verdict);
    const { approvalId } = reply;
    return await settling(
      () => begin(verdict),
      // Without this the record of the approval would state an unknown outcome, although the journal has the outcome.
      async (outcome) => {
        const end = { approvalId, attempt, outcome };
        await policy.settleCall(end, { correlationId: runId }).catch(() => undefined);
      },
    );
  } catch (error) {
    if (error instanceof NotSentError) isMade = false;
    signal.throwIfAborted();
    if (error instanceof NotSentError)
      throw new Suspended("the start of a child cannot be recorded now", { cause: error });
    if (isError(error, checkPolicy, "invalid_token")) tokens.refuse(token);
    if (!(error instanceof ServiceError)) throw error;
    if (isOutage(error) || PASSING.has(error.code))
      throw new Suspended("the policy cannot decide now", { cause: error });
    return failed(callId, error);
  } finally {
    // A slot in a limit of concurrent calls is needed only for the call itself, which starts a run; if the release fails, the slot
    // expires.
    if (reserved !== undefined) {
      const release = { reservation: reserved, ...(isMade ? {} : { isMade }) };
      policy.releaseCall(release, { correlationId: runId }).catch(() => undefined);
    }
  }
}

/** Reports for an approval that was used whether the call was made. */
async function settling(
  make: () => Promise<CallStep>,
  settle: (outcome: "executed" | "not_sent") => Promise<void>,
): Promise<CallStep> {
  try {
    const step = await make();
    await settle(step.kind === "tool-failed" ? "not_sent" : "executed");
    return step;
  } catch (error) {
    if (error instanceof NotSentError) await settle("not_sent");
    throw error;
  }
}

/** Errors besides outages that a later attempt, with a new token or after a pause, may not get. */
const PASSING: ReadonlySet<string> = new Set([
  "invalid_token",
  "audit_unavailable",
  "stops_unknown",
  "approvals_unavailable",
  "policy_changed",
]);

/** Throws RunStopped when an administrator stopped the run, because a stop does not decide about the call. */
function deniedStep(callId: string, decision: Decision): CallStep {
  const stop = stopOfRun(decision);
  if (stop !== null) throw new RunStopped(stop);
  return { kind: "tool-denied", callId, decision };
}

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
  const question = wait?.reason === "approval" ? wait.approvalId : null;
  // A runner that died between the approval's use and the start used it for the same call, whose child has one id.
  const isOwnUse =
    reply.outcome === "refused" && reply.state === "consumed" && reply.approvalId === question;
  if (reply.outcome === "passed" || isOwnUse) {
    const { approvalId } = reply;
    const [grantId, signed] =
      reply.outcome === "passed" ? [reply.grantId, reply.signed] : [null, undefined];
    return { decision: asAllowed(decision), passed: { approvalId, grantId, signed } };
  }
  const { rule, policyDigest } = decision;
  const stopped = reply.outcome === "refused" && reply.stop !== undefined && { stop: reply.stop };
  const { reason } = reply;
  return { step: deniedStep(callId, { effect: "deny", rule, reason, policyDigest, ...stopped }) };
}

/** A child that may be started. */
export interface AllowedStart {
  /** The decision that allows it: made by the policy, or by a person whom the policy required. */
  readonly decision: Decision;
  /**
   * Makes the start, with its record in the audit stored before; resolves when it is made. Rejects with
   * NotSentError when it cannot be recorded now, and then nothing is started.
   */
  readonly recorded: (start: () => Promise<void>) => Promise<void>;
}

/** The decision that allows a start, and the approval by a person when the policy required one. */
interface Verdict {
  readonly decision: Decision;
  readonly passed: ExecutedCall["passed"];
}

/** A call of `agent` as the audit records it: the same call that the policy checked. */
interface StartToRecord {
  readonly caller: string;
  readonly runId: string;
  readonly callId: string;
  readonly args: Record<string, unknown>;
  readonly checked: z.output<typeof checkPolicy.reply>;
}

function allowedStart(
  { caller, runId, callId, args, checked }: StartToRecord,
  { decision, passed }: Verdict,
  executions: Pick<ExecutionAudit, "duringStart">,
): AllowedStart {
  const executed: ExecutedCall = {
    caller,
    principal: checked.principal,
    ref: builtinToolRef(agentTool.name),
    pin: undefined,
    callId,
    args,
    decision: checked.decision,
    decisionRef: checked.audit,
    signed: checked.signed,
    passed,
    correlationId: runId,
  };
  return { decision, recorded: (start) => executions.duringStart(executed, start) };
}
