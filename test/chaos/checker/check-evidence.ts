import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import { checkChildren } from "./check-children.ts";
import { checkDeliveries } from "./check-deliveries.ts";
import { checkOutcomes } from "./check-outcomes.ts";
import { checkSessions } from "./check-sessions.ts";
import type {
  AskedCall,
  Effect,
  Evidence,
  JournalFact,
  Rule,
  RunEvidence,
  Violation,
} from "./evidence.ts";

/**
 * Checks a round's evidence against the promises of Switchyard. It reads journals, events, the book of effects and approvals by
 * itself and shares no code with the services.
 */
export function checkEvidence(evidence: Evidence): Violation[] {
  const known = new Set(evidence.runs.map(({ runId }) => runId));
  return [
    ...evidence.accepted
      .filter((runId) => !known.has(runId))
      .map((runId) => broken("run-lost", runId, "its command was accepted and no runner knows it")),
    ...evidence.runs.flatMap((run) => [
      ...checkEnd(run),
      ...checkResults(run),
      ...checkEvents(run),
      ...checkChildren(run, evidence),
    ]),
    ...checkOutcomes(evidence),
    ...checkSessions(evidence),
    ...checkDeliveries(evidence),
    ...checkEffects(evidence),
    ...evidence.queued.map((subject) => broken("left-queued", subject, "it is still in the queue")),
    ...evidence.leftOver.map(({ pid, name }) =>
      broken("left-running", name, `process ${pid} still runs`),
    ),
    ...evidence.refusals.map((what) => broken("refused", what, "it asked for what it may not")),
    ...evidence.crashes.map((what) => broken("crashed", what, "it ended by itself")),
  ];
}

const STATUS_OF_END = new Map([
  ["finished", "succeeded"],
  ["failed", "failed"],
  ["cancelled", "cancelled"],
  ["dead", "dead"],
]);
/** Decisions of the project's rules, independent of the policy's records. */
const NEEDS_A_PERSON = "mcp__marking__danger";
const FORBIDDEN = "mcp__marking__forbidden";
/** Codes of a failed call that leave open whether it was made. */
const ADMITS_EXECUTION: ReadonlySet<string> = new Set([
  "cancelled",
  "outcome_unknown",
  "timeout",
  "tool_failed",
  "tool_timeout",
]);
const RESULTS = new Set(["tool-completed", "tool-denied", "tool-failed"]);

/** Exactly one terminal state, the same in journal, state and events. */
function checkEnd({ runId, status, journal, events }: RunEvidence): Violation[] {
  const found: Violation[] = [];
  const ends = journal.filter(({ kind }) => STATUS_OF_END.has(kind));
  const [end] = ends;
  if (end === undefined || ends.length > 1) {
    const kinds = ends.map(({ kind }) => kind).join(", ");
    found.push(
      broken("one-end", runId, `its journal has ${ends.length} ends (${kinds}); ${status}`),
    );
  }
  if (end !== undefined && journal.at(-1) !== end)
    found.push(broken("one-end", runId, `its journal continues after ${end.kind}`));
  if (end !== undefined && STATUS_OF_END.get(end.kind) !== status)
    found.push(broken("one-end", runId, `its journal says ${end.kind}, its state ${status}`));
  const reported = events.filter(({ name }) => STATUS_OF_END.has(name));
  if (reported.length !== 1 || reported[0]?.name !== end?.kind) {
    const names = reported.map(({ name }) => name).join(", ");
    found.push(broken("one-end", runId, `its events tell ${names || "no end"}, not ${end?.kind}`));
  }
  return found;
}

/** A step is answered once and a call has one result; where a run ended in order, each call has one. */
function checkResults({ runId, journal }: RunEvidence): Violation[] {
  const found: Violation[] = [];
  const results = new Map(askedCalls(journal).map(({ callId }) => [callId, 0]));
  const steps = new Set<number>();
  for (const { kind, step, callId = "" } of journal) {
    if (kind === "model-responded" && step !== undefined) {
      if (steps.has(step)) found.push(broken("one-result", runId, `step ${step} has two answers`));
      steps.add(step);
    }
    if (!RESULTS.has(kind)) continue;
    const before = results.get(callId);
    if (before === undefined)
      found.push(
        broken("unasked-call", runId, `${callId} has a result and no answer asked for it`),
      );
    else if (before > 0) found.push(broken("one-result", runId, `${callId} has two results`));
    results.set(callId, (before ?? 0) + 1);
  }
  const last = journal.at(-1)?.kind;
  if (last !== "finished" && last !== "cancelled") return found;
  for (const [callId, count] of results)
    if (count === 0) found.push(broken("one-result", runId, `${callId} has no result`));
  return found;
}

/** Numbered from 1 without a gap in the order of the stream, and one for each result of the journal. */
function checkEvents({ runId, journal, events }: RunEvidence): Violation[] {
  const found: Violation[] = [];
  const wrong = events.findIndex(({ seq }, index) => seq !== index + 1);
  if (wrong !== -1)
    found.push(broken("events", runId, `event ${wrong + 1} has the number ${events[wrong]?.seq}`));
  if (events.length > 0 && events[0]?.name !== "started")
    found.push(broken("events", runId, `its events begin with ${events[0]?.name}`));
  const reported = resultsIn(events.map(({ name, callId }) => ({ kind: name, callId })));
  const written = resultsIn(journal.map(({ kind, callId = null }) => ({ kind, callId })));
  if (reported.join() !== written.join())
    found.push(
      broken("events", runId, `they have ${reported.join()}, the journal ${written.join()}`),
    );
  return found;
}

