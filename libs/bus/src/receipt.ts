import type { Msg } from "@nats-io/transport-node";
import type { Connection } from "./connection.ts";
import { readAckSubject, type QueueFacts } from "./delivery.ts";
import { senderPosition } from "./message-headers.ts";

/** The queue's facts about a delivery, and the acknowledgements for it. */
export interface Receipt {
  /** Throws a TypeError when the message is not from a queue. */
  facts(): QueueFacts;
  /** Acknowledges the end of a message and waits until the queue has stored it. */
  confirm(body: string): Promise<void>;
  /** Releases the message for another delivery, after a delay. */
  giveBack(delayMs: number): void;
  /** Reports to the queue that the message is still in progress. */
  keep(): void;
}

const ACK_TIMEOUT_MS = 5_000;
const NANOS_PER_MS = 1_000_000;

/** The receipt of a message that the queue delivered in its turn. */
export class QueueReceipt implements Receipt {
  readonly #connection: Connection;
  readonly #message: Msg;

  constructor(connection: Connection, message: Msg) {
    this.#connection = connection;
    this.#message = message;
  }

  facts(): QueueFacts {
    const { deliveryCount, streamSequence, publishedAtMs } = readAckSubject(this.#subject);
    const holder = String(streamSequence);
    return { deliveryCount, streamSequence, publishedAtMs, isEarly: false, holder };
  }

  async confirm(body: string): Promise<void> {
    // This is first, so that a message that is never delivered again does not count towards the quota for ever: the message comes again
    // when this fails.
    await this.#endAtSender();
    const request = { subject: this.#subject, body, timeoutMs: ACK_TIMEOUT_MS };
    await this.#connection.replies.request(request);
  }

  giveBack(delayMs: number): void {
    giveBack(this.#connection, this.#message, delayMs);
  }

  keep(): void {
    if (this.#connection.isConnected())
      this.#connection.outbox.send({ subject: this.#subject, body: "+WPI" });
  }

  /** Removes the command from the sender's stream, which is the sender's quota. */
  async #endAtSender(): Promise<void> {
    const position = senderPosition(this.#message);
    if (position === null) return;
    await this.#connection.replies.request({
      subject: `$JS.API.STREAM.MSG.DELETE.${position.stream}`,
      body: JSON.stringify({ seq: position.sequence, no_erase: true }),
      timeoutMs: ACK_TIMEOUT_MS,
    });
  }

  get #subject(): string {
    return this.#message.reply ?? "";
  }
}

/** Releases a message for another delivery, after a delay. Without a connection the ack wait does it. */
export function giveBack(connection: Connection, message: Msg, delayMs: number): void {
  if (!connection.isConnected() || connection.nc.isClosed()) return;
  const delay = Math.max(0, Math.round(delayMs)) * NANOS_PER_MS;
  connection.outbox.send({
    subject: message.reply ?? "",
    body: delay === 0 ? "-NAK" : `-NAK ${JSON.stringify({ delay })}`,
  });
}
