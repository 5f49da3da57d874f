import type { Bus } from "@switchyard/bus/bus";
import { publishEvent } from "@switchyard/bus/publish";
import { subjectOf, tokensOf, type Event } from "@switchyard/contracts/define";
import { eventOfSubject } from "@switchyard/contracts/registry";
import type { UnsyncedEvents, UnsyncedEvent } from "./unsynced-events.ts";

export interface NotedParts {
  readonly bus: Bus;
  readonly unwritten: Pick<UnsyncedEvents, "addEvent">;
  readonly now: () => number;
}

/** An event that is in no journal. */
interface NotedEvent {
  readonly contract: Event;
  readonly tokens: Readonly<Record<string, string>>;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly messageId: string;
  readonly correlationId: string;
}

/** The only noted events that nats-server writes after it has acknowledged them are those of runs. */
const WRITTEN_BEHIND = "yard.evt.run.";

/** Publishes an event; one that nats-server may lose is noted before, so that it can be published again. Rejects as `publishEvent` does, and with StoreError. */
export async function publishNoted(
  { contract, tokens, payload, messageId, correlationId }: NotedEvent,
  { bus, unwritten, now }: NotedParts,
): Promise<void> {
  const subject = subjectOf<string>(contract, tokens);
  const event = { subject, payload, messageId, correlationId };
  if (bus.loneServer !== null && subject.startsWith(WRITTEN_BEHIND))
    await unwritten.addEvent(event, now());
  await publishAgain(bus, event);
}

export async function publishAgain(
  bus: Bus,
  { subject, payload, messageId, correlationId }: UnsyncedEvent,
): Promise<void> {
  const contract = eventOfSubject(subject);
  const tokens = contract === null ? null : tokensOf<string>(contract, subject);
  if (contract === null || tokens === null) throw new TypeError(`${subject} is not an event`);
  await publishEvent(bus, contract, tokens, payload, { messageId, correlationId });
}
