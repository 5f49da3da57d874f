import type { Delivery, Outcome } from "@switchyard/bus/consume";
import type { Log } from "@switchyard/service/log";
import { tellParent } from "../children/after-end.ts";
import type { Rejection } from "../commands/run-command.ts";
import type { RunIndex } from "../journal/run-index.ts";
import type { Hold, RunStore } from "../journal/run-store.ts";
import type { RunnerMetrics } from "../metrics.ts";
import type { ParkedRuns } from "../waits/parked-runs.ts";
import { departureOf } from "./departure.ts";
import { backoffMs, Suspended } from "./interruption.ts";
import type { RunControls } from "./run-controls.ts";

export interface Leaving {
  readonly store: RunStore;
  readonly index: RunIndex;
  readonly controls: RunControls;
  readonly parked: ParkedRuns;
  readonly metrics: RunnerMetrics;
  readonly log: Log;
  /** Aborts when this runner is to stop. */
  readonly stopping: AbortSignal;
  readonly now: () => number;
  readonly random: () => number;
  readonly delivery: Delivery;
  /** Null when the run was not held when it was left. */
  readonly hold: Hold | null;
  /** True when a renewal said that another runner has the run. */
  readonly isLost: boolean;
  /** A run that was found not to be in work. */
  readonly found: Hold | null;
  readonly reject: (rejection: Rejection, runId: string | null) => Promise<Outcome>;
}

/** What was away may be back at any moment, and then its runs go on within ten seconds. */
const RETRY_CAP_MS = 6_000;
/** However long something is known to be down, the run looks again after this: its time may be over, or somebody mended it. */
const LONGEST_PAUSE_MS = 300_000;

/** What the queue is told when a run is left before its end; a fault is thrown on and counts as an attempt. */
export async function leaveRun(error: unknown, leaving: Leaving): Promise<Outcome> {
  const { metrics, log, stopping, random, hold, found } = leaving;
  const { signal, deliveryCount } = leaving.delivery;
  const runId = hold?.runId;
  const departure = departureOf(error, {
    isLost: leaving.isLost,
    isDeliveryAborted: signal.aborted,
    isStopping: stopping.aborted,
  });
  metrics.runs.inc({ outcome: departure });
  switch (departure) {
    case "lost":
      log.warn({ runId }, "run lost to another runner");
      // Neither done nor retry would be right: the message is the other runner's.
      return { outcome: "left" };
    case "cut-off":
      log.warn({ runId, err: error }, "run left: its claim could not be renewed");
      await release(leaving, 0);
      return { outcome: "left" };
    case "handed-over":
      await release(leaving, 0);
      return { outcome: "retry", delayMs: 0 };
    case "suspended": {
      const delayMs = pauseOf(error, deliveryCount) * (0.75 + random() / 2);
      log.warn({ runId, err: error, delayMs }, "run suspended");
      await release(leaving, delayMs);
      return { outcome: "retry", delayMs };
    }
    case "corrupt":
      // It is buried when the message has its turn, which tells of it.
      if (leaving.delivery.isEarly) {
        await release(leaving, 0);
        return { outcome: "retry", delayMs: 0 };
      }
      log.error({ runId: runId ?? found?.runId, err: error }, "journal is corrupt");
      return bury(String(error), leaving);
    case "faulted":
      throw error;
    default:
      return departure satisfies never;
  }
}

/** What is known to last is not asked after every half a minute, by every run that it keeps waiting. */
function pauseOf(error: unknown, deliveryCount: number): number {
  const usual = backoffMs(deliveryCount, RETRY_CAP_MS);
  const known = error instanceof Suspended ? (error.waitMs ?? 0) : 0;
  return Math.max(usual, Math.min(known, LONGEST_PAUSE_MS));
}

/** A run that cannot be read is kept as it is, and listed with the dead ones. */
async function bury(reason: string, leaving: Leaving): Promise<Outcome> {
  const { store, index, now, reject } = leaving;
  const hold = leaving.hold ?? leaving.found;
  const code = "journal_corrupt";
  const message = `the journal of the run cannot be read: ${reason}`;
  if (hold !== null) {
    const at = new Date(now()).toISOString();
    const parent = await store.bury(hold, { code, message }, at);
    await index.addDead(hold.runId, at);
    if (parent) {
      const { runId: childRunId } = hold;
      const text = `${code}: ${message}`;
      await tellParent(leaving.controls, { parent, childRunId, at, status: "dead", text });
    }
  }
  return reject({ code, message, problems: [] }, hold?.runId ?? null);
}

/** Without a release the next runner takes the run all the same; the attempt counts against it when it is another one. */
async function release(leaving: Leaving, restMs: number): Promise<void> {
  const { store, parked, log, hold, delivery, now } = leaving;
  if (hold === null) return;
  try {
    await store.release(hold, delivery.isEarly ? null : restMs);
    // The queue does not know that it was taken.
    if (delivery.isEarly) await parked.lookAgain(hold.runId, now());
  } catch (err) {
    log.warn({ runId: hold.runId, err }, "run not released");
  }
}
