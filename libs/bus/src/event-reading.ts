import { setTimeout as delay } from "node:timers/promises";
import type { Msg } from "@nats-io/transport-node";
import { ServiceError } from "@switchyard/contracts/errors";
import { STREAM_NAMES } from "@switchyard/contracts/stream-names";
import type { Connection, ConnectionListener } from "./connection.ts";
import { isAckSubject, readAckSubject } from "./delivery.ts";
import { deleteEventConsumer, makeEventConsumer, type EventConsumer } from "./event-consumer.ts";
import { hasPassed, type EventPlace } from "./event-place.ts";
import { PullLoop } from "./pull-loop.ts";

/** The start of a reading: the end of what is stored now, a sequence, or the position behind an event that its reader received. */
export type ReadingStart = "now" | { readonly sequence: number } | { readonly after: EventPlace };

export interface Reading {
  readonly filters: readonly string[];
  /** The reading ends behind what is stored when it begins. */
  readonly toEnd: boolean;
  /** After so long without an event or the end, a reading to the end fails. */
  readonly stalledMs?: number;
}

/** A start that resumes: `since` is a place whose event the stream lacks, and only its time separates what came later. */
type GoingOn = Exclude<ReadingStart, "now"> | { readonly since: EventPlace };

/** A stored event as the consumer delivered it. */
export interface DeliveredEvent {
  readonly message: Msg;
  readonly sequence: number;
  readonly storedAtMs: number;
}

/** Messages that are requested ahead of the reader. */
const READ_AHEAD = 100;
const PAUSE_MS = { first: 250, most: 5_000 };
/** A reading to the end that gets neither an event nor the end for so long fails. */
const STALLED_MS = 30_000;
/**
 * Clocks of a cluster's servers may differ by that much: a reading that begins by a time begins so much earlier, and events that its reader
 * has are left out.
 */
const CLOCKS_MS = 1_000;

/**
 * Reads the stream of events in its order, each event once. Nothing is acknowledged: whenever something may have been lost, the consumer is
 * made anew behind the last event that arrived. Its first delivery is expected to be that event: when it is another one, the stream has
 * lost its end and assigns sequences again, or that event has expired. Then the reading resumes by the time of that event, since events
 * stored after a loss have a later time. An event that was lost after it had arrived, and is published again, arrives again.
 *
 * A reading to the end ends where the server reports no further message. It does not count: after a crash or a full disk nats-server may
 * report more pending messages than it has.
 */
export class EventReading implements ConnectionListener {
  readonly #connection: Connection;
  readonly #filters: readonly string[];
  readonly #arrived: DeliveredEvent[] = [];
  #consumer: EventConsumer;
  #pulls: PullLoop;
  #goOn: GoingOn;
  /** The first delivery of the consumer if the stream has lost nothing; null once that is checked. */
  #expected: EventPlace | null;
  /** The delivery of the consumer that comes next. */
  #nextDelivery = 1;
  /** A reading to the end leaves out what is stored after this time, by the server's clock; null for a reading without an end. */
  readonly #endsAtMs: number | null;
  readonly #stalledMs: number;
  #isAtEnd = false;
  #waiting: (() => void) | null = null;
  #isRestarting = false;
  #isClosed = false;

  /** Rejects with a ServiceError, as {@link makeEventConsumer} does. */
  static async open(
    connection: Connection,
    reading: Reading,
    start: ReadingStart,
  ): Promise<EventReading> {
    const { filters } = reading;
    if (start !== "now")
      return new EventReading(connection, reading, await begin(connection, filters, start));
    const consumer = await makeEventConsumer(connection, filters, start);
    // Its first event may get a number that is given again.
    return new EventReading(connection, reading, { consumer, goOn: { since: consumer.begin } });
  }

  private constructor(
    connection: Connection,
    { filters, toEnd, stalledMs = STALLED_MS }: Reading,
    { consumer, goOn }: Begun,
  ) {
    this.#connection = connection;
    this.#filters = filters;
    this.#stalledMs = stalledMs;
    this.#endsAtMs = toEnd ? consumer.begin.storedAtMs + CLOCKS_MS : null;
    this.#consumer = consumer;
    this.#goOn = goOn;
    this.#expected = "after" in goOn ? goOn.after : null;
    this.#pulls = this.#pull();
    connection.listeners.add(this);
  }

