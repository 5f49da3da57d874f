import { auditRef, type ChainedRecord } from "@switchyard/contracts/policy/audit-chain";
import type { AccessKind } from "@switchyard/contracts/policy/policy";
import {
  admissionText,
  batchText,
  decisionText,
  leafOf,
  rootOf,
} from "@switchyard/contracts/policy/signed-texts";
import type { ToolRef } from "@switchyard/contracts/tool-names";
import type { SignatureCheck, SignatureFinding } from "./audit-keys.ts";

type ExecutionRecord = Extract<ChainedRecord, { kind: "execution" }>;

/** The part of a record that is compared: there may be millions. */
type Execution = Pick<
  ExecutionRecord,
  "caller" | "argsDigest" | "effect" | "decision" | "approvalId" | "grantId"
> & {
  /** The result of checking the policy's signature of the decision; null without one, or without keys to check it with. */
  readonly signed: SignatureFinding | null;
  /** The signed decision is about any arguments. */
  readonly isKept: boolean;
  /** The same for the signature of a person's approval, and its id. */
  readonly admitted: { readonly finding: SignatureFinding; readonly id: string } | null;
  readonly ref: string;
  readonly principal: string;
  readonly tool: string;
  /** Set for the start of a run: the call that it is for, which starts one run however often it is tried. */
  readonly startOf?: string;
};

interface Decision {
  readonly caller: string;
  readonly principal: string;
  readonly tool: string;
  readonly argsDigest: string;
  readonly effect: "allow" | "deny" | "ask";
  readonly isKept: boolean;
}

/** A call that was made and that the audit does not show to be allowed. */
export interface ExecutionFinding {
  /**
   * `violation`: the audit shows that it was not allowed. `unproven`: the proof is missing, because it was lost with a process or lies
   * outside of the part that was read.
   */
  readonly kind: "violation" | "unproven";
  readonly ref: string;
  readonly tool: string;
  readonly message: string;
}

export interface ExecutionSummary {
  readonly executions: number;
  readonly proven: number;
  /** The executions of these whose decision the policy's own chain lacks, and which the policy's signature proves. */
  readonly bySignature: number;
  /** Records of the policy that calls name and that were lost with a process that was killed. */
  readonly lost: readonly LostRecords[];
  /** Executions without a recorded end: the provider was killed, or the call is still in progress. */
  readonly openEnds: number;
  readonly findings: readonly ExecutionFinding[];
}

/** The rest of them are decisions that no call was made by: denials, refused tokens, steps of approvals. */
export interface LostRecords {
  readonly writer: string;
  readonly from: number;
  /** The last one that a call names; later ones are unknown. */
  readonly to: number;
  /** Records among them by which calls were made. */
  readonly executed: number;
}

/**
 * Finds the decision of each execution: it has to be about the same principal, tool and arguments and to allow it, or to ask and a person's
 * approval has to be used for it.
 */
export interface ExecutionCheck {
  read(record: ChainedRecord): void;
  finish(lastOf: (writer: string) => number | null): ExecutionSummary;
}

/**
 * Decisions and executions may be read in any order: they are compared at the end, and stored until then. `signatures` is null where there
 * are no keys of the policy service.
 */
export function createExecutionCheck(signatures: SignatureCheck | null): ExecutionCheck {
  const decisions = new Map<string, Decision>();
  const kept = new Map<string, Decision>();
  const passes = new Map<string, number>();
  const executions: Execution[] = [];
  let openEnds = 0;
  return {
    read(record) {
      if (record.kind === "decision") decisions.set(auditRef(record), decisionOf(record));
      else if (record.kind === "approval") {
        const key = passKey(record);
        if (key !== null) passes.set(key, (passes.get(key) ?? 0) + 1);
      } else if (record.kind === "execution") {
        const execution = executionOf(record, signatures);
        executions.push(execution);
        const signed = signedDecision(execution);
        if (signed?.isKept === true && record.decision !== null) kept.set(record.decision, signed);
        if (record.outcome === undefined) openEnds += 1;
      } else if (record.kind === "outcome") openEnds -= 1;
    },
    finish(lastOf) {
      const uses = new Map<string, number>();
      const known = { decisions, kept, passes, uses, lastOf };
      const findings = executions.flatMap((execution): ExecutionFinding[] => {
        const found = findingOf(execution, known);
        if (found === null) return [];
        return [{ ...found, ref: execution.ref, tool: toolName(execution.tool) }];
      });
      const bySignature = executions.filter((one) => isBySignature(one, known)).length;
      return {
        executions: executions.length,
        proven: executions.length - findings.length,
        bySignature,
        lost: lostRecords(executions, lastOf),
        openEnds: Math.max(0, openEnds),
        findings,
      };
    },
  };
}

