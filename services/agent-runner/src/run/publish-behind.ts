import type { Log } from "@switchyard/service/log";
import { PUBLISH_MS } from "../core/due.ts";
import type { ActiveRun } from "../journal/active-run.ts";
import type { NextLook, ParkedRuns } from "../journal/parked-runs.ts";
import { FenceLost } from "../journal/run-store.ts";
import type { UnsyncedEvents } from "../journal/unsynced-events.ts";
import type { LinkedSignal } from "../core/linked-signal.ts";

/** With more runs than this that have unpublished events, a run waits for its own, and its runner takes no other. */
const MAX_BEHIND = 1_000;
/** Events that are acknowledged so much later than the release of their run were delayed. */
const LATE_MS = 1_000;
/** Runs are removed from the sweeper's list in batches, at this interval. */
const STRIKE_MS = 250;

/**
 * Publishes the remaining events of runs that have ended or wait, after their messages were acknowledged: the journal has the
 * facts. Each of these runs is on the sweeper's list until the stream has its last event, so when this process dies another one
 * publishes the missing events.
 */
export class PublishBehind {
  readonly #parked: Pick<ParkedRuns, "lookAgain" | "strike">;
  readonly #unwritten: Pick<UnsyncedEvents, "addRun">;
  readonly #log: Log;
  readonly #now: () => number;
  readonly #open = new Map<Promise<void>, LinkedSignal>();
  #published: NextLook[] = [];
  #striking: NodeJS.Timeout | null = null;

  constructor(options: {
    parked: Pick<ParkedRuns, "lookAgain" | "strike">;
    unwritten: Pick<UnsyncedEvents, "addRun">;
    log: Log;
    now: () => number;
  }) {
    this.#parked = options.parked;
    this.#unwritten = options.unwritten;
    this.#log = options.log;
    this.#now = options.now;
  }

  /** Puts the run on the sweeper's list, where a waiting run is already. From here on the message may be acknowledged. */
  async announce(run: ActiveRun): Promise<NextLook | null> {
    const { runId } = run.hold;
    const nowMs = this.#now();
    const noted = this.#unwritten.addRun(runId, nowMs);
    if (run.state.waiting !== null || run.isPublished || this.#open.size >= MAX_BEHIND) {
      await noted;
      return null;
    }
    const look = { runId, atMs: nowMs + PUBLISH_MS };
    await Promise.all([noted, this.#parked.lookAgain(runId, look.atMs)]);
    return look;
  }

  /**
   * Becomes responsible for a run and its lifetime, which ends when its events are in the stream. Waits for that when too many
   * runs have unpublished events.
   */
  async follow(run: ActiveRun, lifetime: LinkedSignal, look: NextLook | null): Promise<void> {
    lifetime.release();
    const settled = this.#settle(run, look, this.#now());
    const closed = settled.finally(() => {
      this.#open.delete(closed);
      lifetime.abort(new Error("the run is left"));
    });
    const isKnown = look !== null || run.isPublished || run.state.waiting !== null;
    const mayFollow = isKnown && this.#open.size < MAX_BEHIND;
    this.#open.set(closed, lifetime);
    if (!mayFollow) await closed;
  }

  /** Resolves when all events are published, or after the time: the sweeper of another runner publishes the rest. */
  async stop(withinMs: number): Promise<void> {
    const timer = setTimeout(() => {
      for (const lifetime of this.#open.values()) lifetime.abort(new Error("this runner stops"));
    }, withinMs);
    await Promise.all(this.#open.keys());
    clearTimeout(timer);
    if (this.#striking !== null) clearTimeout(this.#striking);
    await this.#strike();
  }

  /** Never rejects. */
  async #settle(run: ActiveRun, look: NextLook | null, announcedMs: number): Promise<void> {
    const { runId } = run.hold;
    try {
      await run.drainEvents();
      // From its acknowledgement on nats-server may lose an event: for late events the noted time is too early.
      const nowMs = this.#now();
      if (nowMs - announcedMs > LATE_MS) await this.#unwritten.addRun(runId, nowMs);
      await run.settle();
    } catch (err) {
      // Another runner holds the run now, and publishes what is missing.
      if (!(err instanceof FenceLost)) this.#log.warn({ runId, err }, "events not published yet");
      return;
    }
    if (look === null) return;
    this.#published.push(look);
    this.#striking ??= setTimeout(() => void this.#strike(), STRIKE_MS);
  }

  async #strike(): Promise<void> {
    const published = this.#published;
    this.#published = [];
    this.#striking = null;
    // The sweeper removes published runs by itself.
    await this.#parked.strike(published).catch(() => {});
  }
}
