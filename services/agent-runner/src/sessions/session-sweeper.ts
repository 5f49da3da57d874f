import { lookAtSession } from "./look-at-session.ts";
import type { SessionDesk } from "./session-desk.ts";

const AT_ONCE = 200;

/** Looks at the sessions that are due, once. One that cannot be looked at does not keep the others waiting. */
export async function sweepSessions(
  desk: SessionDesk,
  onFault: (fault: { error: unknown }) => void,
): Promise<void> {
  for (;;) {
    const due = await desk.index.due(desk.now(), AT_ONCE);
    let failed = 0;
    for (const place of due) {
      try {
        await lookAtSession(desk, place);
      } catch (error) {
        failed += 1;
        onFault({ error });
      }
    }
    if (failed > 0 || due.length < AT_ONCE) return;
  }
}
