import type { MsgHdrs, NatsConnection } from "@nats-io/transport-node";

export interface OutgoingMessage {
  readonly subject: string;
  readonly body: string | Uint8Array;
  readonly reply?: string;
  readonly headers?: MsgHdrs;
  /** Called with the client library's error when it refuses the message. */
  readonly onError?: (error: unknown) => void;
}

/**
 * Sends a message that comes alone at once, and messages that come together in one write for each turn of the event loop: the client
 * library writes for each message, and under load those system calls cost more than all other work for one. A turn counts as busy when the
 * turn before it had more than one message; the first message of any other turn does not wait.
 */
export class Outbox {
  readonly #nc: NatsConnection;
  #waiting: OutgoingMessage[] = [];
  #isGathering = false;
  #isBusy = false;
  /** Messages of this turn. */
  #count = 0;

  constructor(nc: NatsConnection) {
    this.#nc = nc;
  }

  /** Keeps the order of what is sent. Never throws. */
  send(message: OutgoingMessage): void {
    this.#count += 1;
    if (this.#isGathering) {
      this.#waiting.push(message);
      return;
    }
    this.#isGathering = true;
    setImmediate(() => this.#endTurn());
    if (this.#isBusy) this.#waiting.push(message);
    else this.#publish(message);
  }

  /** Hands everything to the client library now, such as before a flush or the end. */
  flush(): void {
    const messages = this.#waiting;
    if (messages.length === 0) return;
    this.#waiting = [];
    for (const message of messages) this.#publish(message);
  }

  #endTurn(): void {
    this.#isBusy = this.#count > 1;
    this.#isGathering = false;
    this.#count = 0;
    this.flush();
  }

  #publish({ subject, body, reply, headers, onError }: OutgoingMessage): void {
    // The client library would use a TextEncoder, which takes five times as long for texts as short as these.
    const payload = typeof body === "string" ? Buffer.from(body) : body;
    try {
      this.#nc.publish(subject, payload, {
        ...(reply === undefined ? {} : { reply }),
        ...(headers === undefined ? {} : { headers }),
      });
    } catch (error) {
      onError?.(error);
    }
  }
}
