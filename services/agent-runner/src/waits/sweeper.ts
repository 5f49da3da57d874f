import { startLeasedRounds, type RoundsOptions } from "../leased-rounds.ts";
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

/** Sweeps every `everyMs`, in one runner at a time. */
export function startSweeper(
  options: SweepOptions & Pick<RoundsOptions, "everyMs" | "onFault">,
): ReturnType<typeof startLeasedRounds> {
  const { parked, everyMs, onFault } = options;
  return startLeasedRounds({ everyMs, onFault, lease: parked, round: () => sweep(options) });
}
