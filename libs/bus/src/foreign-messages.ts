import { setTimeout as delay } from "node:timers/promises";
import { nanos, type Msg } from "@nats-io/transport-node";
import type { Bus } from "./bus.ts";
import { connectionOf, type Connection, type Receiver } from "./connection.ts";
import { isAckSubject, readAckSubject } from "./delivery.ts";
import { forbidden, jetStreamError, type ApiError } from "./infrastructure-errors.ts";
import { InFlight } from "./in-flight.ts";
import { headerOf } from "./message-headers.ts";
import { PullLoop } from "./pull-loop.ts";
import { giveBack } from "./receipt.ts";
import { isServerMade } from "./server-made.ts";
import { subscribe } from "./subscription.ts";
import { parseJson, parseObject } from "./wire.ts";

/** A message outside the contracts. Any client with permission to publish on its subject may have written it. */
export interface ForeignMessage {
  readonly subject: string;
  readonly text: string;
  /** The id that its publisher chose for the stream, in `Nats-Msg-Id`. */
  readonly messageId: string | null;
  /** Its position in the stream; null for a message that was received as it was published. */
  readonly sequence: number | null;
}

/**
 * Subscribes to a subject, which may have wildcards; of all replicas of this user, one receives each message. Delivery is at most once:
 * nothing is stored for replicas that are not connected. Messages that the server itself sends there, as the answer to a client's request,
 * are dropped. `onRefused` is called when the server's permissions refuse the subscription.
 */
export function subscribeForeign(
  bus: Bus,
  options: {
    readonly subject: string;
    readonly onMessage: (message: ForeignMessage) => void;
    readonly onRefused: (error: unknown) => void;
  },
): { stop(): void } {
  const connection = connectionOf(bus);
  const { subject, onMessage, onRefused } = options;
  return subscribe(connection, subject, {
    queue: connection.user,
    callback: (error, message) => {
      if (error !== null) return onRefused(forbidden("subscribe", connection.user, subject));
      const isDelivered = message.reply !== undefined && isAckSubject(message.reply);
      // A consumer of a stream may be configured to deliver messages of another subject to this one.
      if (isDelivered || !covers(subject, message.subject) || isAnswer(message)) return;
      onMessage(foreignMessage(message, null));
    },
  });
}

export interface ReadStreamOptions {
  readonly stream: string;
  /** The durable consumer, which all replicas share; it is made here, and the server removes it after 30 days without a reader. */
  readonly consumer: string;
  readonly subject: string;
  /** The start of a new consumer: behind what is stored, or at the beginning. */
  readonly from: "new" | "all";
  /** Messages that are delivered and not done, of all replicas together. */
  readonly atOnce: number;
  /** `retryMs`: the message is delivered again after so long. A throw is the same, after 2 s. */
  readonly handle: (message: ForeignMessage) => Promise<"done" | { readonly retryMs: number }>;
  /** Called once per outage, when the stream cannot be read; the reading is retried. */
  readonly onFault: (error: unknown) => void;
}

const CREATE_TIMEOUT_MS = 5_000;
const CREATE_RETRY_MS = 5_000;
/** Messages of a process that died are redelivered after this time, which is longer than it takes to record one. */
const ACK_WAIT_MS = 10_000;
const ACK_TIMEOUT_MS = 5_000;
const FAILED_RETRY_MS = 2_000;
const UNUSED_MS = 30 * 86_400_000;
const STOP_MS = 20_000;

