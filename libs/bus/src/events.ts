import {
  DeliverPolicy,
  jetstream,
  jetstreamManager,
  type ConsumerMessages,
  type JsMsg,
} from "@nats-io/jetstream";
import { subjectOf, type Event, type Live, type Tokens } from "@switchyard/contracts/define";
import { HEADERS } from "@switchyard/contracts/headers";
import { eventOfSubject } from "@switchyard/contracts/registry";
import { eventStream } from "@switchyard/contracts/streams";
import type { z } from "zod";
import { ClaimError } from "./claim-check.ts";
import type { Bus } from "./connect.ts";
import { connectionOf, type Connection, type Intake } from "./connection.ts";
import { infrastructureError } from "./infrastructure-errors.ts";
import { parseJson } from "./wire.ts";

export interface StoredEvent {
  readonly subject: string;
  /** Null for a subject that nobody declared, and for a payload that cannot be read. */
  readonly contract: Event | null;
  /** The JSON value as it was published; null when it cannot be read. */
  readonly payload: unknown;
  /** Position in the stream: start there + 1 to go on. */
  readonly sequence: number;
  readonly time: Date;
  readonly correlationId: string | null;
}

export interface ReadEventsOptions {
  /** Subjects with wildcards, such as `yard.evt.run.{owner}.{runId}.*`. Clients that may read their own events only can give one. */
  readonly filters: readonly string[];
  readonly from: "beginning" | "now" | { readonly sequence: number };
  /** Ends the reading without an error. */
  readonly signal?: AbortSignal;
  /** Ends after what is stored at the start of the reading. */
  readonly stopAtEnd?: boolean;
}

/**
 * Reads stored events in order, each once, and then waits for new ones. A reading survives
 * connection losses. Rejects with a ServiceError when the stream is missing or may not be read.
 */
export async function* readEvents(
  bus: Bus,
  options: ReadEventsOptions,
): AsyncGenerator<StoredEvent, void, undefined> {
  const connection = connectionOf(bus);
  const { signal } = options;
  const reading = await open(connection, options);
  const end = (): void => void reading.close();
  const intake: Intake = { stop: () => reading.close(), closed: () => {} };
  connection.intakes.add(intake);
  signal?.addEventListener("abort", end, { once: true });
  try {
    if (isAborted(signal) || (options.stopAtEnd === true && reading.pendingAtStart === 0)) return;
    for await (const message of reading.messages) {
      yield await storedEvent(connection, message);
      if (isAborted(signal)) return;
      if (
        options.stopAtEnd === true &&
        (message.seq >= reading.lastAtStart || message.info.pending === 0)
      )
        return;
    }
  } finally {
    signal?.removeEventListener("abort", end);
    connection.intakes.delete(intake);
    await reading.close();
  }
}

/** Listens to live messages from now on, at most once each; what does not fit the contract is dropped. */
export function subscribeLive<L extends Live>(
  bus: Bus,
  contract: L,
  tokens: Tokens<L["subject"]>,
  onMessage: (payload: z.output<L["payload"]>) => void,
): { stop(): void } {
  const connection = connectionOf(bus);
  const subject = subjectOf<string>(contract, tokens);
  const subscription = connection.nc.subscribe(subject, {
    callback: (error, message) => {
      if (error !== null) return; // a refused subscription is told by the bus's onStatus
      if (message.subject !== subject) return; // sent here by somebody's push consumer
      const body = parseJson(message.string());
      const payload = body.ok ? contract.payload.safeParse(body.value) : null;
      if (payload?.success === true) onMessage(payload.data as z.output<L["payload"]>); // L's own schema parsed it
    },
  });
  const stop = (): void => {
    connection.intakes.delete(intake);
    if (!subscription.isClosed()) subscription.unsubscribe();
  };
  const intake: Intake = { stop: () => Promise.resolve(stop()), closed: () => {} };
  connection.intakes.add(intake);
  return { stop };
}

interface Reading {
  readonly messages: ConsumerMessages;
  /** Last sequence of the stream when the reading began. */
  readonly lastAtStart: number;
  /** Stored events that the filters select, when the reading began. */
  readonly pendingAtStart: number;
  close(): Promise<void>;
}

async function open(connection: Connection, options: ReadEventsOptions): Promise<Reading> {
  const { nc, user } = connection;
  const { filters } = options;
  const [first = ""] = filters;
  try {
    const manager = await jetstreamManager(nc, { checkAPI: false });
    const { state } = await manager.streams.info(eventStream.name);
    // Always by sequence: a consumer of "new" events that is made again after a loss would begin at 1.
    const consumer = await jetstream(nc).consumers.get(eventStream.name, {
      // A single one stands in the request's subject, where the server's permissions see it.
      filter_subjects: filters.length === 1 ? first : [...filters],
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: startSequence(options.from, state.last_seq),
    });
    const { num_pending: pendingAtStart } = await consumer.info(true);
    const messages = await consumer.consume();
    const close = async (): Promise<void> => {
      void messages.close(); // its promise waits for a loop that may never have begun
      if (connection.isConnected()) await consumer.delete().catch(() => false); // else the server removes it by itself
    };
    return { messages, lastAtStart: state.last_seq, pendingAtStart, close };
  } catch (error) {
    throw infrastructureError(error, user, `stream ${eventStream.name}`);
  }
}

function startSequence(from: ReadEventsOptions["from"], last: number): number {
  if (from === "beginning") return 1;
  if (from === "now") return last + 1;
  return Math.max(1, from.sequence);
}

async function storedEvent(connection: Connection, message: JsMsg): Promise<StoredEvent> {
  const body = parseJson(await textOf(connection, message));
  return {
    subject: message.subject,
    contract: body.ok ? eventOfSubject(message.subject) : null,
    payload: body.ok ? body.value : null,
    sequence: message.seq,
    time: message.time,
    correlationId: message.headers?.get(HEADERS.correlationId) || null,
  };
}

async function textOf(connection: Connection, message: JsMsg): Promise<string> {
  const claim = message.headers?.get(HEADERS.claim) || undefined;
  if (claim === undefined) return message.string();
  try {
    return await connection.claims.get(claim, null);
  } catch (error) {
    if (error instanceof ClaimError) return ""; // gone for good: the event is told without its payload
    throw error;
  }
}

function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}
