import { actionFor } from "../core/due.ts";
import type { FindLifted } from "./lifted-stops.ts";
import type { FindMissedDecisions } from "./follow-approvals.ts";
import {
  runOf,
  type NextLook,
  type ParkedApproval,
  type ParkedRuns,
  type StoppedRun,
} from "../journal/parked-runs.ts";
import type { WakeRun } from "../journal/run-controls.ts";
import { randomUUID } from "node:crypto";
import { startRounds } from "@switchyard/service/rounds";

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

/** Periodic work, which one runner does at a time. */
interface SweeperOptions {
  readonly everyMs: number;
  readonly onFault: (fault: { error: unknown }) => void;
  /** Acquires the lease of this name for so many milliseconds; false when another runner has it. */
  readonly lease: { takeSweep(name: string, holdMs: number): Promise<boolean> };
  /**
   * They run concurrently, and a failure of one does not prevent the others; nor does a slow one: it is skipped for as long as it is under way, and the others are
   * not delayed.
   */
  readonly rounds: readonly (() => Promise<unknown>)[];
}

/** Runs its rounds every `everyMs`, when this runner gets the lock; if that runner dies, another one takes it. */
export function startSweeper(options: SweeperOptions): { stop(): Promise<void> } {
  const { everyMs, onFault, lease, rounds } = options;
  const name = randomUUID();
  const report = (error: unknown): void => onFault({ error });
  const underWay = new Map<() => Promise<unknown>, Promise<unknown>>();
  const begin = (one: () => Promise<unknown>): void => {
    if (underWay.has(one)) return;
    const ended = one()
      .catch(report)
      .finally(() => underWay.delete(one));
    underWay.set(one, ended);
  };
  const round = async (): Promise<void> => {
    // Slightly shorter than the interval, so that the lock has expired when its holder returns.
    if (!(await lease.takeSweep(name, Math.floor(everyMs * 0.9)))) return;
    for (const one of rounds) begin(one);
  };
  const started = startRounds({ everyMs, round, onError: report });
  return {
    async stop() {
      await started.stop();
      await Promise.all(underWay.values());
    },
  };
}
