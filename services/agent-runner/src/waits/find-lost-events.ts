import type { Bus } from "@switchyard/bus/connect";
import { lastMessageId } from "@switchyard/bus/last-event";
import type { Log } from "@switchyard/service/log";
import { lastSeqOf } from "../events/last-seq.ts";
import { publishAgain } from "../journal/publish-noted.ts";
import type { Unwritten, UnwrittenEvent, UnwrittenRun } from "../journal/unwritten.ts";
import type { WakeRun } from "../peers/run-waker.ts";

/** nats-server syncs what it writes behind every two minutes: after this, an event is on its disk. */
const WRITTEN_MS = 180_000;

/**
 * When nats-server was started anew, compares what it may not have written before with the stream. Runs of which it has lost events are
 * woken: whoever takes one publishes them again. Runs in work see to it themselves. Nothing is compared with a cluster, which writes
 * on a majority before it acknowledges.
 */
export async function findLostEvents({
  bus,
  unwritten,
  wake,
  log,
  now,
}: {
  readonly bus: Bus;
  readonly unwritten: Unwritten;
  readonly wake: WakeRun;
  readonly log: Log;
  readonly now: () => number;
}): Promise<void> {
  if (bus.status !== "connected") return;
  const server = bus.loneServer;
  const nowMs = now();
  if (server !== null && (await unwritten.comparedWith()) !== server) {
    let lost = 0;
    for await (const runs of unwritten.runs()) {
      const woken = await Promise.all(runs.map((run) => wakeIfLost(run, bus, wake)));
      lost += woken.filter(Boolean).length;
    }
    if (lost > 0)
      log.warn({ count: lost }, "nats-server lost events of runs, which are published again");
    const events = Map.groupBy(await unwritten.events(), ({ subject }) => subject);
    for (const [subject, told] of events) await publishLost(subject, told, bus);
    await unwritten.setCompared(server);
  }
  await unwritten.forgetUntil(nowMs - WRITTEN_MS);
}

/** Rejects when the stream or the queue cannot be reached: the next sweep begins anew. */
async function wakeIfLost(run: UnwrittenRun, bus: Bus, wake: WakeRun): Promise<boolean> {
  if ((await lastSeqOf(bus, run)) >= run.published) return false;
  if (!(await wake(run.runId))) throw new Error(`run ${run.runId} could not be woken`);
  return true;
}

/** Those behind the last one that the stream has; all of them, when it has none of these. */
async function publishLost(
  subject: string,
  told: readonly UnwrittenEvent[],
  bus: Bus,
): Promise<void> {
  const last = await lastMessageId(bus, subject);
  const lost = told.slice(told.findIndex(({ messageId }) => messageId === last) + 1);
  for (const event of lost) await publishAgain(bus, event);
}
