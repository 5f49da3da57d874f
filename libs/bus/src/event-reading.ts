import { setTimeout as delay } from "node:timers/promises";
import type { Msg } from "@nats-io/transport-node";
import { STREAM_NAMES } from "@switchyard/contracts/stream-names";
import type { Connection, ConnectionListener } from "./connection.ts";
import { isAckSubject, readAckSubject } from "./delivery.ts";
import {
  deleteEventConsumer,
  makeEventConsumer,
  type EventConsumer,
  type EventStart,
} from "./event-consumer.ts";
import { PullLoop } from "./pull-loop.ts";

/** A stored event as the consumer delivered it. */
export interface DeliveredEvent {
  readonly message: Msg;
  readonly sequence: number;
  readonly storedAtMs: number;
  /** True when it is the last of those that were stored when the reading began. */
  readonly isLastAtStart: boolean;
}

/** Messages that are asked for ahead of the reader. */
const READ_AHEAD = 100;
const PAUSE_MS = { first: 250, most: 5_000 };

/**
 * Reads the stream of events in its order, each event once. Nothing is acknowledged: whenever something may have been
 * lost, the consumer is made anew behind what has arrived.
 */
export class EventReading implements ConnectionListener {
  readonly #connection: Connection;
  readonly #filters: readonly string[];
  readonly #arrived: DeliveredEvent[] = [];
  #consumer: EventConsumer;
  #pulls: PullLoop;
  /** Where to go on. */
  #next: number;
  /** The delivery of the consumer that comes next. */
  #nextDelivery = 1;
  /** Events of those that were stored at the start that have not arrived. */
  #left: number;
  #waiting: (() => void) | null = null;
  #isRestarting = false;
  #isClosed = false;

  /** Rejects with a ServiceError, as {@link makeEventConsumer} does. */
  static async open(
    connection: Connection,
    filters: readonly string[],
    start: EventStart,
  ): Promise<EventReading> {
    const consumer = await makeEventConsumer(connection, filters, start);
    return new EventReading(connection, filters, consumer);
  }

  private constructor(connection: Connection, filters: readonly string[], consumer: EventConsumer) {
    this.#connection = connection;
    this.#filters = filters;
    this.#consumer = consumer;
    this.#next = consumer.first;
    this.#left = consumer.pending;
    this.#pulls = this.#pull();
    connection.listeners.add(this);
  }

  /** True when nothing that was stored at the start is still to come. */
  get isAtEnd(): boolean {
    return this.#left === 0 && this.#arrived.length === 0;
  }

  /** Null when the reading is closed, and when `stopAtEnd` is true and the end was reached. */
  async next(stopAtEnd: boolean): Promise<DeliveredEvent | null> {
    for (;;) {
      if (this.#isClosed || (stopAtEnd && this.isAtEnd)) return null;
      const event = this.#arrived.shift();
      if (event !== undefined) {
        if (this.#arrived.length === READ_AHEAD / 2) this.#pulls.slotFreed();
        return event;
      }
      this.#pulls.slotFreed();
      await new Promise<void>((resolve) => {
        this.#waiting = resolve;
      });
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#connection.listeners.delete(this);
    this.#wake();
    await this.#pulls.stop();
    await deleteEventConsumer(this.#connection, this.#consumer.name);
  }

  disconnected(): void {
    // What is under way is lost, and the server may be another one when it is back.
    this.#pulls.close();
  }

  reconnected(): void {
    void this.#restart();
  }

  publishRefused(): void {
    // The pull loop tells of it.
  }

  #pull(): PullLoop {
    const { name } = this.#consumer;
    const pulls = new PullLoop(this.#connection, {
      consumer: { stream: STREAM_NAMES.events, name },
      freeSlots: () => READ_AHEAD - this.#arrived.length,
      onMessage: (message) => {
        if (pulls === this.#pulls) this.#take(message);
      },
      // Most often the consumer is gone: the reader took nothing for a while, or the server was started anew.
      onTrouble: () => void this.#restart(),
    });
    return pulls;
  }

  #take(message: Msg): void {
    const { reply = "" } = message;
    if (this.#isRestarting || !isAckSubject(reply)) return;
    const { streamSequence, consumerSequence, publishedAtMs, pending } = readAckSubject(reply);
    if (consumerSequence !== this.#nextDelivery) {
      void this.#restart();
      return;
    }
    this.#nextDelivery += 1;
    this.#next = streamSequence + 1;
    const wasLeft = this.#left > 0;
    this.#left = Math.min(Math.max(0, this.#left - 1), pending);
    const isLastAtStart = wasLeft && this.#left === 0;
    this.#arrived.push({
      message,
      sequence: streamSequence,
      storedAtMs: publishedAtMs,
      isLastAtStart,
    });
    this.#wake();
  }

  /** Tries until there is a consumer again, or nobody reads any more. */
  async #restart(): Promise<void> {
    if (this.#isRestarting || this.#isClosed) return;
    this.#isRestarting = true;
    void this.#pulls.stop();
    const old = this.#consumer.name;
    for (let pauseMs = PAUSE_MS.first; !this.#isClosed; pauseMs = nextPause(pauseMs)) {
      if (this.#connection.isConnected() && (await this.#renew(old))) break;
      await delay(pauseMs);
    }
    this.#isRestarting = false;
  }

  async #renew(old: string): Promise<boolean> {
    const connection = this.#connection;
    try {
      await deleteEventConsumer(connection, old);
      const made = await makeEventConsumer(connection, this.#filters, this.#next);
      this.#consumer = made;
      if (this.#isClosed) {
        await deleteEventConsumer(connection, made.name);
        return true;
      }
      this.#nextDelivery = 1;
      this.#left = Math.min(this.#left, made.pending);
      this.#pulls = this.#pull();
      this.#wake();
      return true;
    } catch {
      return false; // the next try may find the server, or a free name
    }
  }

  #wake(): void {
    this.#waiting?.();
    this.#waiting = null;
  }
}

function nextPause(pauseMs: number): number {
  return Math.min(2 * pauseMs, PAUSE_MS.most);
}
