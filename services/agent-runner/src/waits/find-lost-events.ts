import type { Bus } from "@switchyard/bus/bus";
import { lastMessageId, newestEventTime } from "@switchyard/bus/last-event";
import type { Log } from "@switchyard/service/log";
import { lastSeqOf } from "../journal/event-publisher.ts";
import { publishAgain } from "../journal/publish-noted.ts";
import type { UnsyncedEvents, UnsyncedEvent, UnsyncedRun } from "../journal/unsynced-events.ts";
import type { WakeRun } from "../journal/run-controls.ts";

/**
 * nats-server syncs its writes every two minutes, and stores nothing more once a write has failed (`werr` in its filestore.go).
 * So an event is on its disk when the stream has stored another one this much later.
 */
const WRITTEN_MS = 180_000;

/**
 * Compares the events that nats-server may not have written before its restart with the stream. A run that has lost events is
 * woken, and the runner that takes it publishes them again; runs in progress do this themselves. A cluster needs no comparison,
 * since it writes on a majority before it acknowledges. Notes of events that are surely on the stream's disk are deleted: none
 * of them while its disk is full.
 */
export async function findLostEvents({
  bus,
  unwritten,
  wake,
  log,
  now,
}: {
  readonly bus: Bus;
  readonly unwritten: UnsyncedEvents;
  readonly wake: WakeRun;
  readonly log: Log;
  readonly now: () => number;
}): Promise<void> {
  if (bus.status !== "connected") return;
  const server = bus.loneServer;
  const nowMs = now();
  const noted = { bus, unwritten, nowMs };
  if (server !== null && (await unwritten.comparedWith()) !== server) {
    let lost = 0;
    for await (const runs of unwritten.runs()) {
      const woken = await Promise.all(runs.map((run) => wakeIfLost(run, noted, wake)));
      lost += woken.filter(Boolean).length;
    }
    if (lost > 0)
      log.warn({ count: lost }, "nats-server lost events of runs, which are published again");
    const events = Map.groupBy(await unwritten.events(), ({ subject }) => subject);
    for (const [subject, missing] of events) await publishLost(subject, missing, noted);
    await unwritten.setCompared(server);
  }
  const storedMs = server === null ? nowMs : await newestStoredMs(bus);
  await unwritten.forgetUntil(Math.min(nowMs, storedMs) - WRITTEN_MS);
}

/** 0 while nothing is stored. */
async function newestStoredMs(bus: Bus): Promise<number> {
  return (await newestEventTime(bus))?.getTime() ?? 0;
}

/** A republished event may be lost again, so its time is counted from now. */
interface Noted {
  readonly bus: Bus;
  readonly unwritten: Pick<UnsyncedEvents, "addRun" | "addEvent">;
  readonly nowMs: number;
}

/** Rejects when the stream or the queue cannot be reached: the next sweep begins anew. */
async function wakeIfLost(
  run: UnsyncedRun,
  { bus, unwritten, nowMs }: Noted,
  wake: WakeRun,
): Promise<boolean> {
  if ((await lastSeqOf(bus, run)) >= run.published) return false;
  await unwritten.addRun(run.runId, nowMs);
  if (!(await wake(run.runId))) throw new Error(`run ${run.runId} could not be woken`);
  return true;
}

/** Publishes the events after the last one that the stream has; all of them, when it has none of these. */
async function publishLost(
  subject: string,
  missing: readonly UnsyncedEvent[],
  { bus, unwritten, nowMs }: Noted,
): Promise<void> {
  const last = await lastMessageId(bus, subject);
  const lost = missing.slice(missing.findIndex(({ messageId }) => messageId === last) + 1);
  for (const event of lost) {
    await unwritten.addEvent(event, nowMs);
    await publishAgain(bus, event);
  }
}
