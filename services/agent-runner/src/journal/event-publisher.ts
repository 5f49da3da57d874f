import { runTokens } from "@switchyard/contracts/ids";
import { eventStream } from "@switchyard/topology/streams";
import type { EventRelay, EventSource, RelayedEvent } from "@switchyard/bus/event-relay";
import { eventsOf, type RunEvent } from "../core/run-events.ts";
import { oldestEventTime, lastMessageId } from "@switchyard/bus/last-event";
import type { StartedEntry } from "../core/started-entry.ts";
import type { Bus } from "@switchyard/bus/bus";
import type { RunStore } from "./run-store.ts";
import { allContracts, isEvent } from "@switchyard/contracts/registry";

/** An event of a run on its way into the stream. */
export interface RelayedRunEvent extends RelayedEvent {
  readonly seq: number;
  /** Since when it waits to be sent, by a clock that does not go back. */
  readonly pushedAt: number;
  /** The number of restarts of its publisher at the time that it was pushed. */
  readonly round: number;
}

/** The parts that the runs of a process share to publish their events. */
export type RunEventRelay = Pick<EventRelay<RelayedRunEvent>, "push">;

/**
 * Returns the events of the run after `found` when those up to `acknowledged` were in the stream and are lost; none when they only
 * expired. Rejects when the stream or the journal cannot be read.
 */
type LostBehind = (found: number, acknowledged: number) => Promise<readonly RunEvent[]>;

/** Creates the publisher of a run's events, of which `published` are acknowledged already. */
export function publisherOf(
  run: {
    readonly started: StartedEntry;
    readonly published: number;
    /** True for a run of which no runner can have published an event. */
    readonly isNew: boolean;
    readonly signal: AbortSignal;
  },
  {
    bus,
    relay,
    store,
  }: { readonly bus: Bus; readonly relay: RunEventRelay; readonly store: Pick<RunStore, "load"> },
): EventPublisher {
  const { started, published, isNew, signal } = run;
  const { runId, requester } = started;
  return new EventPublisher({
    relay,
    runId,
    requester,
    published,
    isNew,
    lastSeq: () => lastSeqOf(bus, started),
    async lostBehind(found, acknowledged) {
      const [entries, oldest] = await Promise.all([store.load(runId), oldestEventTime(bus)]);
      return lostOf(eventsOf(entries), { found, acknowledged, oldest });
    },
    server: () => bus.loneServer,
    signal,
  });
}

/** A stream that has older events has not expired the acknowledged ones: it lost them. */
function lostOf(
  events: readonly RunEvent[],
  at: { readonly found: number; readonly acknowledged: number; readonly oldest: Date | null },
): readonly RunEvent[] {
  const last = events[at.acknowledged - 1]?.payload["at"];
  const isForgotten = at.oldest !== null && new Date(String(last)) < at.oldest;
  return last === undefined || isForgotten ? [] : events.slice(at.found);
}

/** Within this time the stream deduplicates everything that a runner sent, since it remembers the message ids. */
const SURE_MS = eventStream.duplicateWindowMs / 2;
/**
 * An event that waits for longer, as in an outage, may have been sent by the next runner of the run, since a waiting run is
 * released meanwhile.
 */
const PROMPT_MS = 250;

/**
 * Publishes the events of one run in order and asynchronously: the journal already has the facts, so a run need not wait. The
 * message id is the event's number, so the stream deduplicates an event that two runners publish as long as it remembers ids. The
 * publisher reads the stream's last event before it sends anything later than that, anything that had to wait, and anything a
 * second time.
 * A single nats-server acknowledges events before it has written them, and may have lost some after a restart. The publisher then
 * reads the stream too, and starts over behind the last event that the stream still has.
 */
export class EventPublisher implements EventSource<RelayedRunEvent> {
  readonly signal: AbortSignal;
  readonly #relay: RunEventRelay;
  readonly #runId: string;
  readonly #tokens: { readonly owner: string; readonly runId: string };
  readonly #lastSeq: () => Promise<number>;
  readonly #lostBehind: LostBehind;
  readonly #server: () => string | null;
  #pushed: number;
  #published: number;
  /** Events up to this one were in the stream at its last reply. */
  #found = 0;
  /** The last event that was sent since then: events up to this one may be in the stream although they were not acknowledged. */
  #sent = 0;
  /** The time of the last reliable knowledge of the stream's state, by a monotonic clock. */
  #sureAt: number;
  #lookedAt = -Infinity;
  /** The server that had all published events at the last check. */
  #sureOf: string | null;
  #round = 0;
  /** Events that are pushed while the journal is read for those that the stream lost. */
  #held: RunEvent[] | null = null;
  /** The read of the stream that is under way. */
  #looking: Promise<void> | null = null;
  #failure: { readonly error: unknown } | null = null;
  #drained: PromiseWithResolvers<void> | null = null;

  /** `published` is the number of events that are surely in the stream; earlier ones are skipped. */
  constructor(options: {
    relay: RunEventRelay;
    runId: string;
    requester: string;
    published: number;
    /** True for a run of which no runner can have published anything. */
    isNew: boolean;
    /** Requests the number of the last event of the run in the stream. */
    lastSeq: () => Promise<number>;
    lostBehind: LostBehind;
    /** The server, under a name that is new each time it starts; null for a cluster, which loses nothing. */
    server: () => string | null;
    signal: AbortSignal;
  }) {
    this.signal = options.signal;
    this.#relay = options.relay;
    this.#runId = options.runId;
    this.#tokens = runTokens(options.runId, options.requester);
    this.#lastSeq = options.lastSeq;
    this.#lostBehind = options.lostBehind;
    this.#server = options.server;
    this.#sureOf = options.isNew ? options.server() : null;
    this.#sureAt = options.isNew ? performance.now() : -Infinity;
    this.#pushed = options.published;
    this.#published = options.published;
  }

