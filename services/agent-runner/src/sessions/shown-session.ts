import type { Session } from "@switchyard/contracts/sessions";
import type { SessionLimits, SessionState } from "./session-record.ts";
import type { StoredSession } from "./session-store.ts";

/** A session as it is shown to those who may use it. */
export function shownSession(
  session: SessionState,
  { messages, dropped, bytes }: Omit<StoredSession, "record">,
  { idleMs }: SessionLimits,
): Session {
  const { active, queue, steered: _s, untold: _u, refused: _r, ...shown } = session;
  return {
    ...shown,
    endsAt: new Date(Date.parse(session.updatedAt) + idleMs).toISOString(),
    messages,
    droppedMessages: dropped,
    bytes,
    activeRun: active?.runId ?? null,
    queued: queue.length,
  };
}