function resultsIn(facts: readonly { kind: string; callId: string | null }[]): string[] {
  return facts
    .filter(({ kind }) => RESULTS.has(kind))
    .map(({ kind, callId }) => `${kind} ${callId}`);
}

interface TracedCall extends AskedCall {
  readonly run: RunEvidence;
  readonly began: readonly Effect[];
}

/** Real effects: each belongs to one call, which was requested, allowed, and made once. */
function checkEffects(evidence: Evidence): Violation[] {
  const effects = Map.groupBy(
    evidence.effects.filter(({ phase }) => phase === "began"),
    markOf,
  );
  const calls = evidence.runs.flatMap((run) =>
    askedCalls(run.journal).flatMap((call): TracedCall[] => {
      const mark = markOfCall(call);
      return mark === null ? [] : [{ ...call, run, began: effects.get(mark) ?? [] }];
    }),
  );
  const asked = new Set(calls.map(markOfCall));
  const strangers = [...effects.keys()]
    .filter((mark) => !asked.has(mark))
    .map((mark) => broken("unasked-call", mark, "it was executed and is in no journal"));
  return [
    ...strangers,
    ...calls.flatMap(checkExecutions),
    ...calls.flatMap((call) => checkPermit(call, evidence)),
    ...calls.flatMap((call) => checkApproval(call, evidence)),
  ];
}

function checkExecutions({ callId, run, began }: TracedCall): Violation[] {
  const found: Violation[] = [];
  const [first] = run.journal;
  const mayRepeat = first?.onUnknownOutcome === "retry";
  if (began.length > (mayRepeat ? 2 : 1))
    found.push(broken("executed-twice", callId, `it was executed ${began.length} times`));
  const result = run.journal.find((fact) => fact.callId === callId && RESULTS.has(fact.kind));
  if (result === undefined) return found;
  // A failed call, such as one of a cancelled run, may still be in flight.
  if (result.kind === "tool-completed" && began.some(({ at }) => at > result.at))
    found.push(broken("executed-after-result", callId, `its result was written before it began`));
  if (result.kind === "tool-completed" && began.length === 0)
    found.push(broken("invented-result", callId, "it has a result and was never executed"));
  if (result.kind === "tool-completed" && result.effect !== "allow")
    found.push(broken("unpermitted-call", callId, `its result stands under ${result.effect}`));
  if (result.kind === "tool-failed" && began.length > 0 && !ADMITS_EXECUTION.has(result.code ?? ""))
    found.push(
      broken("denied-execution", callId, `it was executed and reported as ${result.code}`),
    );
  if (result.kind === "tool-denied" && began.length > 0)
    found.push(broken("unpermitted-call", callId, "it was denied and executed"));
  return found;
}

function checkPermit({ callId, tool, input, run, began }: TracedCall, evidence: Evidence) {
  if (began.length === 0) return [];
  // A policy that has lost its rules may have recorded an allow.
  if (tool === FORBIDDEN) return [broken("unpermitted-call", callId, "no rule allows it")];
  const argsDigest = canonicalDigest(input);
  const isPermitted = evidence.permits.some(
    (permit) =>
      permit.runId === run.runId &&
      permit.tool === tool &&
      (permit.isForAnyArguments || permit.argsDigest === argsDigest),
  );
  return isPermitted ? [] : [broken("unpermitted-call", callId, `no record allows ${tool}`)];
}

/** A call that needs a person is made under an approved approval of its own, and under one only once. */
function checkApproval({ callId, tool, began }: TracedCall, evidence: Evidence): Violation[] {
  if (tool !== NEEDS_A_PERSON || began.length === 0) return [];
  const approvals = evidence.approvals.filter((approval) => isOfCall(approval.callId, callId));
  const used = approvals.filter(
    ({ state, decision, consumedAt }) =>
      state === "consumed" && consumedAt !== null && decision !== null,
  );
  if (used.length === 0) {
    const states = approvals.map(({ state }) => state).join(", ") || "none";
    return [broken("unapproved-call", callId, `it was executed; its approvals: ${states}`)];
  }
  if (used.length >= began.length) return [];
  const detail = `${used.length} approvals for ${began.length} executions`;
  return [broken("approval-used-twice", callId, detail)];
}

/** A repeat of a call with an unknown outcome has an id of its own. */
function isOfCall(approvedCallId: string | null, callId: string): boolean {
  return approvedCallId === callId || approvedCallId === `${callId}:again`;
}

function askedCalls(journal: readonly JournalFact[]): AskedCall[] {
  return journal.flatMap(({ calls = [] }) => calls);
}

function markOf({ tool, run, place }: Pick<Effect, "tool" | "run" | "place">): string {
  return `${tool} ${place} of ${run}`;
}

const MARKING_TOOL = /^mcp__marking__(\w+)$/;

/** The mark that the call leaves in the book; null for a tool that leaves none. */
function markOfCall({ tool, input }: AskedCall): string | null {
  const raw = MARKING_TOOL.exec(tool)?.[1];
  if (raw === undefined || typeof input !== "object" || input === null) return null;
  const { run, place } = input as Record<string, unknown>; // an object, as checked
  return markOf({ tool: raw, run: String(run), place: String(place) });
}

function broken(rule: Rule, where: string, detail: string): Violation {
  return { rule, where, detail };
}
