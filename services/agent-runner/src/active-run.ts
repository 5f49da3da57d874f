import type { EventPublisher } from "./event-publisher.ts";
import { backoffMs, pause } from "./interruption.ts";
import type { JournalEntry } from "./journal-entry.ts";
import { applyEntry, type RunState } from "./replay.ts";
import { eventsOfEntry } from "./run-events.ts";
import { FenceLost, StoreUnavailable, type Hold, type RunStore } from "./run-store.ts";

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
    this.#state = options.state;
    this.#store = options.store;
    this.#publisher = options.publisher;
    this.#lose = options.lose;
  }

  get state(): RunState {
    return this.#state;
  }

  /** Writes an entry. Resolves when Redis has it; rejects with FenceLost or the signal's reason. */
  record(entry: JournalEntry): Promise<void> {
    const written = this.#tail.then(() => this.#write(entry));
    this.#tail = written.catch(() => {}); // whoever recorded the entry gets the error
    return written;
  }

  /** Resolves when every event of the run so far is in the stream and the journal knows it. */
  async settle(): Promise<void> {
    await this.#tail;
    await this.#publisher.drain();
    await this.#store.markPublished(this.hold, this.#publisher.published);
  }

  async #write(entry: JournalEntry): Promise<void> {
    this.signal.throwIfAborted();
    const before = this.#state;
    const after = applyEntry(before, entry);
    await this.#append(entry, after);
    this.#state = after;
    this.#publisher.push(eventsOfEntry(before, entry));
  }

  /** Repeating an append is harmless, so a short outage of Redis does not cost a model call. */
  async #append(entry: JournalEntry, after: RunState): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.#store.append(this.hold, entry, after, this.#publisher.published);
        return;
      } catch (error) {
        if (error instanceof FenceLost) this.#lose(error);
        if (!(error instanceof StoreUnavailable) || attempt === APPEND_ATTEMPTS) throw error;
        await pause(backoffMs(attempt, RETRY_CAP_MS), this.signal);
      }
    }
  }
}
