import type { EventPublisher } from "../events/event-publisher.ts";
import { backoffMs, CancelRequested, pause } from "./interruption.ts";
import { isRevocable, mayFollowCancel } from "../journal/entry-traits.ts";
import type { JournalEntry } from "../journal/journal-entry.ts";
import { StoreUnavailable } from "../journal/redis-scripts.ts";
import { applyEntry } from "../journal/replay.ts";
import type { RunState } from "../journal/run-state.ts";
import { eventsOfEntry } from "../events/run-events.ts";
import { FenceLost, type Hold, type RunStore } from "../journal/run-store.ts";

const APPEND_ATTEMPTS = 5;
const RETRY_CAP_MS = 1_000;

/**
 * A run in this runner's hands: its state, and the one way to change it. Entries are written one
 * after the other in the order of the calls, and their events follow. Once the hold is lost the
 * run's signal aborts, so that nothing more is sent on its behalf.
 */
export class ActiveRun {
  readonly hold: Hold;
  /** Aborts when the run must stop at once: hold lost, delivery given up. */
  readonly signal: AbortSignal;
  /** Aborts with CancelRequested when the journal has a request to cancel. */
  readonly cancelSignal: AbortSignal;
  readonly #cancelling = new AbortController();
  readonly #store: RunStore;
  readonly #publisher: EventPublisher;
  readonly #lose: (reason: FenceLost) => void;
  #state: RunState;
  #tail: Promise<void> = Promise.resolve();

  constructor(options: {
    hold: Hold;
    state: RunState;
    store: RunStore;
    publisher: EventPublisher;
    signal: AbortSignal;
    lose: (reason: FenceLost) => void;
  }) {
    this.hold = options.hold;
    this.signal = options.signal;
    this.cancelSignal = this.#cancelling.signal;
    this.#state = options.state;
    this.#store = options.store;
    this.#publisher = options.publisher;
    this.#lose = options.lose;
  }

  get state(): RunState {
    return this.#state;
  }

  /**
   * Writes an entry. Resolves when Redis has it, or when others wrote something in the meantime that
   * may change the decision to end or to wait: `state` tells. Rejects with FenceLost or the signal's reason, and
   * with CancelRequested when a request to cancel came first and the entry may not follow it.
   */
  record(entry: JournalEntry): Promise<void> {
    const written = this.#tail.then(() => this.#write(entry));
    this.#tail = written.catch(() => {}); // whoever recorded the entry gets the error
    return written;
  }

  /** Looks for what others have written into the journal. */
  lookForNews(): Promise<void> {
    const looked = this.#tail.then(() => this.#look());
    this.#tail = looked.catch(() => {}); // whoever asked gets the error
    return looked;
  }

  /** Resolves when every event of the run so far is in the stream and the journal knows it. */
  async settle(): Promise<void> {
    await this.#tail;
    await this.#publisher.drain();
    await this.#store.markPublished(this.hold, this.#publisher.published);
  }

  async #write(entry: JournalEntry): Promise<void> {
    for (;;) {
      this.signal.throwIfAborted();
      const before = this.#state;
      if (before.cancellation !== null && !mayFollowCancel(entry))
        throw new CancelRequested("the run is to be cancelled");
      const after = applyEntry(before, entry);
      const requests = await this.#append(entry, after);
      if (requests.length === 0) {
        this.#state = after;
        this.#publisher.push(eventsOfEntry(before, entry));
        return;
      }
      this.#adopt(requests);
      // What was decided without this news is decided again.
      if (isRevocable(entry)) return;
    }
  }

  async #look(): Promise<void> {
    if (this.#state.end !== null || this.signal.aborted) return;
    this.#adopt(await this.#fenced(this.#store.requestsAfter(this.hold, this.#state.length)));
  }

  #adopt(requests: readonly JournalEntry[]): void {
    for (const request of requests) {
      const before = this.#state;
      this.#state = applyEntry(before, request);
      this.#publisher.push(eventsOfEntry(before, request));
    }
    if (this.#state.cancellation !== null)
      this.#cancelling.abort(new CancelRequested("the run is to be cancelled"));
  }

  /** Repeating an append is harmless, so a short outage of Redis does not cost a model call. */
  async #append(entry: JournalEntry, after: RunState): Promise<JournalEntry[]> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const { published } = this.#publisher;
        return await this.#fenced(this.#store.append(this.hold, entry, after, published));
      } catch (error) {
        if (!(error instanceof StoreUnavailable) || attempt === APPEND_ATTEMPTS) throw error;
        await pause(backoffMs(attempt, RETRY_CAP_MS), this.signal);
      }
    }
  }

  async #fenced<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      if (error instanceof FenceLost) this.#lose(error);
      throw error;
    }
  }
}
