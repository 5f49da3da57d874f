import type { AuditFact } from "@switchyard/contracts/policy/audit";
import type { DecisionSignature } from "@switchyard/contracts/policy/audit-signatures";
import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import { failuresOf, ServiceError } from "@switchyard/contracts/errors";
import { callTool } from "@switchyard/contracts/mcp-broker/mcp";
import type { FindingCounts } from "@switchyard/contracts/policy/findings";
import type { AccessKind, Decision, Principal } from "@switchyard/contracts/policy/policy";
import type { ToolRef } from "@switchyard/contracts/tool-names";
import { NotSentError } from "./call-once.ts";
import type { CallOutcome } from "./call-store.ts";
import { auditedId, readLater } from "@switchyard/audit/audited-arguments";
import { AuditUnavailableError } from "@switchyard/audit/audit-writer";
import type { Audit } from "@switchyard/audit/start-audit";

/** A call that is about to be made, and by which decision. */
export interface ExecutedCall {
  /** The NATS user that requested it from the provider. */
  readonly caller: string;
  readonly principal: Principal;
  readonly ref: ToolRef;
  readonly pin: string | undefined;
  readonly callId: string | undefined;
  readonly args: Readonly<Record<string, unknown>>;
  readonly decision: Decision;
  /** The policy's record of the decision. */
  readonly decisionRef: string | undefined;
  /** The policy's signature of the decision: with it the provider's chain proves the call without another record. */
  readonly signed?: DecisionSignature | undefined;
  /** The person's approval or grant that let it pass, where the policy asked. */
  readonly passed: {
    readonly approvalId: string | null;
    readonly grantId: string | null;
    readonly signed?: DecisionSignature | undefined;
  } | null;
  readonly correlationId: string;
}

/** A request for something that is not a tool: a resource, a prompt, the server's log. */
export interface ExecutedRequest extends Omit<ExecutedCall, "pin" | "callId" | "passed"> {
  readonly access: Exclude<AccessKind, "tool">;
  /** The MCP request. */
  readonly method: string;
}

/**
 * Records each call that a tool provider makes: the caller, the tool, the decision, how it ended. The record is begun before the call. When
 * it cannot be, the call is not made: NotSentError with `policy_unavailable`.
 */
export interface ExecutionAudit {
  begin(call: ExecutedCall): Promise<ExecutionRecord>;
  /** The same for a request for something that is not a tool. */
  beginRequest(request: ExecutedRequest): Promise<ExecutionRecord>;
  /**
   * The same for the start of a run, which has happened when `work` resolves, and whose outcome is unknown when it rejects. It always waits
   * until the record is stored, whatever the setting: a started run continues when this process is killed, and would then lack its record.
   */
  duringStart<T>(call: ExecutedCall, work: () => Promise<T>): Promise<T>;
}

/** A record that is begun. Exactly one of the two ends it. */
export interface ExecutionRecord {
  /** `outcome` in the words of the audit; see `toldOutcome`. */
  ended(outcome: string, findings?: FindingCounts): void;
  failed(error: unknown): void;
}

type Execution = Extract<AuditFact, { kind: "execution" }>;

const fail = failuresOf(callTool.errors);

const NOT_RECORDED: ExecutionRecord = { ended: () => undefined, failed: () => undefined };

/** With null, nothing is recorded. */
export function createExecutionAudit(audit: Audit | null): ExecutionAudit {
  if (audit === null)
    return {
      begin: async () => NOT_RECORDED,
      beginRequest: async () => NOT_RECORDED,
      duringStart: (_call, work) => work(),
    };
  const stored = { ...audit, isStrict: true };
  const once = keptSignaturesOnce();
  return {
    begin: (call) => beginRecord(audit, call, () => executionLater(once(call))),
    beginRequest: (request) => beginRecord(audit, request, () => requestLater(once(request))),
    async duringStart(call, work) {
      const record = await beginRecord(stored, call, () => executionLater(once(call)));
      try {
        const result = await work();
        record.ended("started");
        return result;
      } catch (error) {
        record.ended(error instanceof NotSentError ? "not_sent" : "unknown");
        throw error;
      }
    },
  };
}

/** Kept decisions whose signature the chain of this process has. */
const RECENT = 1_000;

/**
 * A kept decision lets many calls pass. The first record of them has its signature, the others name the decision: the chain has no record
 * without those before it.
 */
function keptSignaturesOnce(): <T extends Pick<ExecutedCall, "decisionRef" | "signed">>(
  call: T,
) => T {
  const recorded = new Set<string>();
  return (call) => {
    const { decisionRef, signed } = call;
    if (signed?.keptForMs === undefined || decisionRef === undefined) return call;
    if (recorded.has(decisionRef)) return { ...call, signed: undefined };
    if (recorded.size >= RECENT) recorded.clear();
    recorded.add(decisionRef);
    return call;
  };
}

async function beginRecord(
  { writer, isStrict }: Audit,
  { principal }: Pick<ExecutedCall, "principal">,
  begin: () => () => Execution,
): Promise<ExecutionRecord> {
  orNotSent(() => writer.admit(principal.user));
  const execution = begin();
  let end: { outcome: string; durationMs: number; findings?: FindingCounts } | null = null;
  const entry = writer.append(() => ({ ...execution(), ...end }));
  const startedAt = performance.now();
  const ended = (outcome: string, findings?: FindingCounts): void => {
    const durationMs = Math.round((performance.now() - startedAt) * 100) / 100;
    const known = { outcome, durationMs, ...(findings && { findings }) };
    end = known;
    if (entry.isSealed) writer.append(() => ({ kind: "outcome", of: entry.seq, ...known }));
  };
  if (isStrict)
    try {
      await writer.stored(entry);
    } catch (error) {
      ended("not_sent");
      notSent(error);
    }
  return { ended, failed: (error) => ended(failureOf(error)) };
}

/** Built from the call when the record is made: until then it costs the call nothing. */
function executionLater(call: ExecutedCall): () => Execution {
  const { pin, callId, passed, args } = call;
  const digest = readLater(args, canonicalDigest);
  return () => ({
    ...commonOf(call, digest()),
    ...(pin === undefined ? {} : { pin }),
    ...(callId === undefined ? {} : { callId }),
    ...(typeof passed?.approvalId === "string" ? { approvalId: passed.approvalId } : {}),
    ...(typeof passed?.grantId === "string" ? { grantId: passed.grantId } : {}),
    ...(passed?.signed === undefined ? {} : { admitted: passed.signed }),
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
  const { caller, principal, ref, decision, decisionRef, signed, correlationId } = made;
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
    ...(signed === undefined ? {} : { signed }),
    correlationId: auditedId(correlationId),
  };
}

/** The audit's word for the end of a call. */
export function outcomeName(outcome: CallOutcome): string {
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
