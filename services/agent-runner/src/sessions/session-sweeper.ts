import { checkSession } from "./check-session.ts";
import type { SessionParts } from "./session-parts.ts";

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
