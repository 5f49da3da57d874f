import { pause } from "@switchyard/contracts/timeouts";
import { backoffMs } from "@switchyard/contracts/backoff";
import type { EventPublisher } from "./event-publisher.ts";
import { CancelRequested } from "../core/interruption.ts";
import { isRevocable, mayFollowCancel } from "../core/entry-traits.ts";
import type { JournalEntry, WithoutTime } from "../core/journal-entry.ts";
import { applyEntry } from "../core/replay.ts";
import { openCalls, type RunState } from "../core/run-state.ts";
import { DiscardedCalls } from "../core/model-price.ts";
import { eventsOfEntry } from "../core/run-events.ts";
import type { Hold } from "./run-claim.ts";
import { FenceLost, type RunStore } from "./run-store.ts";
import { StoreError } from "@switchyard/service/store-error";

const APPEND_ATTEMPTS = 5;
const BACKOFF = { firstMs: 250, mostMs: 1_000 };

/** Entries that are to be written together, and the promise of their recorder. */
interface Recording {
  readonly entries: readonly JournalEntry[];
  readonly follow: Follow;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Returns the entries that follow from the state that the written ones lead to. */
type Follow = (after: RunState) => readonly JournalEntry[];

/** An entry between the states before and after it. */
interface Step {
  readonly entry: JournalEntry;
  readonly before: RunState;
  readonly after: RunState;
}

/** At most so many recordings are written together. */
const MAX_TOGETHER = 50;

/**
 * A run that this runner holds: its state, and the only way to change it. Entries are written in the order of the calls, those
 * that wait for their turn in one write, and their events follow. Once the hold is lost the run's signal aborts, so that nothing
 * more is sent on its behalf.
 */
export class ActiveRun {
  readonly hold: Hold;
  /** Aborts when the run must stop at once: hold lost, delivery given up. */
  readonly signal: AbortSignal;
  /** Aborts with CancelRequested when the journal has a request to cancel. */
  readonly cancelSignal: AbortSignal;
  /** The usage of answers that broke off, for the next entry that has a field for it. */
  readonly discarded = new DiscardedCalls();
  readonly #cancelling = new AbortController();
  readonly #store: RunStore;
  readonly #publisher: EventPublisher;
  readonly #lose: (reason: FenceLost) => void;
  readonly #now: () => number;
  readonly #waiting: Recording[] = [];
  /** Open calls that may have been sent to a provider. */
  readonly #sent: Set<string>;
  #state: RunState;
  /** Never rejects. */
  #tail: Promise<void> = Promise.resolve();

  constructor(options: {
    hold: Hold;
    state: RunState;
    store: RunStore;
    publisher: EventPublisher;
    signal: AbortSignal;
    lose: (reason: FenceLost) => void;
    now: () => number;
  }) {
    this.hold = options.hold;
    this.signal = options.signal;
    this.cancelSignal = this.#cancelling.signal;
    this.#state = options.state;
    const before = openCalls(options.state).filter(({ dispatched }) => dispatched);
    this.#sent = new Set(before.map(({ part }) => part.callId));
    this.#store = options.store;
    this.#publisher = options.publisher;
    this.#lose = options.lose;
    this.#now = options.now;
  }

  get state(): RunState {
    return this.#state;
  }

  /**
   * Writes entries, all or none. Resolves when Redis has them, or when other writers added entries in the meantime that may change
   * the decision to end or to wait: `state` shows which. Rejects with FenceLost or the signal's reason, and with CancelRequested
   * when a request to cancel came first and an entry may not follow it.
   */
  record(...entries: JournalEntry[]): Promise<void> {
    return this.recordWith(entries, () => []);
  }

