import type { ReadEventsOptions, StoredEvent } from "./stored-event.ts";
import { subjectOf, type Event, type Live, type Tokens } from "@switchyard/contracts/define";
import { HEADERS } from "@switchyard/contracts/headers";
import { STREAM_NAMES } from "@switchyard/contracts/stream-names";
import type { Msg } from "@nats-io/transport-node";
import type { z } from "zod";
import { ClaimError } from "./claim-check.ts";
import type { Bus } from "./bus.ts";
import { connectionOf, type Connection, type Receiver } from "./connection.ts";
import {
  EventReading,
  type DeliveredEvent,
  type Reading,
  type ReadingStart,
} from "./event-reading.ts";
import { infrastructureError } from "./infrastructure-errors.ts";
import { subscribe } from "./subscription.ts";
import { parseJson } from "./wire.ts";

/**
 * Reads stored events in order, each once, and then waits for new ones. A reading survives connection losses, and a stream that lost its
 * end in a crash or was restored: it resumes with everything that is stored from then on. An event that the reader received and the stream
 * lost arrives a second time if it is published again. A user that may read its own events only has 32 readings at a time, in all its
 * processes. Rejects with a ServiceError when the stream is missing or may not be read, with `overloaded` when there are too many. With
 * `stopAtEnd` also with `timeout`, when the server delivers neither an event nor the end for 30 s.
 */
export async function* readEvents(
  bus: Bus,
  options: ReadEventsOptions,
): AsyncGenerator<StoredEvent, void, undefined> {
  if (bus.carrier !== undefined) {
    yield* bus.carrier.readEvents(options);
    return;
  }
  const connection = connectionOf(bus);
  const { signal, filters, stopAtEnd = false } = options;
  if (isAborted(signal)) return;
  // The registry loads every contract, which a process that reads no events does not need to wait for.
  const { eventOfSubject } = await import("@switchyard/contracts/registry");
  const reading = await open(connection, { filters, toEnd: stopAtEnd }, startOf(options.from));
  const end = (): void => void reading.close();
  const receiver: Receiver = { stop: () => reading.close(), closed: end };
  connection.receivers.add(receiver);
  signal?.addEventListener("abort", end, { once: true });
  try {
    if (isAborted(signal)) return;
    options.onOpen?.();
    for (;;) {
      const event = await reading.next();
      if (event === null) return;
      yield await storedEvent(connection, event, eventOfSubject);
      if (isAborted(signal)) return;
    }
  } finally {
    signal?.removeEventListener("abort", end);
    connection.receivers.delete(receiver);
    await reading.close();
  }
}

/** Subscribes to live messages from now on, at most once each; a message that does not fit the contract is dropped. */
export function subscribeLive<L extends Live>(
  bus: Bus,
  contract: L,
  tokens: Tokens<L["subject"]>,
  onMessage: (payload: z.output<L["payload"]>) => void,
): { stop(): void } {
  if (bus.carrier !== undefined) return bus.carrier.subscribeLive(contract, tokens, onMessage);
  const connection = connectionOf(bus);
  const subject = subjectOf<string>(contract, tokens);
  return subscribe(connection, subject, {
    callback: (error, message) => {
      if (error !== null) return; // a refused subscription is reported by the bus's onStatus
      if (message.subject !== subject) return; // delivered here by another client's push consumer
      const body = parseJson(message.string());
      const payload = body.ok ? contract.payload.safeParse(body.value) : null;
      if (payload?.success === true) onMessage(payload.data as z.output<L["payload"]>); // L's own schema parsed it
    },
  });
}

async function open(
  connection: Connection,
  reading: Reading,
  start: ReadingStart,
): Promise<EventReading> {
  try {
    return await EventReading.open(connection, reading, start);
  } catch (error) {
    throw infrastructureError(error, connection.user, `stream ${STREAM_NAMES.events}`);
  }
}

function startOf(from: ReadEventsOptions["from"]): ReadingStart {
  if (from === "now") return "now";
  if (from === "beginning") return { sequence: 1 };
  if ("sequence" in from) return { sequence: Math.max(1, from.sequence) };
  // Behind nothing is the beginning.
  return from.after.sequence < 1 ? { sequence: 1 } : from;
}

async function storedEvent(
  connection: Connection,
  { message, sequence, storedAtMs }: DeliveredEvent,
  contractOf: (subject: string) => Event | null,
): Promise<StoredEvent> {
  const body = parseJson(await textOf(connection, message));
  return {
    subject: message.subject,
    contract: body.ok ? contractOf(message.subject) : null,
    payload: body.ok ? body.value : null,
    sequence,
    time: new Date(storedAtMs),
    correlationId: message.headers?.get(HEADERS.correlationId) || null,
  };
}

async function textOf(connection: Connection, message: Msg): Promise<string> {
  const claim = message.headers?.get(HEADERS.claim) || undefined;
  if (claim === undefined) return message.string();
  try {
    return await connection.claims.get(claim, null);
  } catch (error) {
    if (error instanceof ClaimError) return ""; // gone for good: the event is given without its payload
    throw error;
  }
}

function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}
