import { jetstreamManager, type JetStreamManager, type StoredMsg } from "@nats-io/jetstream";
import { setTimeout as delay } from "node:timers/promises";
import type { Msg, Subscription } from "@nats-io/transport-node";
import { laneFilter, laneFilters } from "@switchyard/topology/lanes";
import type { ConsumerDefinition, Lanes } from "@switchyard/topology/streams";
import type { Connection, ConnectionListener } from "./connection.ts";
import { isAckSubject, readAckSubject, type QueueFacts, type QueueMessage } from "./delivery.ts";
import { infrastructureError } from "./infrastructure-errors.ts";
import { LaneTurns, type Lane } from "./lane-turns.ts";
import { randomHex } from "./random-hex.ts";
import type { Receipt } from "./receipt.ts";

interface ReadAheadOptions {
  readonly consumer: Pick<ConsumerDefinition, "stream" | "name">;
  readonly lanes: Lanes;
  /** A lane without work in progress here gets a message: the callback starts a search for it. */
  readonly onArrival: (lane: Lane) => void;
  /** The stream cannot be read, and the queue is worked off in its order. Called once per outage. */
  readonly onTrouble: (error: unknown) => void;
}

/** A message that is taken before its turn. */
export interface EarlyMessage {
  readonly message: QueueMessage;
  readonly receipt: Receipt;
  /** To be called when its work has ended, whatever the outcome. */
  readonly ended: () => void;
}

/** The handling of a message that the queue delivers in its turn. */
export type InTurn =
  | { readonly outcome: "take"; readonly ended: () => void }
  | { readonly outcome: "known"; readonly isDone: boolean };

const NOTHING_TO_DO = (): void => {};

/** The maximum age of the list of waiting messages. */
const FRESH_MS = 100;
/** With more subjects than these, only those of callers are listed: there may be many ids of runs. */
const MAX_LISTED = 500;
const TROUBLE_PAUSE_MS = 5_000;
/** The number of early messages that are remembered. A forgotten one is handled once more. */
const MAX_REMEMBERED = 10_000;
const HOLDER_DIGITS = 16;
/** A command is received when it is sent, and reaches the queue after it came through its sender's stream. */
const ARRIVES_WITHIN_MS = [1, 2, 4, 8, 16, 32, 64] as const;
const ARRIVAL_MS = ARRIVES_WITHIN_MS.reduce<number>((sum, waitMs) => sum + waitMs, 0);

/**
 * Lets lanes take turns, where the queue of JetStream has only first in, first out: while more messages wait than there are free slots, a
 * slot that becomes free checks whether a lane with less in progress has a message in the stream, and takes it from there. The queue itself
 * is not changed: it still delivers the message in its turn, and the replica that gets it finds it done.
 */
export class ReadAhead implements ConnectionListener {
  readonly #connection: Connection;
  readonly #options: ReadAheadOptions;
  readonly #turns: LaneTurns;
  /** Taken early: whether they are done, by their position in the stream. */
  readonly #early = new Map<string, { isDone: boolean }>();
  #manager: Promise<JetStreamManager> | null = null;
  #hasBacklog = false;
  #lastDelivered = 0;
  #refreshedAt = -Infinity;
  /** The number of subjects in the stream at the last query. */
  #storedSubjects = 0;
  #pausedUntil = -Infinity;
  #isTroubled = false;
  #isLooking = false;
  readonly #arrivals: readonly Subscription[];

