import { backoffMs } from "@switchyard/contracts/backoff";
import { setTimeout as delay } from "node:timers/promises";
import { subjectOf, type Event } from "@switchyard/contracts/define";
import type { Bus } from "./bus.ts";
import { connectionOf, type Connection } from "./connection.ts";
import { FastIngest, type IngestListener } from "./fast-ingest.ts";
import { readyMessage, type PublishOptions, type ReadyMessage } from "./publish.ts";
import { encodeJson } from "./wire.ts";

/** An event behind others. */
export interface RelayedEvent {
  readonly contract: Event;
  readonly tokens: Readonly<Record<string, string>>;
  /** The payload is not validated, so the code that made it has to ensure that it fits the contract. */
  readonly payload: unknown;
  readonly options: PublishOptions & { readonly messageId: string };
}

/** The owner of events whose order is kept; it is notified of their outcomes. */
export interface EventSource<E extends RelayedEvent> {
  /** While the stream cannot be reached, aborting ends the attempts. */
  readonly signal: AbortSignal;
  /** True when no further event of the source is to be stored. */
  readonly hasFailed: boolean;
  /**
   * True when the event is not to be sent, because the stream has it already or the source has pushed it anew. Called before each time that
   * it is sent: the stream itself drops a repeat only for as long as its duplicate window lasts. May query the stream; rejects when the
   * stream cannot be reached.
   */
  isStored(event: E): boolean | Promise<boolean>;
  /** The stream has the event and all before it. */
  stored(event: E): void;
  /** The event before which the relay stopped cannot be stored. */
  failed(error: unknown): void;
}

interface Relayed<E extends RelayedEvent> {
  readonly event: E;
  readonly source: EventSource<E>;
}

export interface EventRelayOptions {
  /** True for an error that passes. */
  readonly isOutage: (error: unknown) => boolean;
  /** Called with the first of several such errors in a row, and for the first event that is stored after them. */
  readonly onTrouble: (error: unknown) => void;
  readonly onRecovered: () => void;
}

/** Messages in flight at once. */
const MAX_SENT = 256;
const BACKOFF = { firstMs: 250, mostMs: 1_000 };

/**
 * Stores events of many sources in one stream, without waiting for one before the next is sent. The events of a source keep their order,
 * and none is stored without those before it. Events that an outage stops are retried until it is over, the source gives up or the bus is
 * closed; another error ends its source and no other.
 */
export class EventRelay<E extends RelayedEvent> implements IngestListener {
  readonly #connection: Connection;
  readonly #ingest: FastIngest;
  readonly #options: EventRelayOptions;
  #waiting: Relayed<E>[] = [];
  #sent: Relayed<E>[] = [];
  #isBusy = false;
  #attempt = 0;
  /** The pause during which nothing is sent, in milliseconds. */
  #restMs = 0;

  constructor(bus: Bus, options: EventRelayOptions) {
    this.#connection = connectionOf(bus);
    this.#ingest = new FastIngest(this.#connection, this);
    this.#options = options;
  }

  push(source: EventSource<E>, events: readonly E[]): void {
    for (const event of events) this.#waiting.push({ source, event });
    void this.#pump();
  }

  stored(count: number): void {
    if (this.#attempt > 0) this.#options.onRecovered();
    this.#attempt = 0;
    for (const { source, event } of this.#sent.splice(0, count)) source.stored(event);
    void this.#pump();
  }

  ended(failure: { readonly index: number; readonly error: unknown } | null): void {
    const sent = this.#sent;
    this.#sent = [];
    this.#waiting = [...sent, ...this.#waiting];
    if (failure === null) void this.#pump();
    else this.#stopped(sent[failure.index], failure.error);
  }

  get #server(): string | undefined {
    return this.#connection.nc.info?.server_id;
  }

  /** Sends the waiting events, in order. Never rejects. */
  async #pump(): Promise<void> {
    if (this.#isBusy) return;
    this.#isBusy = true;
    for (;;) {
      if (this.#restMs > 0) await this.#rest();
      const [next] = this.#waiting;
      if (next === undefined || this.#sent.length >= MAX_SENT) break;
      if (next.source.hasFailed) this.#waiting.shift();
      else await this.#send(next);
    }
    this.#isBusy = false;
  }

  /** Sends the first waiting event. */
  async #send(next: Relayed<E>): Promise<void> {
    const { contract, tokens, payload, options } = next.event;
    const server = this.#server;
    let message: ReadyMessage;
    let isStored: boolean;
    try {
      const known = next.source.isStored(next.event);
      isStored = typeof known === "boolean" ? known : await known;
      const subject = subjectOf<string>(contract, tokens);
      const body = encodeJson(payload);
      message = await readyMessage(this.#connection, contract, { subject, body, options });
    } catch (error) {
      this.#stopped(next, error);
      return;
    }
    // An event that was in flight may have returned in the meantime, and goes first. Another server may have less than the one that the
    // source checked.
    if (this.#waiting[0] !== next || this.#server !== server) return;
    this.#waiting.shift();
    if (isStored) return next.source.stored(next.event);
    this.#sent.push(next);
    this.#ingest.send(message);
  }

  #stopped(event: Relayed<E> | undefined, error: unknown): void {
    const isClosed = this.#connection.nc.isClosed(); // closed by this process: the connection does not come back
    if (event === undefined || (!isClosed && this.#options.isOutage(error))) {
      if (this.#attempt === 0) this.#options.onTrouble(error);
      this.#attempt += 1;
      this.#restMs = backoffMs(this.#attempt, BACKOFF);
    } else {
      event.source.failed(error);
    }
    void this.#pump();
  }

  /** Ends early when a source gives up, and removes the sources that have. */
  async #rest(): Promise<void> {
    const ms = this.#restMs;
    this.#restMs = 0;
    const signal = AbortSignal.any(this.#waiting.map(({ source }) => source.signal));
    await delay(ms, undefined, { signal }).catch(() => {}); // sources that gave up are removed below
    for (const { source } of this.#waiting)
      if (source.signal.aborted) source.failed(source.signal.reason);
    this.#waiting = this.#waiting.filter(({ source }) => !source.hasFailed);
  }
}
