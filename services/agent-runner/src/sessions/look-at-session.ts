import { replay } from "../journal/replay.ts";
import { JournalCorrupt, type RunState } from "../journal/run-state.ts";
import { endSession, forgetPlace } from "./end-session.ts";
import { settleInSession } from "./run-place.ts";
import { endsAtMs, flush, proceed, RECHECK_MS, type SessionDesk } from "./session-desk.ts";
import type { Place } from "./session-index.ts";
import type { SessionState } from "./session-record.ts";
import { release, waitingFor } from "./transitions.ts";

/** A hint that came to nothing for so long is sent again. */
const REPEAT_MS = 30_000;

/**
 * Does what is due for a session: publishes what is not published, sends a lost hint again, takes up the end
 * of a run whose runner died before it could, and ends a session that nobody uses.
 */
export async function lookAtSession(desk: SessionDesk, place: Place): Promise<void> {
  const { store, index, limits, now } = desk;
  await flush(desk, place);
  const stored = await store.read(place.slot);
  const { session } = stored.record;
  if (session === null) {
    await forgetPlace(desk, place);
    if (stored.record.outbox.length > 0) await index.lookAgain(place, now() + REPEAT_MS);
    return;
  }
  if (session.active !== null) {
    await lookAtRun(desk, place, session);
    return index.lookAgain(place, now() + RECHECK_MS);
  }
  const endsAt = endsAtMs(stored, limits);
  if (now() < endsAt) return index.lookAgain(place, endsAt);
  const { sessionId } = session;
  const may = ({ active, updatedAt }: SessionState): boolean =>
    active === null && now() >= Date.parse(updatedAt) + limits.idleMs;
  await endSession(desk, place, { sessionId, reason: "idle", by: "runner", may });
}

/** Null when nobody can read the journal. */
async function readable({ runs }: SessionDesk, runId: string): Promise<RunState | null> {
  try {
    return replay(await runs.load(runId));
  } catch (error) {
    if (error instanceof JournalCorrupt) return null;
    throw error;
  }
}

/** A run that is over, or that nobody begins, must not keep its session for ever. */
async function lookAtRun(desk: SessionDesk, place: Place, session: SessionState): Promise<void> {
  const { active, sessionId } = session;
  if (active === null) return;
  if (!active.begun) {
    const repeat = Math.floor(desk.now() / REPEAT_MS);
    return proceed(desk, waitingFor(session), `:${repeat}`);
  }
  const { runId } = active;
  const status = await desk.runs.status(runId);
  if (status === "running" || status === "waiting") return;
  if (status !== null) {
    const state = await readable(desk, runId);
    if (state !== null) return settleInSession(desk, state);
  }
  // Redis has lost the run, or it cannot be read; its session goes on without it.
  const why =
    status === null
      ? { code: "unknown_run", message: `run ${runId} is gone` }
      : { code: "journal_corrupt", message: `the journal of run ${runId} cannot be read` };
  const next = await desk.store.change(place.slot, ({ record }) => {
    const { session: now } = record;
    if (now?.active?.runId !== runId) return { record, result: null };
    const open = { ...record, session: { ...now, active: { ...now.active, begun: false } } };
    const room = release(open, { sessionId, runId, ...why });
    return { record: room.record, result: room.next };
  });
  await proceed(desk, next);
}
