import type { AuditFact } from "@switchyard/contracts/audit";
import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import { failuresOf, ServiceError } from "@switchyard/contracts/errors";
import { callTool } from "@switchyard/contracts/mcp";
import type { Decision, Principal } from "@switchyard/contracts/policy";
import type { ToolRef } from "@switchyard/contracts/tool-names";
import { NotSentError } from "../tool-provider/call-once.ts";
import type { CallOutcome } from "../tool-provider/call-store.ts";
import { auditedId } from "./audited-arguments.ts";
import { AuditUnavailableError } from "./audit-writer.ts";
import type { Audit } from "./start-audit.ts";

/** A call that is about to be made, and by which decision. */
export interface ExecutedCall {
  /** The NATS user that asked the provider for it. */
  readonly caller: string;
  readonly principal: Principal;
  readonly ref: ToolRef;
  readonly pin: string | undefined;
  readonly callId: string | undefined;
  readonly args: Readonly<Record<string, unknown>>;
  readonly decision: Decision;
  /** The policy's record of the decision. */
  readonly decisionRef: string | undefined;
  /** By what a person let it pass, where the policy asked. */
  readonly passed: { readonly approvalId: string | null; readonly grantId: string | null } | null;
  readonly correlationId: string;
}

/**
 * Records each call that a tool provider makes: who, what, by which decision, how it ended. The
 * record is begun before the call. When it cannot be, the call is not made: NotSentError with
 * `policy_unavailable`.
 */
export interface ExecutionAudit {
  during(call: ExecutedCall, work: () => Promise<CallOutcome>): Promise<CallOutcome>;
}

type Execution = Extract<AuditFact, { kind: "execution" }>;

const fail = failuresOf(callTool.errors);

/** Null records nothing. */
export function createExecutionAudit(audit: Audit | null): ExecutionAudit {
  if (audit === null) return { during: (_call, work) => work() };
  const { writer, isStrict } = audit;
  return {
    async during(call, work) {
      orNotSent(() => writer.admit());
      const execution = executionOf(call);
      let end: { outcome: string; durationMs: number } | null = null;
      const entry = writer.append(() => (end === null ? execution : { ...execution, ...end }));
      const startedAt = performance.now();
      let outcome = "fault";
      try {
        if (isStrict) await writer.stored(entry).catch(notSent);
        const result = await work();
        outcome = outcomeOf(result);
        return result;
      } catch (error) {
        outcome = failureOf(error);
        throw error;
      } finally {
        const durationMs = Math.round((performance.now() - startedAt) * 100) / 100;
        end = { outcome, durationMs };
        const told = end;
        if (entry.isSealed) writer.append(() => ({ kind: "outcome", of: entry.seq, ...told }));
      }
    },
  };
}

function executionOf(call: ExecutedCall): Execution {
  const { caller, principal, ref, pin, callId, args, decision, passed, correlationId } = call;
  const { effect, rule, policyDigest } = decision;
  return {
    kind: "execution",
    caller,
    principal,
    tool: ref,
    ...(pin === undefined ? {} : { pin }),
    ...(callId === undefined ? {} : { callId }),
    argsDigest: canonicalDigest(args),
    effect,
    rule,
    policyDigest,
    decision: call.decisionRef ?? null,
    ...(typeof passed?.approvalId === "string" ? { approvalId: passed.approvalId } : {}),
    ...(typeof passed?.grantId === "string" ? { grantId: passed.grantId } : {}),
    correlationId: auditedId(correlationId),
  };
}

function outcomeOf(outcome: CallOutcome): string {
  if (outcome.kind !== "result") return outcome.kind;
  return outcome.result.isError ? "tool_error" : "result";
}

function failureOf(error: unknown): string {
  if (error instanceof NotSentError) return "not_sent";
  return error instanceof ServiceError ? error.code : "fault";
}

function orNotSent(ask: () => void): void {
  try {
    ask();
  } catch (error) {
    notSent(error);
  }
}

function notSent(error: unknown): never {
  if (!(error instanceof AuditUnavailableError)) throw error;
  throw new NotSentError(
    fail.policy_unavailable(
      `The call cannot be recorded now, so it was not made: ${error.message}; try again when NATS stores the audit.`,
      { cause: "audit_unavailable" },
    ),
  );
}
