import { flush, RECHECK_MS, type SessionParts } from "./session-parts.ts";
import type { IndexEntry } from "./session-index.ts";
import type { SessionCommand, SessionState } from "./session-record.ts";
import { end, reset } from "./transitions.ts";

/** A session that was ended, the runs that were stopped with it, and, after a reset, the session that follows it. */
export interface EndedSession {
  readonly ended: SessionState;
  readonly next: SessionState | null;
  readonly cancelledRun: string | null;
  readonly droppedRuns: string[];
}

/**
 * Ends one life of a session; null when it has ended before. Its run is cancelled and the waiting messages are refused, so no
 * caller waits for an answer that cannot come.
 */
export async function endSession(
  parts: SessionParts,
  entry: IndexEntry,
  options: {
    readonly sessionId: string;
    readonly reason: "idle" | "deleted" | "reset";
    readonly by: string;
    /** Called at the moment of the write. */
    readonly may?: (session: SessionState) => boolean;
  },
): Promise<EndedSession | null> {
  const { sessionId, reason, by, may = () => true } = options;
  const { slot } = entry;
  const outcome = await parts.store.change<EndedSession | null>(slot, async ({ record }) => {
    const { session } = record;
    if (session?.sessionId !== sessionId || !may(session)) return { record, result: null };
    const waiting = await waitingIn(parts, slot, session);
    const nowMs = parts.now();
    const result = {
      ended: session,
      cancelledRun: session.active?.begun === true ? session.active.runId : null,
      droppedRuns: waiting.map(({ runId }) => runId),
    };
    if (reason === "reset") {
      const fresh = reset(record, session, { slot, by, nowMs, waiting });
      const next = fresh.session;
      return { record: fresh.record, result: { ...result, next }, forgets: true };
    }
    const at = new Date(nowMs).toISOString();
    return {
      record: end(record, session, { reason, at, waiting }),
      result: { ...result, next: null },
      forgets: true,
    };
  });
  if (outcome === null) return null;
  await cancelRun(parts, outcome.ended, { by, reason });
  await flush(parts, entry);
  if (outcome.next === null) await forgetEntry(parts, entry);
  return outcome;
}

/** Removes a session from the lists, unless it was begun again meanwhile. */
export async function forgetEntry(parts: SessionParts, entry: IndexEntry): Promise<void> {
  const { index, store, now } = parts;
  if (!(await isEmpty(parts, entry))) return;
  await index.forget(entry);
  const { session } = (await store.read(entry.slot)).record;
  if (session === null) return;
  await index.touch(entry, { usedMs: now(), lookMs: now() + RECHECK_MS });
}

/** An unpublished event keeps the entry, so that the sweeper finds it. */
async function isEmpty({ store }: SessionParts, { slot }: IndexEntry): Promise<boolean> {
  const { session, outbox } = (await store.read(slot)).record;
  return session === null && outbox.length === 0;
}

/** A run that has its turn and does not exist yet waits like those behind it. */
async function waitingIn(
  { store }: SessionParts,
  slot: string,
  { active, queue }: SessionState,
): Promise<SessionCommand[]> {
  const first = active === null || active.begun ? [] : [active.runId];
  return store.commands(slot, [...first, ...queue.map(({ runId }) => runId)]);
}

async function cancelRun(
  { controls, now }: SessionParts,
  { active, key, sessionId }: SessionState,
  { by, reason }: { readonly by: string; readonly reason: string },
): Promise<void> {
  if (active === null) return;
  await controls.cancel({
    runId: active.runId,
    by: active.requester,
    at: new Date(now()).toISOString(),
    reason: `${by} ended its session ${key} (${reason})`,
    command: `end:${sessionId}`,
  });
}