interface Known {
  readonly decisions: ReadonlyMap<string, Decision>;
  /** Decisions for many calls, from the first record of such a call, which has the policy's signature. */
  readonly kept: ReadonlyMap<string, Decision>;
  /** The number of times that people's approvals and grants were used, by their subject. */
  readonly passes: ReadonlyMap<string, number>;
  /** The number of executions so far that used each decision or approval. */
  readonly uses: Map<string, number>;
  /** Number of the last record that was read of a chain. */
  readonly lastOf: (writer: string) => number | null;
}

/** The service whose executions are starts of runs. */
const RUNNER = "runner";

type Finding = Pick<ExecutionFinding, "kind" | "message">;

function findingOf(execution: Execution, known: Known): Finding | null {
  const { decision: ref, effect, signed } = execution;
  if (effect === "deny") return violation("was made although it was denied");
  if (signed === "bad") return violation("has a decision that the policy service did not sign");
  if (signed === "unknown_key") return violation("has a decision that is signed by an unknown key");
  if (ref === null) return unproven("names no record of its decision");
  const decision =
    known.decisions.get(ref) ?? signedDecision(execution) ?? known.kept.get(ref) ?? null;
  if (decision === null) return undecided(ref, known);
  if (!isSameCall(execution, decision))
    return violation(`is another call than the one that ${ref} is about`);
  if (decision.effect === "deny") return violation(`was made, and ${ref} denies it`);
  // A decision that is not kept is valid for one call.
  if (!decision.isKept && use(known, ref) > 1)
    return violation(`uses ${ref} again, which was good for one call`);
  if (decision.effect === "allow") return null;
  return approvalFinding(execution, known);
}

/** With a decision that asks, a person's approval or grant has to be used for the call. */
function approvalFinding(execution: Execution, known: Known): Finding | null {
  const key = executionPassKey(execution);
  if (key === null) return violation("was made without an approval");
  const { admitted } = execution;
  if (admitted?.finding === "bad" || admitted?.finding === "unknown_key")
    return violation("has an approval that the policy service did not sign");
  if (usesOf(execution, key, known) <= (known.passes.get(key) ?? 0)) return null;
  if (admitted !== null && use(known, `admitted ${admitted.id}`) === 1) return null;
  return unproven("uses an approval of which there is no record");
}

/** A decision whose record was lost, as the policy service has signed it for the provider. */
function signedDecision(execution: Execution): Decision | null {
  if (execution.signed !== "good") return null;
  const { caller, principal, tool, argsDigest, effect, isKept } = execution;
  return { caller, principal, tool, argsDigest, effect, isKept };
}

function isBySignature(
  { decision: ref, signed }: Execution,
  { decisions, kept }: Pick<Known, "decisions" | "kept">,
): boolean {
  return ref !== null && !decisions.has(ref) && (signed === "good" || kept.has(ref));
}

/** The numbers of the policy's records that calls name and that its chains do not have. */
function lostRecords(
  executions: readonly Execution[],
  lastOf: Known["lastOf"],
): readonly LostRecords[] {
  const named = new Map<string, Set<number>>();
  for (const { decision } of executions) {
    const [writer = "", text = ""] = decision?.split(":") ?? [];
    const last = lastOf(writer);
    const seq = Number(text);
    if (last === null || seq <= last) continue;
    named.set(writer, (named.get(writer) ?? new Set()).add(seq));
  }
  return [...named].map(([writer, seqs]) => ({
    writer,
    from: (lastOf(writer) ?? 0) + 1,
    to: Math.max(...seqs),
    executed: seqs.size,
  }));
}

/** A start that is retried by the runner that took the run over uses the approval for the same one run. */
function usesOf({ startOf }: Execution, key: string, known: Known): number {
  const isRepeated = startOf !== undefined && use(known, `${key} ${startOf}`) > 1;
  return isRepeated ? (known.uses.get(key) ?? 0) : use(known, key);
}

