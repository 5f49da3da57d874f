import type { Bus } from "@switchyard/bus/connect";
import type { Log } from "@switchyard/service/log";
import { lastSeqOf } from "../events/last-seq.ts";
import type { LeftRun, LeftRuns } from "../journal/left-runs.ts";
import type { WakeRun } from "../peers/run-waker.ts";

/** nats-server syncs what it writes behind every two minutes: after this, events of a run are on its disk. */
const WRITTEN_MS = 180_000;

/**
 * When nats-server was started anew, compares the runs that were let go before with the stream, and wakes those of which it has lost
 * events: whoever takes such a run publishes them again. Runs in work see to it themselves. Nothing is compared with a cluster, which writes
 * on a majority before it acknowledges.
 */
export async function findLostEvents({
  bus,
  left,
  wake,
  log,
  now,
}: {
  readonly bus: Bus;
  readonly left: LeftRuns;
  readonly wake: WakeRun;
  readonly log: Log;
  readonly now: () => number;
}): Promise<void> {
  const server = bus.loneServer;
  if (server === null || bus.status !== "connected") return;
  const nowMs = now();
  if ((await left.comparedWith()) !== server) {
    let lost = 0;
    for await (const runs of left.all()) {
      const woken = await Promise.all(runs.map((run) => wakeIfLost(run, bus, wake)));
      lost += woken.filter(Boolean).length;
    }
    if (lost > 0)
      log.warn({ runs: lost }, "nats-server lost events of runs, which are published again");
    await left.setCompared(server);
  }
  await left.forgetUntil(nowMs - WRITTEN_MS);
}

/** Rejects when the stream or the queue cannot be reached: the next sweep begins anew. */
async function wakeIfLost(run: LeftRun, bus: Bus, wake: WakeRun): Promise<boolean> {
  if ((await lastSeqOf(bus, run)) >= run.published) return false;
  if (!(await wake(run.runId))) throw new Error(`run ${run.runId} could not be woken`);
  return true;
}