/** Reads a stream that is not Switchyard's, each message at least once. */
export function readStream(bus: Bus, options: ReadStreamOptions): { stop(): Promise<void> } {
  const connection = connectionOf(bus);
  const { stream, consumer, atOnce, handle, onFault } = options;
  const running = new InFlight();
  const stopping = new AbortController();
  let making: Promise<void> | null = null;

  const make = async (): Promise<void> => {
    for (let isReported = false; !stopping.signal.aborted; isReported = true) {
      try {
        await makeConsumer(connection, options);
        return;
      } catch (error) {
        if (!isReported) onFault(error);
        await delay(CREATE_RETRY_MS, undefined, { signal: stopping.signal }).catch(() => {}); // stopped
      }
    }
  };
  const work = async (message: Msg): Promise<void> => {
    try {
      const { streamSequence } = readAckSubject(message.reply ?? "");
      const answer = isAnswer(message)
        ? "done"
        : await handle(foreignMessage(message, streamSequence));
      if (answer !== "done") return giveBack(connection, message, answer.retryMs);
      const request = { subject: message.reply ?? "", body: "+ACK", timeoutMs: ACK_TIMEOUT_MS };
      await connection.replies.request(request);
    } catch (error) {
      if (!stopping.signal.aborted) onFault(error);
      giveBack(connection, message, FAILED_RETRY_MS);
    }
  };
  const again = (): void => {
    making ??= make().finally(() => (making = null));
  };
  let pulls: PullLoop | null = null;
  const begin = async (): Promise<void> => {
    await make();
    if (stopping.signal.aborted) return;
    pulls = new PullLoop(connection, {
      consumer: { stream, name: consumer },
      freeSlots: () => atOnce - running.size,
      onMessage: (message) => {
        const seat = running.begin({ abort: () => {} });
        void work(message).finally(() => {
          running.end(seat);
          pulls?.slotFreed();
        });
      },
      onTrouble: (error) => {
        onFault(error);
        // The consumer may have been removed, or its stream made anew.
        again();
      },
    });
  };
  const beginning = begin();
  const receiver: Receiver = {
    async stop(deadlineMs) {
      stopping.abort();
      await beginning;
      await pulls?.stop();
      await making;
      await running.settle(deadlineMs);
      connection.receivers.delete(receiver);
    },
    closed() {
      stopping.abort();
      pulls?.close();
    },
  };
  connection.receivers.add(receiver);
  return { stop: () => receiver.stop(STOP_MS) };
}

/** `$JS.API.CONSUMER.CREATE`, which changes one that is there: https://docs.nats.io/reference/reference-protocols/nats_api_reference. */
async function makeConsumer(
  { replies }: Connection,
  { stream, consumer, subject, from, atOnce }: ReadStreamOptions,
): Promise<void> {
  const config = {
    name: consumer,
    durable_name: consumer,
    description: "A trigger of Switchyard",
    filter_subject: subject,
    deliver_policy: from,
    ack_policy: "explicit",
    ack_wait: nanos(ACK_WAIT_MS),
    // A message that waits for its turn stays in the stream, and is not redelivered over and over.
    max_ack_pending: atOnce,
    max_deliver: -1,
    inactive_threshold: nanos(UNUSED_MS),
  };
  const answer = await replies.request({
    subject: `$JS.API.CONSUMER.CREATE.${stream}.${consumer}.${subject}`,
    body: JSON.stringify({ stream_name: stream, action: "", config }),
    timeoutMs: CREATE_TIMEOUT_MS,
  });
  const error = parseObject(answer.string())?.["error"];
  // The error in the server's answer is JetStream's own.
  if (error !== undefined) throw jetStreamError(`stream ${stream}`, error as ApiError);
}

function foreignMessage(message: Msg, sequence: number | null): ForeignMessage {
  const messageId = headerOf(message, "Nats-Msg-Id") ?? null;
  return { subject: message.subject, text: message.string(), messageId, sequence };
}

/** A message that the server sent itself does not show which client requested it. */
function isAnswer(message: Msg): boolean {
  const body = parseJson(message.string());
  return isServerMade(message, body.ok ? body.value : null);
}

function covers(filter: string, subject: string): boolean {
  const wanted = filter.split(".");
  const parts = subject.split(".");
  const isOpen = wanted.at(-1) === ">";
  if (isOpen ? parts.length < wanted.length : parts.length !== wanted.length) return false;
  return wanted.every((token, index) => token === "*" || token === ">" || token === parts[index]);
}