  /** Like `record`, with the current time. */
  note(...entries: WithoutTime<JournalEntry>[]): Promise<void> {
    const at = new Date(this.#now()).toISOString();
    return this.record(...entries.map((entry) => Object.assign({ at }, entry)));
  }

  /**
   * Like `record`; the following entries are decided when it is their turn, by the state with the recorded entries and all earlier
   * ones.
   */
  recordWith(entries: readonly JournalEntry[], follow: Follow): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    promise.catch(() => {}); // the recorder handles the rejection
    this.#waiting.push({ entries, follow, resolve, reject });
    if (this.#waiting.length === 1) this.#tail = this.#tail.then(() => this.#writeWaiting());
    return promise;
  }

  /** Returns whether an attempt at an open call may have reached its provider, here or in an earlier hold of the run. */
  wasSent(callId: string): boolean {
    return this.#sent.has(callId);
  }

  /** A call is sent to its provider from here on. */
  noteSent(callId: string): void {
    this.#sent.add(callId);
  }

  /** The provider did not execute the call, and no other attempt at it was made. */
  noteNotMade(callId: string): void {
    this.#sent.delete(callId);
  }

  /** Notes the calls that were to be sent here and were not: they cannot have had an effect. Called when the run is released. */
  async noteUnsent(): Promise<void> {
    if (this.#state.end !== null) return;
    const unsent = openCalls(this.#state).filter(
      ({ part, dispatched }) => dispatched && !this.#sent.has(part.callId),
    );
    if (unsent.length === 0) return;
    await this.note(
      ...unsent.map(({ part: { callId } }) => ({ kind: "tool-unsent" as const, callId })),
    );
  }

  /** Reads the entries that others have written into the journal. */
  lookForNews(): Promise<void> {
    const looked = this.#tail.then(() => this.#look());
    this.#tail = looked.catch(() => {}); // the caller gets the error
    return looked;
  }

  /** True when the stream has every event of the run so far. */
  get isPublished(): boolean {
    return this.#publisher.isDrained;
  }

  /** Resolves when the stream has acknowledged every event of the run so far. */
  async drainEvents(): Promise<void> {
    await this.#tail;
    await this.#publisher.drain();
  }

  /** Resolves when every event of the run so far is in the stream and the journal has noted it. */
  async settle(): Promise<void> {
    await this.drainEvents();
    await this.#store.markPublished(this.hold, this.#publisher.published);
  }

  /** Publishes the events of the run that the stream has lost, see {@link EventPublisher.verify}. */
  verifyEvents(): Promise<void> {
    return this.#publisher.verify();
  }

  async #writeWaiting(): Promise<void> {
    while (this.#waiting.length > 0) {
      let together: readonly Recording[] = this.#waiting.splice(0, MAX_TOGETHER);
      while (together.length > 0) together = await this.#write(together);
    }
  }

  /** Writes entries, all or none; returns those that are to be tried again after the entries of other writers. Never rejects. */
  async #write(recordings: readonly Recording[]): Promise<readonly Recording[]> {
    const accepted: Recording[] = [];
    const steps: Step[] = [];
    for (const recording of recordings) {
      try {
        steps.push(...this.#stepsOf(recording, steps.at(-1)?.after ?? this.#state));
        accepted.push(recording);
      } catch (error) {
        recording.reject(error);
      }
    }
    const last = steps.at(-1);
    if (last === undefined) {
      for (const { resolve } of accepted) resolve();
      return [];
    }
    try {
      const entries = steps.map(({ entry }) => entry);
      const requests = await this.#append(entries, last.after);
      if (requests.length > 0) {
        this.#adopt(requests);
        return accepted.flatMap(stillWanted);
      }
      this.#state = last.after;
      for (const { before, entry } of steps) this.#publisher.push(eventsOfEntry(before, entry));
      for (const { resolve } of accepted) resolve();
    } catch (error) {
      for (const { reject } of accepted) reject(error);
    }
    return [];
  }

  #stepsOf({ entries, follow }: Recording, from: RunState): Step[] {
    this.signal.throwIfAborted();
    const steps = stepsFrom(from, entries);
    const after = steps.at(-1)?.after ?? from;
    return [...steps, ...stepsFrom(after, follow(after))];
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
  async #append(entries: readonly JournalEntry[], after: RunState): Promise<JournalEntry[]> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const { published } = this.#publisher;
        return await this.#fenced(this.#store.append(this.hold, entries, after, published));
      } catch (error) {
        if (!(error instanceof StoreError) || attempt === APPEND_ATTEMPTS) throw error;
        await pause(backoffMs(attempt, BACKOFF), this.signal);
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

function stepsFrom(from: RunState, entries: readonly JournalEntry[]): Step[] {
  let before = from;
  return entries.map((entry) => {
    if (before.cancellation !== null && !mayFollowCancel(entry))
      throw new CancelRequested("the run is to be cancelled");
    const step = { entry, before, after: applyEntry(before, entry) };
    before = step.after;
    return step;
  });
}

/** A decision that was made without the new entries is made again. */
function stillWanted(recording: Recording): Recording[] {
  const wanted = recording.entries.filter((entry) => !isRevocable(entry));
  if (wanted.length > 0) return [{ ...recording, entries: wanted }];
  recording.resolve();
  return [];
}

/** The runs in work in this process, so that notifications reach them at once. */
export class ActiveRuns {
  readonly #runs = new Map<string, ActiveRun>();

  /** Registers a run until the returned function is called. */
  add(run: ActiveRun): () => void {
    const { runId } = run.hold;
    this.#runs.set(runId, run);
    return () => {
      if (this.#runs.get(runId) === run) this.#runs.delete(runId);
    };
  }

  /** A failure costs nothing: the next entry finds the new entries, too, and a renewal finds a request to cancel. */
  async lookForNews(runId: string): Promise<void> {
    await this.#runs
      .get(runId)
      ?.lookForNews()
      .catch(() => {});
  }

  /**
   * Checks a run that publishes nothing for a while. A failure costs nothing: the check is repeated at the next renewal, and
   * before the next event.
   */
  async verifyEvents(runId: string): Promise<void> {
    await this.#runs
      .get(runId)
      ?.verifyEvents()
      .catch(() => {});
  }
}
