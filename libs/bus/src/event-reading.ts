import { setTimeout as delay } from "node:timers/promises";
import type { Msg } from "@nats-io/transport-node";
import { STREAM_NAMES } from "@switchyard/contracts/stream-names";
import type { Connection, ConnectionListener } from "./connection.ts";
import { isAckSubject, readAckSubject } from "./delivery.ts";
import { deleteEventConsumer, makeEventConsumer, type EventConsumer } from "./event-consumer.ts";
import { hasPassed, type EventPlace } from "./event-place.ts";
import { PullLoop } from "./pull-loop.ts";

/** Where a reading begins: behind what is stored now, at a sequence, or behind an event that its reader had. */
export type ReadingStart = "now" | { readonly sequence: number } | { readonly after: EventPlace };

/** As it goes on: `since` is a place whose event the stream does not have, and only its time says what came later. */
type GoingOn = Exclude<ReadingStart, "now"> | { readonly since: EventPlace };

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
/** Servers of a cluster may differ by that much: who began by a time begins so much earlier, and what its reader had is left out. */
const CLOCKS_MS = 1_000;

/**
 * Reads the stream of events in its order, each event once. Nothing is acknowledged: whenever something may have been
 * lost, the consumer is made anew behind what has arrived. Its first delivery is to be the last event that has arrived: when it is
 * another one, the stream has lost its end and gives numbers again, or that event is gone by its age. Then it goes on by the time of
 * that event, since whatever is stored after a loss is stored later. What was lost after it had arrived, and is published again, arrives again.
 */
export class EventReading implements ConnectionListener {
  readonly #connection: Connection;
  readonly #filters: readonly string[];
  readonly #arrived: DeliveredEvent[] = [];
  #consumer: EventConsumer;
  #pulls: PullLoop;
  #goOn: GoingOn;
  /** What the consumer delivers first if the stream has lost nothing; null once that is known. */
  #expected: EventPlace | null;
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
    start: ReadingStart,
  ): Promise<EventReading> {
    if (start !== "now")
      return new EventReading(connection, filters, await begin(connection, filters, start));
    const consumer = await makeEventConsumer(connection, filters, start);
    // Its first event may get a number that is given again.
    return new EventReading(connection, filters, { consumer, goOn: { since: consumer.begin } });
  }

  private constructor(
    connection: Connection,
    filters: readonly string[],
    { consumer, goOn }: Begun,
  ) {
    this.#connection = connection;
    this.#filters = filters;
    this.#consumer = consumer;
    this.#goOn = goOn;
    this.#expected = "after" in goOn ? goOn.after : null;
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
    const place = { sequence: streamSequence, storedAtMs: publishedAtMs };
    const expected = this.#expected;
    this.#expected = null;
    if (expected !== null && !isSame(expected, place)) {
      this.#goOn = { since: expected };
      void this.#restart();
      return;
    }
    const wasLeft = this.#left > 0;
    this.#left = Math.min(Math.max(0, this.#left - 1), pending);
    const isLastAtStart = wasLeft && this.#left === 0;
    if (expected === null && !this.#isKnown(place)) {
      this.#goOn = { after: place };
      this.#arrived.push({ message, ...place, isLastAtStart });
    }
    this.#wake();
  }

  #isKnown(place: EventPlace): boolean {
    return "since" in this.#goOn && hasPassed(this.#goOn.since, place);
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
      const { consumer, goOn } = await begin(connection, this.#filters, this.#goOn);
      this.#consumer = consumer;
      if (this.#isClosed) {
        await deleteEventConsumer(connection, consumer.name);
        return true;
      }
      this.#goOn = goOn;
      this.#expected = "after" in goOn ? goOn.after : null;
      this.#nextDelivery = 1;
      this.#left = leftOf(this.#left, { consumer, goOn });
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

/** What is left of the events that were stored at the start, with what the consumer delivers of those that have arrived. */
function leftOf(before: number, { consumer, goOn }: Begun): number {
  if ("since" in goOn) return consumer.pending;
  return Math.min("after" in goOn ? before + 1 : before, consumer.pending);
}

function isSame(a: EventPlace, b: EventPlace): boolean {
  return a.sequence === b.sequence && a.storedAtMs === b.storedAtMs;
}

function nextPause(pauseMs: number): number {
  return Math.min(2 * pauseMs, PAUSE_MS.most);
}