  /** Number of the last event that the stream has acknowledged. */
  get published(): number {
    return this.#published;
  }

  get hasFailed(): boolean {
    return this.#failure !== null;
  }

  /** True when everything pushed is in the stream. */
  get isDrained(): boolean {
    return this.#held === null && this.#published >= this.#pushed;
  }

  push(events: readonly RunEvent[]): void {
    if (this.#held !== null) {
      this.#held.push(...events);
      return;
    }
    const next = events.filter(({ seq }) => seq > this.#pushed);
    this.#pushed = next.at(-1)?.seq ?? this.#pushed;
    this.#relay.push(
      this,
      next.map((event) => this.#relayed(event)),
    );
  }

  /** Resolves when everything pushed is in the stream; rejects when an event could not be published. */
  async drain(): Promise<void> {
    if (this.#failure !== null) throw this.#failure.error;
    if (this.isDrained) return;
    this.#drained ??= Promise.withResolvers<void>();
    await this.#drained.promise;
  }

  /**
   * Checks whether a server that was started since the last check still has all acknowledged events, and publishes those that it
   * has lost. Rejects when it cannot be reached.
   */
  async verify(): Promise<void> {
    if (this.#published > 0 && this.#sureOf !== this.#server()) await this.#look();
  }

  isStored(event: RelayedRunEvent): boolean | Promise<boolean> {
    const { seq, pushedAt } = event;
    const now = performance.now();
    const isPrompt = now - Math.max(pushedAt, this.#lookedAt) < PROMPT_MS;
    const isSure =
      isPrompt &&
      seq > this.#sent &&
      now - this.#sureAt < SURE_MS &&
      this.#sureOf === this.#server();
    if (!isSure) return this.#look().then(() => this.#isStored(event));
    return this.#isStored(event);
  }

  #isStored({ seq, round }: RelayedRunEvent): boolean {
    // It was pushed once more, after those that the stream had lost.
    if (round !== this.#round) return true;
    this.#sent = seq;
    return seq <= this.#found;
  }

  #look(): Promise<void> {
    this.#looking ??= this.#lookNow().finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }

  async #lookNow(): Promise<void> {
    const askedAt = performance.now();
    const server = this.#server();
    this.#found = await this.#lastSeq();
    if (server !== null && this.#found < this.#published) await this.#beginAnew();
    this.#sureAt = askedAt;
    this.#lookedAt = askedAt;
    this.#sureOf = server;
  }

  /** Pushes the events that the stream has lost, and all that follow, once more. */
  async #beginAnew(): Promise<void> {
    const pushed: RunEvent[] = [];
    this.#held = pushed;
    try {
      const lost = await this.#lostBehind(this.#found, this.#published);
      if (lost.length > 0) {
        this.#round += 1;
        this.#pushed = this.#found;
        this.#published = this.#found;
        this.#sent = this.#found;
        pushed.unshift(...lost);
      }
    } finally {
      this.#held = null;
      this.push(pushed);
    }
  }

  stored({ seq, round }: RelayedRunEvent): void {
    if (round !== this.#round) return;
    this.#published = Math.max(this.#published, seq);
    if (seq > this.#found) this.#sureAt = performance.now();
    if (seq < this.#pushed) return;
    this.#drained?.resolve();
    this.#drained = null;
  }

  failed(error: unknown): void {
    this.#failure ??= { error };
    this.#drained?.reject(error);
    this.#drained = null;
  }

  #relayed({ contract, seq, payload }: RunEvent): RelayedRunEvent {
    const runId = this.#runId;
    const options = { messageId: messageIdOf(runId, seq), correlationId: runId };
    const pushedAt = performance.now();
    const round = this.#round;
    return { contract, seq, pushedAt, round, payload, tokens: this.#tokens, options };
  }
}

/** The number of the last event of a run that the stream has; 0: it has none. */
export async function lastSeqOf(
  bus: Bus,
  { runId, requester }: { readonly runId: string; readonly requester: string },
): Promise<number> {
  const tokens = runTokens(runId, requester);
  const below = `yard.evt.run.${tokens.owner}.${tokens.runId}`;
  const last = await lastMessageId(bus, `${below}.*`);
  if (last === null) return 0;
  const seq = seqIn(last, runId);
  if (seq > 0) return seq;
  // The last message may be, for example, the refusal of a command about the run, which is not one of its own events.
  const ofEach = await Promise.all(NAMES.map((name) => lastMessageId(bus, `${below}.${name}`)));
  return Math.max(0, ...ofEach.map((messageId) => seqIn(messageId ?? "", runId)));
}

const OF_RUNS = "yard.evt.run.{owner}.{runId}.";
const NAMES = allContracts
  .filter((contract) => isEvent(contract) && contract.subject.startsWith(OF_RUNS))
  .map(({ subject }) => subject.slice(OF_RUNS.length));

/** The message id of an event of the run itself, as {@link seqIn} reads it. */
function messageIdOf(runId: string, seq: number): string {
  return `${runId}:${seq}`;
}

/** 0 for an id that is not of the run's own events. */
function seqIn(messageId: string, runId: string): number {
  const prefix = messageIdOf(runId, 0).slice(0, -1);
  const number = messageId.startsWith(prefix) ? messageId.slice(prefix.length) : "";
  return /^\d+$/.test(number) ? Number(number) : 0;
}
