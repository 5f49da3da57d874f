import { runTokens } from "@switchyard/contracts/ids";
import { eventStream } from "@switchyard/contracts/streams";
import type { EventRelay, EventSource, RelayedEvent } from "@switchyard/bus/event-relay";
import { messageIdOf } from "./last-seq.ts";
import type { RunEvent } from "../core/run-events.ts";

/** An event of a run on its way into the stream. */
export interface RelayedRunEvent extends RelayedEvent {
  readonly seq: number;
  /** Since when it waits to be sent, by a clock that does not go back. */
  readonly pushedAt: number;
}

/** What the runs of a process share to publish their events. */
export type RunEventRelay = Pick<EventRelay<RelayedRunEvent>, "push">;

/** For so long nothing that a runner sent can be stored twice: the stream knows the message ids. */
const SURE_MS = eventStream.duplicateWindowMs / 2;
/** What waits for longer, as in an outage, may have been sent by the next runner of the run: one that waits is let go meanwhile. */
const PROMPT_MS = 250;

/**
 * Publishes the events of one run in their order, behind the run's back: the journal already has
 * the facts, so a run need not wait. The message id is the event's number, so an event that two
 * runners publish is stored once while the stream remembers ids. Before anything is sent later than that, before
 * anything is sent that had to wait, and before anything is sent again, the publisher looks at what the stream has.
 */
export class EventPublisher implements EventSource<RelayedRunEvent> {
  readonly signal: AbortSignal;
  readonly #relay: RunEventRelay;
  readonly #runId: string;
  readonly #tokens: { readonly owner: string; readonly runId: string };
  readonly #lastSeq: () => Promise<number>;
  #pushed: number;
  #published: number;
  /** Events up to this one are in the stream, as it said when it was asked. */
  #found = 0;
  /** The last event that was sent since then: one up to this may be in the stream although nobody said so. */
  #sent = 0;
  /** When it was known last what the stream has, by a clock that does not go back. */
  #sureAt: number;
  #lookedAt = -Infinity;
  #failure: { readonly error: unknown } | null = null;
  #drained: PromiseWithResolvers<void> | null = null;

  /** `published` is the number of events that are surely in the stream; earlier ones are skipped. */
  constructor(options: {
    relay: RunEventRelay;
    runId: string;
    requester: string;
    published: number;
    /** True for a run that nobody can have published anything of. */
    isNew: boolean;
    /** Asks for the number of the last event of the run in the stream. */
    lastSeq: () => Promise<number>;
    signal: AbortSignal;
  }) {
    this.signal = options.signal;
    this.#relay = options.relay;
    this.#runId = options.runId;
    this.#tokens = runTokens(options.runId, options.requester);
    this.#lastSeq = options.lastSeq;
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
    return this.#published >= this.#pushed;
  }

  push(events: readonly RunEvent[]): void {
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

  isStored({ seq, pushedAt }: RelayedRunEvent): boolean | Promise<boolean> {
    const now = performance.now();
    const isPrompt = now - Math.max(pushedAt, this.#lookedAt) < PROMPT_MS;
    const isSure = isPrompt && seq > this.#sent && now - this.#sureAt < SURE_MS;
    this.#sent = seq;
    return isSure ? seq <= this.#found : this.#look(seq);
  }

  async #look(seq: number): Promise<boolean> {
    const askedAt = performance.now();
    this.#found = await this.#lastSeq();
    this.#sureAt = askedAt;
    this.#lookedAt = askedAt;
    return seq <= this.#found;
  }

  stored({ seq }: RelayedRunEvent): void {
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
    return { contract, seq, pushedAt, payload, tokens: this.#tokens, options };
  }
}
