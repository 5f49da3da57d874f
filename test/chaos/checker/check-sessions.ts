import type { Evidence, RunEvidence, SessionEvidence, Violation } from "./evidence.ts";

/** The runs of a session worked one after the other, in the order of its queue, and none of them is left behind. */
export function checkSessions({
  sessions,
  runs,
}: Pick<Evidence, "sessions" | "runs">): Violation[] {
  const bySession = Map.groupBy(runs, sessionOf);
  return sessions.flatMap((session) => {
    const own = bySession.get(session.sessionId) ?? [];
    return [
      ...checkRoom(session),
      ...checkTurns(session, own),
      ...checkHistory(session, own),
      ...checkEvents(session),
    ];
  });
}

/** Everything had its time to end. */
function checkRoom({ sessionId: where, active, queue }: SessionEvidence): Violation[] {
  if (active === null && queue.length === 0) return [];
  const detail = `run ${active ?? "none"} has it, and ${queue.length} messages wait`;
  return [{ rule: "session-blocked", where, detail }];
}

function checkTurns({ sessionId: where, events }: SessionEvidence, runs: readonly RunEvidence[]) {
  const found: Violation[] = [];
  const times = runs
    .map(({ runId, journal }) => ({
      runId,
      from: journal[0]?.at ?? 0,
      to: journal.find(({ kind }) => ENDS.has(kind))?.at ?? Number.POSITIVE_INFINITY,
    }))
    .toSorted((one, other) => one.from - other.from);
  for (const [index, { runId, from }] of times.entries()) {
    const before = times[index - 1];
    if (before === undefined || before.to <= from) continue;
    const detail = `${runId} began ${before.to - from} ms before ${before.runId} ended`;
    found.push({ rule: "session-order", where, detail });
  }
  const began = times.map(({ runId }) => runId);
  const queued = [...new Set(events.flatMap(({ name, runId }) => (isQueued(name) ? [runId] : [])))];
  const inTurn = queued.filter((runId) => runId !== null && began.includes(runId));
  const played = began.filter((runId) => inTurn.includes(runId));
  if (played.join() !== inTurn.join()) {
    const detail = `the queue had ${inTurn.join(", ")}, and they began as ${played.join(", ")}`;
    found.push({ rule: "session-order", where, detail });
  }
  return found;
}

/** Messages to an ended run are in the history, once. */
function checkHistory({ sessionId: where, said }: SessionEvidence, runs: readonly RunEvidence[]) {
  return runs.flatMap(({ runId, journal }): Violation[] => {
    const isOver = journal.some(({ kind }) => ENDS.has(kind));
    const times = said.filter((one) => one === runId).length;
    if (times === (isOver ? 1 : 0)) return [];
    const detail = `the message of ${runId} is in its history ${times} times`;
    return [{ rule: "session-history", where, detail }];
  });
}

/** Their contract promises: each at least once, in the order of their numbers. */
function checkEvents({ sessionId: where, events }: SessionEvidence): Violation[] {
  const first = [...new Set(events.map(({ seq }) => seq))];
  const wrong = first.findIndex((seq, index) => seq !== index + 1);
  if (wrong === -1) return [];
  const detail = `event ${wrong + 1} has the number ${first[wrong]}`;
  return [{ rule: "session-events", where, detail }];
}

const ENDS = new Set(["finished", "failed", "cancelled", "dead"]);

function isQueued(name: string): boolean {
  return name === "message-queued";
}

function sessionOf({ journal: [first] }: RunEvidence): string | null {
  return first?.sessionId ?? null;
}
