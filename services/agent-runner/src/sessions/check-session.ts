import { replay } from "../core/replay.ts";
import { JournalCorrupt, type RunState } from "../core/run-state.ts";
import { endSession, forgetEntry } from "./end-session.ts";
import { settleInSession } from "./enter-session.ts";
import {
  endsAtMs,
  FIRST_LOOK_MS,
  flush,
  proceed,
  RECHECK_MS,
  type SessionParts,
} from "./session-parts.ts";
import type { IndexEntry } from "./session-index.ts";
import type { SessionState } from "./session-record.ts";
import { release } from "./transitions.ts";
import { actionFor, type RunFacts } from "../core/due.ts";

/** A hint that had no effect for this time is sent again. */
const REPEAT_MS = 30_000;

/**
 * Performs the work that is due for a session: publishes pending events, sends a lost hint again, processes the end of a run
 * whose runner died before it could, and ends an unused session.
 */
export async function checkSession(parts: SessionParts, entry: IndexEntry): Promise<void> {
  const { store, index, limits, now } = parts;
  await flush(parts, entry, { isLate: true });
  const stored = await store.read(entry.slot);
  const { session } = stored.record;
  if (session === null) {
    await forgetEntry(parts, entry);
    if (stored.record.outbox.length > 0) await index.lookAgain(entry, now() + REPEAT_MS);
    return;
  }
  if (session.active !== null) {
    const again = await lookAtRun(parts, entry, session);
    return index.lookAgain(entry, now() + again);
  }
  const endsAt = endsAtMs(session, limits);
  if (now() < endsAt) return index.lookAgain(entry, endsAt);
  const { sessionId } = session;
  const may = (found: SessionState): boolean =>
    found.active === null && now() >= endsAtMs(found, limits);
  await endSession(parts, entry, { sessionId, reason: "idle", by: "runner", may });
}

/** Null when the journal cannot be read. */
async function readable({ runs }: SessionParts, runId: string): Promise<RunState | null> {
  try {
    return replay(await runs.load(runId));
  } catch (error) {
    if (error instanceof JournalCorrupt) return null;
    throw error;
  }
}

/**
 * Keeps a run that is over, or that no runner works on, from blocking its session for ever. Returns the time to the next look,
 * in milliseconds.
 */
async function lookAtRun(
  parts: SessionParts,
  entry: IndexEntry,
  { active, sessionId }: SessionState,
): Promise<number> {
  if (active === null) return RECHECK_MS;
  const { runId } = active;
  const look = checkTurn(active, await parts.runs.facts(runId), parts.now());
  switch (look.next) {
    case "later":
      return RECHECK_MS;
    case "hint":
      await proceed(parts, { sessionId, runId });
      // The queue may merely be long: a hint that is repeated faster than runs begin makes it longer still.
      return REPEAT_MS;
    case "settle": {
      const state = await readable(parts, runId);
      if (state === null)
        await goOnWithout(parts, entry, { sessionId, runId, ...unreadable(runId) });
      else await settleInSession(parts, state);
      return FIRST_LOOK_MS;
    }
    case "gone":
      await goOnWithout(parts, entry, { sessionId, runId, ...gone(runId) });
      return FIRST_LOOK_MS;
    default:
      return look satisfies never;
  }
}

function gone(runId: string) {
  return { code: "unknown_run", message: `run ${runId} is gone: Redis has lost it` };
}

function unreadable(runId: string) {
  return { code: "journal_corrupt", message: `the journal of run ${runId} cannot be read` };
}

/** Gives the turn to the next message when a run can never report its end. */
async function goOnWithout(
  parts: SessionParts,
  entry: IndexEntry,
  lost: Parameters<typeof release>[1],
): Promise<void> {
  const { runId } = lost;
  const next = await parts.store.change(entry.slot, ({ record }) => {
    const { session: now } = record;
    if (now?.active?.runId !== runId) return { record, result: null };
    const open = { ...record, session: { ...now, active: { ...now.active, begun: false } } };
    const room = release(open, lost);
    return { record: room.record, result: room.next };
  });
  await proceed(parts, next);
}

const AT_ONCE = 200;

/** Looks once at the sessions that are due. A failure with one session does not delay the others. */
export async function sweepSessions(
  parts: SessionParts,
  onFault: (fault: { error: unknown }) => void,
): Promise<void> {
  for (;;) {
    const due = await parts.index.due(parts.now(), AT_ONCE);
    let failed = 0;
    for (const entry of due) {
      try {
        await checkSession(parts, entry);
      } catch (error) {
        failed += 1;
        onFault({ error });
      }
    }
    if (failed > 0 || due.length < AT_ONCE) return;
  }
}

/** The action of a sweep for the run that has its turn in a session. */
type TurnCheck =
  /** No runner holds it and no delivery is pending. */
  | { readonly next: "hint" }
  | { readonly next: "later" }
  /** It is over, and the session has not recorded that yet. */
  | { readonly next: "settle" }
  /** The run existed and is gone. */
  | { readonly next: "gone" };

/**
 * Decides by the claim on the run: a hint may be lost, late or used up, and does not show whether a runner works on the run. A
 * waiting run is in the list of parked runs, which is swept separately.
 */
export function checkTurn(
  { begun }: { readonly begun: boolean },
  facts: RunFacts | null,
  nowMs: number,
): TurnCheck {
  if (facts === null) return { next: begun ? "gone" : "hint" };
  switch (facts.status) {
    case "waiting":
      return { next: "later" };
    case "running":
      return { next: actionFor(facts, nowMs).next === "wake" ? "hint" : "later" };
    default:
      return { next: "settle" };
  }
}