function undecided(ref: string, { lastOf }: Known): Finding {
  const [writer = "", seq = "0"] = ref.split(":");
  const last = lastOf(writer);
  const isLost = last === null || Number(seq) > last;
  if (isLost) return unproven(`names ${ref}, which is not stored`);
  return violation(`names ${ref}, which is not a decision`);
}

function isSameCall(execution: Execution, decision: Decision): boolean {
  return (
    execution.caller === decision.caller &&
    execution.principal === decision.principal &&
    execution.tool === decision.tool &&
    // A decision that may be kept holds for any arguments.
    (decision.isKept || execution.argsDigest === decision.argsDigest)
  );
}

function decisionOf(record: Extract<ChainedRecord, { kind: "decision" }>): Decision {
  const { caller, argsDigest, access, tool } = record;
  return {
    caller,
    principal: principalText(record),
    tool: toolText(tool, access),
    argsDigest,
    effect: record.decision.effect,
    isKept: record.keptForMs !== undefined,
  };
}

function executionOf(record: ExecutionRecord, signatures: SignatureCheck | null): Execution {
  const { caller, tool, argsDigest, effect, decision, approvalId, grantId, callId } = record;
  const isStart = record.service === RUNNER && callId !== undefined;
  return {
    caller,
    argsDigest,
    effect,
    decision,
    ...(approvalId === undefined ? {} : { approvalId }),
    ...(grantId === undefined ? {} : { grantId }),
    ...(isStart ? { startOf: callId } : {}),
    ref: auditRef(record),
    principal: principalText(record),
    tool: toolText(tool, record.access ?? "tool"),
    signed: decisionFinding(record, signatures),
    isKept: record.signed?.keptForMs !== undefined,
    admitted: admissionFinding(record, signatures),
  };
}

/** The result of checking the policy service's signature of the decision from which the record is made. */
function decisionFinding(
  record: ExecutionRecord,
  signatures: SignatureCheck | null,
): SignatureFinding | null {
  const { signed, decision, service, caller, principal, tool, pin, argsDigest } = record;
  if (signed === undefined || decision === null || signatures === null) return null;
  const { at, keptForMs = null, path } = signed;
  const { effect, rule, policyDigest, access = "tool" } = record;
  const text = decisionText({
    record: decision,
    at,
    provider: service,
    caller,
    principal,
    access,
    tool,
    pin: pin ?? null,
    argsDigest: keptForMs === null ? argsDigest : null,
    effect,
    rule,
    policyDigest,
    keptForMs,
  });
  return signatures.check(batchText(rootOf(leafOf(text), path)), signed);
}

function admissionFinding(
  record: ExecutionRecord,
  signatures: SignatureCheck | null,
): Execution["admitted"] {
  const { admitted, service, caller, argsDigest, policyDigest } = record;
  if (admitted === undefined || signatures === null) return null;
  const { at, path } = admitted;
  const { approvalId = null, grantId = null } = record;
  const ids = { approvalId, grantId, argsDigest, policyDigest };
  const leaf = leafOf(admissionText({ at, provider: service, caller, ...ids }));
  return { finding: signatures.check(batchText(rootOf(leaf, path)), admitted), id: leaf };
}

function principalText({ principal }: Extract<ChainedRecord, { kind: "decision" | "execution" }>) {
  return `${principal.user} ${principal.agent} ${principal.runId}`;
}

/** Neither the name, nor the server, nor the kind has a space. */
function toolText({ name, server, tool }: ToolRef, access: AccessKind): string {
  return `${name} ${access} ${server ?? ""} ${tool}`;
}

function toolName(text: string): string {
  return text.split(" ", 1)[0] ?? text;
}

function use({ uses }: Known, key: string): number {
  const count = (uses.get(key) ?? 0) + 1;
  uses.set(key, count);
  return count;
}

function passKey(record: Extract<ChainedRecord, { kind: "approval" }>): string | null {
  const { change, approvalId, grantId, argsDigest } = record;
  if (change === "consumed") return `${approvalId} ${argsDigest}`;
  return change === "grant_used" ? `${grantId} ${argsDigest}` : null;
}

function executionPassKey({ approvalId, grantId, argsDigest }: Execution): string | null {
  const by = grantId ?? approvalId;
  return by === undefined ? null : `${by} ${argsDigest}`;
}

function violation(message: string): Finding {
  return { kind: "violation", message };
}

function unproven(message: string): Finding {
  return { kind: "unproven", message };
}
