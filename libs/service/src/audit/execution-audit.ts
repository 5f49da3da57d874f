import type { AuditFact } from "@switchyard/contracts/audit";
import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import { failuresOf, ServiceError } from "@switchyard/contracts/errors";
import { callTool } from "@switchyard/contracts/mcp";
import type { AccessKind, Decision, Principal } from "@switchyard/contracts/policy";
import type { ToolRef } from "@switchyard/contracts/tool-names";
import { NotSentError } from "../tool-provider/call-once.ts";
import type { CallOutcome } from "../tool-provider/call-store.ts";
import { auditedId, readLater } from "./audited-arguments.ts";
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

/** A request for something that is no tool: a resource, a prompt, the server's log. */
export interface ExecutedRequest extends Omit<ExecutedCall, "pin" | "callId" | "passed"> {
  readonly access: Exclude<AccessKind, "tool">;
  /** The MCP request. */
  readonly method: string;
}

/**
 * Records each call that a tool provider makes: who, what, by which decision, how it ended. The
 * record is begun before the call. When it cannot be, the call is not made: NotSentError with
 * `policy_unavailable`.
 */
export interface ExecutionAudit {
  during(call: ExecutedCall, work: () => Promise<CallOutcome>): Promise<CallOutcome>;
  /** The same for a request; it has ended well when `work` resolves. */
  duringRequest<T>(request: ExecutedRequest, work: () => Promise<T>): Promise<T>;
  /**
   * The same for the start of a run, which has happened when `work` resolves, and of which nobody here knows when
   * it rejects. It always waits until the record is stored, whatever the setting: what is started goes on when this
   * process is killed, and would then be without its record.
   */
  duringStart<T>(call: ExecutedCall, work: () => Promise<T>): Promise<T>;
}

type Execution = Extract<AuditFact, { kind: "execution" }>;

const fail = failuresOf(callTool.errors);

/** Null records nothing. */
export function createExecutionAudit(audit: Audit | null): ExecutionAudit {
  if (audit === null)
    return {
      during: (_call, work) => work(),
      duringRequest: (_request, work) => work(),
      duringStart: (_call, work) => work(),
    };
  const stored = { ...audit, isStrict: true };
  return {
    during: (call, work) =>
      recorded(audit, () => executionLater(call), { user: userOf(call), work, outcomeOf }),
    duringRequest: (request, work) =>
      recorded(audit, () => requestLater(request), {
        user: userOf(request),
        work,
        outcomeOf: () => "result",
      }),
    duringStart: (call, work) =>
      recorded(stored, () => executionLater(call), {
        user: userOf(call),
        work,
        outcomeOf: () => "started",
        failureOf: (error) => (error instanceof NotSentError ? "not_sent" : "unknown"),
      }),
  };
}

function userOf({ principal }: Pick<ExecutedCall, "principal">): string {
  return principal.user;
}

/** What is recorded, and how its end is told. */
interface Recorded<T> {
  /** Whose audit records it counts among. */
  readonly user: string;
  readonly work: () => Promise<T>;
  readonly outcomeOf: (result: T) => string;
  readonly failureOf?: (error: unknown) => string;
}

async function recorded<T>(
  { writer, isStrict }: Audit,
  begin: () => () => Execution,
  { user, work, outcomeOf: told, failureOf: toldFailure = failureOf }: Recorded<T>,
): Promise<T> {
  orNotSent(() => writer.admit(user));
  const execution = begin();
  let end: { outcome: string; durationMs: number } | null = null;
  const entry = writer.append(() => ({ ...execution(), ...end }));
  const startedAt = performance.now();
  let outcome = "fault";
  try {
    if (isStrict) await writer.stored(entry).catch(notSent);
    const result = await work();
    outcome = told(result);
    return result;
  } catch (error) {
    outcome = toldFailure(error);
    throw error;
  } finally {
    const durationMs = Math.round((performance.now() - startedAt) * 100) / 100;
    const ended = { outcome, durationMs };
    end = ended;
    if (entry.isSealed) writer.append(() => ({ kind: "outcome", of: entry.seq, ...ended }));
  }
}

/** Made of the call when the record is: until then it costs the call nothing. */
function executionLater(call: ExecutedCall): () => Execution {
  const { pin, callId, passed, args } = call;
  const digest = readLater(args, canonicalDigest);
  return () => ({
    ...commonOf(call, digest()),
    ...(pin === undefined ? {} : { pin }),
    ...(callId === undefined ? {} : { callId }),
    ...(typeof passed?.approvalId === "string" ? { approvalId: passed.approvalId } : {}),
    ...(typeof passed?.grantId === "string" ? { grantId: passed.grantId } : {}),
  });
}

function requestLater(request: ExecutedRequest): () => Execution {
  const { access, method, args } = request;
  const digest = readLater(args, canonicalDigest);
  return () => ({ ...commonOf(request, digest()), access, method });
}

function commonOf(
  made: Omit<ExecutedCall, "pin" | "callId" | "passed" | "args">,
  argsDigest: string,
): Execution {
  const { caller, principal, ref, decision, decisionRef, correlationId } = made;
  const { effect, rule, policyDigest } = decision;
  return {
    kind: "execution",
    caller,
    principal,
    tool: ref,
    argsDigest,
    effect,
    rule,
    policyDigest,
    decision: decisionRef ?? null,
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
