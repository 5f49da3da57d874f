import type { Bus } from "@switchyard/bus/bus";
import { publishEvent } from "@switchyard/bus/publish";
import * as events from "@switchyard/contracts/scheduler/schedule-events";
import type { KeptEvent } from "../store/job-store.ts";

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

export async function publishKeptEvent(
  bus: Bus,
  { kind, owner, payload, messageId }: KeptEvent,
): Promise<void> {
  const contract = BY_KIND[kind];
  const jobId = String(payload["jobId"]);
  // The contract checks the event, which was stored as JSON.
  await publishEvent<typeof contract>(bus, contract, { owner, jobId }, payload as never, {
    messageId,
  });
}
