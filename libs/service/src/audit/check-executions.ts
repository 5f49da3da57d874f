import { auditRef, type ChainedRecord } from "@switchyard/contracts/audit-chain";
import type { AccessKind } from "@switchyard/contracts/policy";
import type { ToolRef } from "@switchyard/contracts/tool-names";

/** Of a record only what is compared: there may be millions. */
type Execution = Pick<
  Extract<ChainedRecord, { kind: "execution" }>,
  "caller" | "argsDigest" | "effect" | "decision" | "approvalId" | "grantId"
> & {
  readonly ref: string;
  readonly principal: string;
  readonly tool: string;
  /** Of the start of a run: the call that it is for, which starts one run however often it is tried. */
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
  /** `violation`: the audit says that it was not allowed. `unproven`: what would say so is not there, because it was lost with a process or lies outside of what was read. */
  readonly kind: "violation" | "unproven";
  readonly ref: string;
  readonly tool: string;
  readonly message: string;
}

export interface ExecutionSummary {
  readonly executions: number;
  readonly proven: number;
  /** Executions whose end is not told: the provider was killed, or the call is still in work. */
  readonly openEnds: number;
  readonly findings: readonly ExecutionFinding[];
}

/**
 * Looks for the decision of each execution: it has to be about the same principal, tool and
 * arguments and to allow it, or to ask and a person's approval has to be used for it.
 */
export interface ExecutionCheck {
  read(record: ChainedRecord): void;
  finish(lastOf: (writer: string) => number | null): ExecutionSummary;
}

/** Decisions and executions may be read in any order: they are compared at the end, and kept until then. */
export function createExecutionCheck(): ExecutionCheck {
  const decisions = new Map<string, Decision>();
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
        executions.push(executionOf(record));
        if (record.outcome === undefined) openEnds += 1;
      } else if (record.kind === "outcome") openEnds -= 1;
    },
    finish(lastOf) {
      const uses = new Map<string, number>();
      const findings = executions.flatMap((execution): ExecutionFinding[] => {
        const found = findingOf(execution, { decisions, passes, uses, lastOf });
        if (found === null) return [];
        return [{ ...found, ref: execution.ref, tool: toolName(execution.tool) }];
      });
      const proven = executions.length - findings.length;
      return { executions: executions.length, proven, openEnds: Math.max(0, openEnds), findings };
    },
  };
}

interface Known {
  readonly decisions: ReadonlyMap<string, Decision>;
  /** How often people's approvals and grants were used, by what they are about. */
  readonly passes: ReadonlyMap<string, number>;
  /** How often each decision or approval was used by an execution until now. */
  readonly uses: Map<string, number>;
  /** Number of the last record that was read of a chain. */
  readonly lastOf: (writer: string) => number | null;
}

/** The service whose executions are starts of runs. */
const RUNNER = "runner";

type Finding = Pick<ExecutionFinding, "kind" | "message">;

function findingOf(execution: Execution, known: Known): Finding | null {
  const { decision: ref, effect } = execution;
  if (effect === "deny") return violation("was made although it was denied");
  if (ref === null) return unproven("names no record of its decision");
  const decision = known.decisions.get(ref);
  if (decision === undefined) return undecided(ref, known);
  if (!isSameCall(execution, decision))
    return violation(`is another call than the one that ${ref} is about`);
  if (decision.effect === "deny") return violation(`was made, and ${ref} denies it`);
  // One that is not kept is good for one call.
  if (!decision.isKept && use(known, ref) > 1)
    return violation(`uses ${ref} again, which was good for one call`);
  if (decision.effect === "allow") return null;
  const key = executionPassKey(execution);
  if (key === null) return violation("was made without an approval");
  const isPassed = usesOf(execution, key, known) <= (known.passes.get(key) ?? 0);
  return isPassed ? null : unproven("uses an approval of which there is no record");
}

/** A start that is tried again by the runner that took the run over uses the approval for the same one run. */
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

function executionOf(record: Extract<ChainedRecord, { kind: "execution" }>): Execution {
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
  };
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
