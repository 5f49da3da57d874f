import type { Evidence, RunEvidence, Violation } from "./evidence.ts";

/** A run's children were allowed, exist, and delivered their end to it once and unchanged. */
export function checkChildren(
  { runId, journal }: RunEvidence,
  { runs, permits }: Pick<Evidence, "runs" | "permits">,
): Violation[] {
  const isFinished = journal.at(-1)?.kind === "finished";
  const mayStart = permits.some((permit) => permit.runId === runId && permit.tool === "agent");
  const starts = journal.filter(({ kind }) => kind === "child-started");
  return starts.flatMap(({ childRunId: where = "" }) => {
    const found: Violation[] = [];
    if (!mayStart)
      found.push({ rule: "unpermitted-call", where, detail: `no record lets ${runId} start it` });
    const ends = journal.filter(
      ({ kind, childRunId }) => kind === "child-ended" && childRunId === where,
    );
    if (ends.length > 1 || (isFinished && ends.length === 0))
      found.push({
        rule: "child",
        where,
        detail: `${runId} received its end ${ends.length} times`,
      });
    const child = runs.find((one) => one.runId === where);
    if (ends.some(({ status }) => status !== child?.status))
      found.push({
        rule: "child",
        where,
        detail: `it is ${child?.status}, ${runId} received another status`,
      });
    return found;
  });
}