  constructor(connection: Connection, options: ReadAheadOptions) {
    this.#connection = connection;
    this.#options = options;
    const { lanes, consumer } = options;
    this.#turns = new LaneTurns(lanes);
    connection.listeners.add(this);
    const callback = (error: Error | null, { subject }: Msg): void => {
      if (error === null) this.#received(subject);
    };
    // Each command is received by one of all processes.
    const queue = consumer.name;
    this.#arrivals = laneFilters(lanes).map((filter) =>
      connection.nc.subscribe(filter, { queue, callback }),
    );
  }

  close(): void {
    this.#connection.listeners.delete(this);
    for (const subscription of this.#arrivals)
      if (!subscription.isClosed()) subscription.unsubscribe();
  }

  /** True when more messages wait than the queue delivered. */
  get hasBacklog(): boolean {
    return this.#hasBacklog;
  }

  disconnected(): void {
    this.#hasBacklog = false;
    this.#lastDelivered = 0;
    this.#turns.restart();
  }

  reconnected(): void {
    this.#pausedUntil = -Infinity;
  }

  publishRefused(): void {
    // The request fails, too.
  }

  /** Called for each message that the queue delivers. */
  delivered({ subject, reply = "" }: Msg): InTurn {
    const facts = isAckSubject(reply) ? readAckSubject(reply) : null;
    if (facts === null) return { outcome: "take", ended: NOTHING_TO_DO };
    const { deliveryCount, streamSequence, pending } = facts;
    this.#hasBacklog = pending > 0;
    if (deliveryCount === 1) this.#lastDelivered = Math.max(this.#lastDelivered, streamSequence);
    const position = positionOf(facts);
    const early = this.#early.get(position);
    if (early === undefined) {
      const lane = this.#turns.take(subject, true);
      return { outcome: "take", ended: () => this.#left(lane) };
    }
    if (early.isDone) this.#early.delete(position);
    return { outcome: "known", isDone: early.isDone };
  }

  /** Checks whether a lane is to be served before the queue. Returns null at once when there is none; never rejects. */
  look(): Promise<EarlyMessage | null> | null {
    const now = performance.now();
    if (!this.#hasBacklog || this.#isLooking || now < this.#pausedUntil) return null;
    const isFresh = now - this.#refreshedAt < FRESH_MS;
    if (isFresh && this.#turns.next() === null) return null;
    this.#isLooking = true;
    return this.#search(isFresh)
      .catch((error: unknown) => this.#failed(error))
      .finally(() => {
        this.#isLooking = false;
      });
  }

  /**
   * Searches for the message that a lane was notified of, wherever the queue is, until no other replica has it and until the lane has
   * nothing in progress here. Never rejects.
   */
  async seek(lane: Lane): Promise<EarlyMessage | null> {
    try {
      const manager = await this.#managed();
      for (const waitMs of ARRIVES_WITHIN_MS) {
        await delay(waitMs);
        if (lane.inWork > 0) return null;
        const found = await this.#undelivered(manager, lane);
        if (found === null) continue;
        lane.from = found.seq + 1;
        return this.#take(found);
      }
      return null;
    } catch (error) {
      return this.#failed(error);
    }
  }

  /** The lane's next message that the queue has not delivered. */
  async #undelivered(manager: JetStreamManager, lane: Lane): Promise<StoredMsg | null> {
    const { stream, name } = this.#options.consumer;
    const { delivered } = await manager.consumers.info(stream, name);
    return this.#read(manager, lane, delivered.stream_seq + 1);
  }

  #received(subject: string): void {
    const now = performance.now();
    const lane = this.#turns.markWaiting(subject, now);
    if (lane?.inWork === 0) this.#arrived(lane, now);
  }

  /** A sender that is notified of the end of its work may send the next before it has left here. */
  #left(lane: Lane): void {
    const now = performance.now();
    if (this.#turns.left(lane, now - ARRIVAL_MS)) this.#arrived(lane, now);
  }

  #arrived(lane: Lane, now: number): void {
    if (now >= this.#pausedUntil) this.#options.onArrival(lane);
  }

  #managed(): Promise<JetStreamManager> {
    this.#manager ??= jetstreamManager(this.#connection.nc, { checkAPI: false });
    return this.#manager;
  }

  async #read(manager: JetStreamManager, lane: Lane, from: number): Promise<StoredMsg | null> {
    const next = { seq: Math.max(lane.from, from), next_by_subj: lane.filter }; // ADR-31; the library's type does not have it
    const found = await manager.streams.getMessage(this.#options.consumer.stream, next);
    this.#isTroubled = false;
    return found;
  }

  async #search(isFresh: boolean): Promise<EarlyMessage | null> {
    const manager = await this.#managed();
    if (!isFresh) await this.#refresh(manager);
    for (let lane = this.#turns.next(); lane !== null; lane = this.#turns.next()) {
      const found = await this.#read(manager, lane, this.#lastDelivered + 1);
      if (found === null) {
        lane.mayWait = false;
        continue;
      }
      lane.from = found.seq + 1;
      const early = this.#take(found);
      if (early !== null) return early;
    }
    return null;
  }

  async #refresh({ streams }: JetStreamManager): Promise<void> {
    const { consumer, lanes } = this.#options;
    const isComplete = this.#storedSubjects <= MAX_LISTED;
    const filters = isComplete ? [">"] : lanes.perCaller.map((name) => laneFilter("*", name));
    const subjects: string[] = [];
    for (const filter of filters) {
      const { state } = await streams.info(consumer.stream, { subjects_filter: filter });
      subjects.push(...Object.keys(state.subjects ?? {}));
      this.#storedSubjects = state.num_subjects ?? 0;
    }
    this.#turns.refresh(subjects, isComplete);
    this.#refreshedAt = performance.now();
  }

  /** Null for a message that is here already. */
  #take(stored: StoredMsg): EarlyMessage | null {
    const facts: QueueFacts = {
      deliveryCount: 1,
      streamSequence: stored.seq,
      publishedAtMs: stored.time.getTime(),
      isEarly: true,
      holder: `${stored.seq}:${randomHex(HOLDER_DIGITS)}`,
    };
    const position = positionOf(facts);
    if (this.#early.has(position)) return null;
    const state = { isDone: false };
    this.#early.set(position, state);
    const [oldest] = this.#early.keys();
    if (this.#early.size > MAX_REMEMBERED && oldest !== undefined) this.#early.delete(oldest);
    const { subject, header: headers } = stored;
    const lane = this.#turns.take(subject, false);
    return {
      message: { subject, headers, data: stored.data, string: () => stored.string() },
      receipt: new EarlyReceipt(facts, state),
      ended: () => {
        this.#left(lane);
        if (!state.isDone) this.#early.delete(position);
      },
    };
  }

  #failed(error: unknown): null {
    const { consumer, onTrouble } = this.#options;
    this.#pausedUntil = performance.now() + TROUBLE_PAUSE_MS;
    const isNews = !this.#isTroubled && this.#connection.isConnected();
    if (isNews) onTrouble(infrastructureError(error, this.#connection.user, consumer.stream));
    this.#isTroubled ||= isNews;
    return null;
  }
}

/** No acknowledgement is sent: for the queue, the message still waits for its turn. */
class EarlyReceipt implements Receipt {
  readonly #facts: QueueFacts;
  readonly #state: { isDone: boolean };

  constructor(facts: QueueFacts, state: { isDone: boolean }) {
    this.#facts = facts;
    this.#state = state;
  }

  facts(): QueueFacts {
    return this.#facts;
  }

  confirm(): Promise<void> {
    this.#state.isDone = true;
    return Promise.resolve();
  }

  giveBack(): void {
    // Its turn comes when it comes.
  }

  keep(): void {
    // Nor can it be taken away.
  }
}

/** A stream that was made anew counts from 1 again. */
function positionOf({
  streamSequence,
  publishedAtMs,
}: Pick<QueueFacts, "streamSequence" | "publishedAtMs">): string {
  return `${streamSequence}:${publishedAtMs}`;
}
