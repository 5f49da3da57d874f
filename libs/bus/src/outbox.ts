import type { MsgHdrs, NatsConnection } from "@nats-io/transport-node";

export interface OutgoingMessage {
  readonly subject: string;
  readonly body: string | Uint8Array;
  readonly reply?: string;
  readonly headers?: MsgHdrs;
  /** Hears why the client library did not take it. */
  readonly onError?: (error: unknown) => void;
}

/**
 * Sends the first message of a turn of the event loop at once, and all others of that turn in one write:
 * the client library writes for each message, and under load those system calls cost more than
 * anything else that we do for one.
 */
export class Outbox {
  readonly #nc: NatsConnection;
  #waiting: OutgoingMessage[] = [];
  #isGathering = false;

  constructor(nc: NatsConnection) {
    this.#nc = nc;
  }

  /** Keeps the order of what is sent. Never throws. */
  send(message: OutgoingMessage): void {
    if (this.#isGathering) {
      this.#waiting.push(message);
      return;
    }
    this.#isGathering = true;
    setImmediate(() => {
      this.#isGathering = false;
      this.flush();
    });
    this.#publish(message);
  }

  /** Hands everything to the client library now, such as before a flush or the end. */
  flush(): void {
    const messages = this.#waiting;
    if (messages.length === 0) return;
    this.#waiting = [];
    for (const message of messages) this.#publish(message);
  }

  #publish({ subject, body, reply, headers, onError }: OutgoingMessage): void {
    try {
      this.#nc.publish(subject, body, {
        ...(reply === undefined ? {} : { reply }),
        ...(headers === undefined ? {} : { headers }),
      });
    } catch (error) {
      onError?.(error);
    }
  }
}
