import { actionFor } from "../core/due.ts";
import type { FindLifted } from "./lifted-stops.ts";
import type { FindMissedDecisions } from "./missed-decisions.ts";
import {
  runOf,
  type NextLook,
  type ParkedApproval,
  type ParkedRuns,
  type StoppedRun,
} from "../journal/parked-runs.ts";
import type { WakeRun } from "../journal/run-controls.ts";

const AT_ONCE = 500;
/** A wake-up that could not be sent is sent again after this time. */
const UNSENT_MS = 1_000;

interface SweepOptions {
  readonly parked: ParkedRuns;
  readonly wake: WakeRun;
  readonly findMissedDecisions: FindMissedDecisions;
  readonly findLifted: FindLifted;
  readonly now: () => number;
}

/** Processes the runs that are due, once. Returns how many were woken. */
export async function sweep(options: SweepOptions): Promise<{ readonly woken: number }> {
  const { parked, wake, findMissedDecisions, findLifted, now } = options;
  let woken = 0;
  for (;;) {
    const dueMs = now();
    const due = await parked.due(dueMs, AT_ONCE);
    const gone: string[] = [];
    const asking: ParkedApproval[] = [];
    const stopped: StoppedRun[] = [];
    const later: NextLook[] = [];
    const wanted: string[] = [];
    for (const { runId, facts, approvals, stop } of due) {
      const look = actionFor(facts, dueMs);
      if (look.next === "forget") {
        gone.push(runId);
        continue;
      }
      later.push({ runId, atMs: look.atMs });
      if (look.next === "wake") wanted.push(runId);
      else if (facts?.status === "waiting" && stop !== null) stopped.push({ runId, scope: stop });
      else if (facts?.status === "waiting") asking.push(...approvals);
    }
    // Written before they are woken, because a run that is released again at once sets its own next look.
    await parked.postpone(later, dueMs);
    const sent = await Promise.all(wanted.map((runId) => wake(runOf(runId))));
    const unsent = wanted.filter((_, n) => sent[n] === false);
    woken += wanted.length - unsent.length;
    await Promise.all(unsent.map((runId) => parked.lookAgain(runId, now() + UNSENT_MS)));
    await parked.forget(gone);
    await findMissedDecisions(asking);
    await findLifted(stopped);
    if (due.length < AT_ONCE || unsent.length > 0) return { woken };
  }
}
