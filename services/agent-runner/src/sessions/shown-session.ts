import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import type { Session } from "@switchyard/contracts/agent-runner/sessions";
import { endsAtMs } from "./session-parts.ts";
import type { SessionLimits, SessionState } from "./session-record.ts";
import type { StoredSession } from "./session-store.ts";

/** The fields of a session that are shown to its users. */
export function shownSession(
  session: SessionState,
  { messages, dropped, bytes }: Omit<StoredSession, "record">,
  limits: SessionLimits,
): Session {
  const { active, queue, steered: _s, untold: _u, refused: _r, ...shown } = session;
  return {
    ...shown,
    version: versionOf(session),
    endsAt: new Date(endsAtMs(session, limits)).toISOString(),
    messages,
    droppedMessages: dropped,
    bytes,
    activeRun: active?.runId ?? null,
    queued: queue.length,
  };
}

/** The version of the settings: the same settings have the same version. The session's agent is a setting, too. */
export function versionOf(session: SessionState): string {
  const { sessionId, label, kind, onBusy, agent, model, skillsOff } = session;
  return canonicalDigest({ sessionId, label, kind, onBusy, agent, model, skillsOff });
}