  /**
   * Null when the reading is closed and, for a reading to the end, behind the last event. Rejects with a ServiceError `timeout`
   * when a reading to the end stalls.
   */
  async next(): Promise<DeliveredEvent | null> {
    const stall = { isOver: false };
    const timer =
      this.#endsAtMs === null || this.#arrived.length > 0
        ? undefined
        : setTimeout(() => {
            stall.isOver = true;
            this.#wake();
          }, this.#stalledMs);
    try {
      for (;;) {
        if (this.#isClosed) return null;
        const event = this.#arrived.shift();
        if (event !== undefined) {
          if (this.#arrived.length === READ_AHEAD / 2) this.#pulls.slotFreed();
          return event;
        }
        if (this.#isAtEnd) return null;
        if (stall.isOver) throw stalled(this.#stalledMs);
        this.#pulls.slotFreed();
        await new Promise<void>((resolve) => {
          this.#waiting = resolve;
        });
      }
    } finally {
      clearTimeout(timer);
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
    // Messages in flight are lost, and it may be another server when the connection is back.
    this.#pulls.close();
  }

  reconnected(): void {
    void this.#restart();
  }

  publishRefused(): void {
    // The pull loop reports it.
  }

  #pull(): PullLoop {
    const { name } = this.#consumer;
    const pulls = new PullLoop(this.#connection, {
      consumer: { stream: STREAM_NAMES.events, name },
      freeSlots: () => READ_AHEAD - this.#arrived.length,
      onMessage: (message) => {
        if (pulls === this.#pulls) this.#take(message);
      },
      // Most often the consumer is gone: the reader took nothing for a while, or the server was restarted.
      onTrouble: () => void this.#restart(),
      ...(this.#endsAtMs === null
        ? {}
        : {
            onEnd: () => {
              if (pulls === this.#pulls) this.#reachEnd();
            },
          }),
    });
    return pulls;
  }

  #reachEnd(): void {
    if (this.#isRestarting) return;
    if (this.#expected !== null) return this.#goOnSince(this.#expected);
    this.#isAtEnd = true;
    this.#wake();
  }

  /** The event at this position, which the consumer was to deliver first, is not in the stream any more. */
  #goOnSince(lost: EventPlace): void {
    this.#goOn = { since: lost };
    void this.#restart();
  }

  #take(message: Msg): void {
    const { reply = "" } = message;
    if (this.#isRestarting || !isAckSubject(reply)) return;
    const { streamSequence, consumerSequence, publishedAtMs } = readAckSubject(reply);
    if (consumerSequence !== this.#nextDelivery) {
      void this.#restart();
      return;
    }
    this.#nextDelivery += 1;
    const place = { sequence: streamSequence, storedAtMs: publishedAtMs };
    const expected = this.#expected;
    this.#expected = null;
    if (expected !== null && !isSame(expected, place)) return this.#goOnSince(expected);
    if (this.#endsAtMs !== null && publishedAtMs > this.#endsAtMs) this.#isAtEnd = true;
    if (!this.#isAtEnd && expected === null && !this.#isKnown(place)) {
      this.#goOn = { after: place };
      this.#arrived.push({ message, ...place });
    }
    this.#wake();
  }

  #isKnown(place: EventPlace): boolean {
    return "since" in this.#goOn && hasPassed(this.#goOn.since, place);
  }

  /** Retries until there is a consumer again, or the reading is closed. */
  async #restart(): Promise<void> {
    if (this.#isRestarting || this.#isClosed || this.#isAtEnd) return;
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
      const { consumer, goOn } = await begin(connection, this.#filters, this.#goOn);
      this.#consumer = consumer;
      if (this.#isClosed) {
        await deleteEventConsumer(connection, consumer.name);
        return true;
      }
      this.#goOn = goOn;
      this.#expected = "after" in goOn ? goOn.after : null;
      this.#nextDelivery = 1;
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

interface Begun {
  readonly consumer: EventConsumer;
  readonly goOn: GoingOn;
}

async function begin(
  connection: Connection,
  filters: readonly string[],
  goOn: GoingOn,
): Promise<Begun> {
  if ("sequence" in goOn)
    return { consumer: await makeEventConsumer(connection, filters, goOn), goOn };
  if ("since" in goOn) return beginByTime(connection, filters, goOn.since);
  const { sequence } = goOn.after;
  const consumer = await makeEventConsumer(connection, filters, { sequence });
  if (consumer.pending > 0) return { consumer, goOn };
  await deleteEventConsumer(connection, consumer.name);
  return beginByTime(connection, filters, goOn.after);
}

async function beginByTime(
  connection: Connection,
  filters: readonly string[],
  since: EventPlace,
): Promise<Begun> {
  const timeMs = Math.max(0, since.storedAtMs - CLOCKS_MS);
  const consumer = await makeEventConsumer(connection, filters, { timeMs });
  return { consumer, goOn: { since } };
}

function isSame(a: EventPlace, b: EventPlace): boolean {
  return a.sequence === b.sequence && a.storedAtMs === b.storedAtMs;
}

function nextPause(pauseMs: number): number {
  return Math.min(2 * pauseMs, PAUSE_MS.most);
}

function stalled(ms: number): ServiceError {
  const message = `stream ${STREAM_NAMES.events} delivered neither an event nor its end for ${ms / 1_000} s; read it again, and look at nats-server if that repeats`;
  return new ServiceError("timeout", message);
}
