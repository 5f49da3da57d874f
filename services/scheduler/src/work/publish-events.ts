import type { Bus } from "@switchyard/bus/bus";
import { publishEvent } from "@switchyard/bus/publish";
import * as events from "@switchyard/contracts/scheduler/schedule-events";
import type { JobStore, KeptEvent } from "../store/job-store.ts";

const BY_KIND = {
  added: events.scheduleAdded,
  changed: events.scheduleChanged,
  removed: events.scheduleRemoved,
  started: events.scheduleStarted,
  finished: events.scheduleFinished,
  skipped: events.scheduleSkipped,
  failing: events.scheduleFailing,
  disabled: events.scheduleDisabled,
} as const;
const AT_ONCE = 100;

/** Publishes the events that changes of jobs left in the store. A repeat has the same message id. Rejects when Redis or NATS does not answer. */
export async function publishKeptEvents(bus: Bus, store: JobStore): Promise<void> {
  for (;;) {
    const kept = await store.keptEvents(AT_ONCE);
    await Promise.all(
      kept.map(async ({ text, event }) => {
        await publish(bus, event);
        await store.forgetEvent(text);
      }),
    );
    if (kept.length < AT_ONCE) return;
  }
}

async function publish(bus: Bus, { kind, owner, payload, messageId }: KeptEvent): Promise<void> {
  const contract = BY_KIND[kind];
  const jobId = String(payload["jobId"]);
  // The contract checks the event, which was stored as JSON.
  await publishEvent<typeof contract>(bus, contract, { owner, jobId }, payload as never, {
    messageId,
  });
}
