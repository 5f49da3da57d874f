import { randomUUID } from "node:crypto";
import { lookAt } from "./look-at.ts";
import type { FindMissedDecisions, ParkedApproval } from "./missed-decisions.ts";
import type { ParkedRuns } from "./parked-runs.ts";
import type { WakeRun } from "./run-waker.ts";

const AT_ONCE = 500;

interface SweepOptions {
  readonly parked: ParkedRuns;
  readonly wake: WakeRun;
  readonly findMissedDecisions: FindMissedDecisions;
  readonly now: () => number;
}

/** Looks at the runs that are due, once. Gives how many were woken. */
export async function sweep(options: SweepOptions): Promise<{ readonly woken: number }> {
  const { parked, wake, findMissedDecisions, now } = options;
  let woken = 0;
  for (;;) {
    const due = await parked.due(now(), AT_ONCE);
    const gone: string[] = [];
    const asking: ParkedApproval[] = [];
    for (const { runId, facts, approvals } of due) {
      const look = lookAt(facts, now());
      if (look.next === "forget") {
        gone.push(runId);
        continue;
      }
      if (look.next === "wake") {
        await wake(runId, look.mark);
        woken += 1;
      }
      await parked.lookAgain(runId, look.atMs);
      if (look.next === "later" && facts?.status === "waiting") asking.push(...approvals);
    }
    await parked.forget(gone);
    await findMissedDecisions(asking);
    if (due.length < AT_ONCE) return { woken };
  }
}

/**
 * Sweeps every `everyMs`, in one runner at a time: whoever gets the lease does it, and a runner that
 * dies is followed by the next.
 */
export function startSweeper(
  options: SweepOptions & {
    readonly everyMs: number;
    readonly onFault: (fault: { error: unknown }) => void;
  },
): { stop(): Promise<void> } {
  const { parked, everyMs, onFault } = options;
  const name = randomUUID();
  let running: Promise<void> = Promise.resolve();
  let isRunning = false;
  const round = async (): Promise<void> => {
    try {
      // A little less than the interval, so that the lease is free when its holder comes again.
      if (await parked.takeSweep(name, Math.floor(everyMs * 0.9))) await sweep(options);
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
