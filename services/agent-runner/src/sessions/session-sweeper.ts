import { randomUUID } from "node:crypto";
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

/** Sweeps every `everyMs`, in one runner at a time; a runner that dies is followed by the next. */
export function startSessionSweeper(
  desk: SessionDesk,
  options: { readonly everyMs: number; readonly onFault: (fault: { error: unknown }) => void },
): { stop(): Promise<void> } {
  const { everyMs, onFault } = options;
  const name = randomUUID();
  let running: Promise<void> = Promise.resolve();
  let isRunning = false;
  const round = async (): Promise<void> => {
    try {
      // A little less than the interval, so that the lease is free when its holder comes again.
      if (await desk.index.takeSweep(name, Math.floor(everyMs * 0.9)))
        await sweepSessions(desk, onFault);
    } catch (error) {
      onFault({ error });
    } finally {
      isRunning = false;
    }
  };
  const timer = setInterval(() => {
    if (isRunning) return;
    isRunning = true;
    running = round();
  }, everyMs);
  return {
    async stop() {
      clearInterval(timer);
      await running;
    },
  };
}
