import type { Absence, Evidence, JournalFact, RunEvidence, Violation } from "./evidence.ts";

/**
 * Every command of a round is good, so nothing but a cancel, a time limit or the death of runners may keep its run from
 * succeeding: an outage of any length only makes it late.
 */
export function checkOutcomes({
  runs,
  rejections,
  absences,
}: Pick<Evidence, "runs" | "rejections" | "absences">): Violation[] {
  return [
    ...rejections.map(({ runId, code, message }): Violation => {
      const isUnfounded = code === DEATH_CODE && !isDeadly(absences);
      const rule = isUnfounded ? "died-of-nothing" : "rejected";
      return { rule, where: runId, detail: `${code}: ${message}` };
    }),
    ...runs.flatMap((run) => [
      ...checkEnd(run, absences),
      ...checkLimit(run),
      ...run.journal.flatMap((fact) => checkReason(run, fact)),
    ]),
  ];
}

const DEATH_CODE = "too_many_attempts";
/** Default number of runners that die of a run before it is given up. */
const MOST_DEATHS = 5;

function isDeadly(absences: readonly Absence[]): boolean {
  return absences.filter(({ part }) => part.startsWith("runner")).length >= MOST_DEATHS;
}

function checkEnd({ runId: where, journal }: RunEvidence, absences: readonly Absence[]) {
  const [first] = journal;
  const end = journal.at(-1);
  const found: Violation[] = [];
  if (first === undefined || end === undefined) return found;
  const { code = "no code" } = end;
  if (end.kind === "dead") {
    const during = absences.filter(({ from, to }) => from <= end.at && to >= first.at);
    if (!isDeadly(during)) found.push({ rule: "died-of-nothing", where, detail: code });
  }
  const isLimit = code === "limit_exceeded" && first.timeoutMs !== undefined;
  if (end.kind === "failed" && !isLimit)
    found.push({ rule: "spoiled", where, detail: `it failed: ${code}` });
  return found;
}

/** Time that a run waits does not count, so those that wait are left out. */
function checkLimit({ runId: where, journal }: RunEvidence): Violation[] {
  const [first] = journal;
  const end = journal.at(-1);
  if (first?.timeoutMs === undefined || end?.kind !== "finished") return [];
  if (journal.some(({ kind }) => kind === "waiting")) return [];
  const tookMs = end.at - first.at;
  const detail = `it has ${first.timeoutMs} ms and finished after ${tookMs} ms`;
  if (tookMs > first.timeoutMs) return [{ rule: "limit-missed", where, detail }];
  // A call of the project has less time than its tool takes only where the limit of its run ends it.
  const cut = journal.find(({ kind, code }) => kind === "tool-failed" && code === "tool_timeout");
  if (cut === undefined) return [];
  return [{ rule: "limit-missed", where, detail: `${detail}, although its limit ended a call` }];
}

/** Codes that only an outage can cause when tool, server and policy exist and were there before. */
const WRONG_REASONS: ReadonlySet<string> = new Set([
  "internal",
  "policy_unavailable",
  "unknown_run",
  "unknown_tool",
]);

function checkReason(
  { runId }: RunEvidence,
  { kind, callId, code = "" }: JournalFact,
): Violation[] {
  if (kind !== "tool-failed" || !WRONG_REASONS.has(code)) return [];
  return [{ rule: "wrong-reason", where: callId ?? runId, detail: `it failed: ${code}` }];
}
