import type { Bus } from "@switchyard/bus/connect";
import type { Delivery, Outcome } from "@switchyard/bus/consume";
import type { StartRun } from "@switchyard/contracts/runs";
import type { Log } from "@switchyard/service/log";
import { ActiveRun } from "./active-run.ts";
import { EventPublisher } from "./event-publisher.ts";
import { departureOf } from "./departure.ts";
import { aborted, backoffMs } from "./interruption.ts";
import type { JournalEntry, StartedEntry } from "./journal-entry.ts";
import type { RunnerMetrics } from "./metrics.ts";
import type { ModelRegistry } from "./model-registry.ts";
import type { Peers } from "./peers.ts";
import { prepareRun } from "./prepare-run.ts";
import { publishRejection } from "./rejection.ts";
import { replay } from "./replay.ts";
import { namedRunId, readCommand, type Rejection, type RunCommand } from "./run-command.ts";
import { driveRun } from "./run-driver.ts";
import { eventsOf } from "./run-events.ts";
import type { RunIndex } from "./run-index.ts";
import { RunTokenKeeper, type RunToken } from "./run-token-keeper.ts";
import type { ClaimResult, FenceLost, Hold, RunStore } from "./run-store.ts";

export interface WorkerOptions {
  readonly bus: Bus;
  readonly store: RunStore;
  readonly index: RunIndex;
  readonly peers: Peers;
  readonly models: ModelRegistry;
  readonly metrics: RunnerMetrics;
  readonly log: Log;
  /** Picks without progress after which a run has failed. */
  readonly maxAttempts: number;
  readonly defaultTimeoutMs: number;
  readonly modelIdleTimeoutMs: number;
  /** Aborts when this runner is to stop. */
  readonly stopping: AbortSignal;
  readonly now: () => number;
  readonly random: () => number;
}

/** What a runner does with the messages of its queue. */
export interface RunWorker {
  handle(delivery: Delivery): Promise<Outcome>;
  /** False when the run of a delivery is another runner's by now. */
  renew(delivery: Delivery): Promise<boolean>;
}

/**
 * A message is a hint that a run has work; the truth about the run is in Redis. So a message may be
 * lost late, repeated or delivered twice at once, and it is acknowledged only when the journal
 * holds the end of the run and the stream holds its last event.
 */
export function createRunWorker(options: WorkerOptions): RunWorker {
  const holds = new WeakMap<Delivery, Hold>();
  return {
    async handle(delivery) {
      const attempt = new Attempt(options, delivery, (hold) => holds.set(delivery, hold));
      return attempt.perform();
    },
    async renew(delivery) {
      const hold = holds.get(delivery);
      return hold === undefined || options.store.renew(hold);
    },
  };
}

/** A command that could not be prepared this often is given up: its services never came back. */
const MAX_UNSTARTED_DELIVERIES = 100;
const RETRY_CAP_MS = 30_000;

type Claimed = Extract<ClaimResult, { outcome: "claimed" }>;

/** What was prepared for a run that did not exist a moment ago. */
interface Created {
  readonly started: StartedEntry;
  readonly token: RunToken;
}

/** One delivery of one command, from the claim to what the queue is told. */
class Attempt {
  readonly #options: WorkerOptions;
  readonly #delivery: Delivery;
  readonly #onHold: (hold: Hold) => void;
  #hold: Hold | null = null;

  constructor(options: WorkerOptions, delivery: Delivery, onHold: (hold: Hold) => void) {
    this.#options = options;
    this.#delivery = delivery;
    this.#onHold = onHold;
  }

  async perform(): Promise<Outcome> {
    const { metrics } = this.#options;
    metrics.active.inc();
    try {
      return await this.#perform();
    } catch (error) {
      return await this.#leave(error);
    } finally {
      metrics.active.dec();
    }
  }

  async #perform(): Promise<Outcome> {
    const delivery = this.#delivery;
    if (delivery.kind === "rejected") return this.#reject(delivery, namedRunId(delivery.payload));
    // consume() parsed the payload by the one contract that this worker takes.
    const payload = delivery.payload as StartRun;
    const read = readCommand(delivery, delivery.tokens["agent"] ?? "", payload);
    if ("rejection" in read) return this.#reject(read.rejection, payload.runId ?? null);
    const { command } = read;
    const claimed = await this.#claim(command);
    if (claimed.outcome !== "absent") return this.#begin(command, claimed, null);
    return this.#create(command);
  }

  async #create(command: RunCommand): Promise<Outcome> {
    const { peers, models, log, defaultTimeoutMs, now } = this.#options;
    if (this.#delivery.deliveryCount > MAX_UNSTARTED_DELIVERIES) {
      const message = `the run could not be prepared in ${MAX_UNSTARTED_DELIVERIES} deliveries; send the command again`;
      return this.#reject({ code: "not_startable", message, problems: [] }, command.runId);
    }
    const { signal } = this.#delivery;
    const prepared = await prepareRun(command, {
      peers,
      models,
      log,
      signal,
      defaultTimeoutMs,
      now,
    });
    if (prepared.outcome === "rejected") return this.#reject(prepared.rejection, command.runId);
    const { started, token } = prepared;
    return this.#begin(command, await this.#claim(command, started), { started, token });
  }

  #claim(command: RunCommand, started?: StartedEntry): Promise<ClaimResult> {
    return this.#options.store.claim({
      runId: command.runId,
      commandDigest: command.digest,
      delivery: String(this.#delivery.streamSequence),
      ...(started === undefined ? {} : { started }),
    });
  }

  async #begin(
    command: RunCommand,
    claimed: ClaimResult,
    created: Created | null,
  ): Promise<Outcome> {
    switch (claimed.outcome) {
      case "taken": {
        const message = `run ${command.runId} belongs to another command; choose another runId`;
        return this.#reject({ code: "run_id_taken", message, problems: [] }, command.runId);
      }
      case "busy":
        return { outcome: "retry", delayMs: claimed.retryMs };
      case "ended":
        return this.#republish(claimed.hold, claimed.published);
      case "claimed":
        this.#hold = claimed.hold;
        this.#onHold(claimed.hold);
        return this.#work(claimed, created);
      case "absent": // made and removed between two reads; the next delivery makes it anew
        return { outcome: "retry", delayMs: 0 };
      default:
        return claimed satisfies never;
    }
  }

  async #work(claimed: Claimed, created: Created | null): Promise<Outcome> {
    const { store, peers, stopping, now } = this.#options;
    const isNew = created !== null && claimed.attempts === 1;
    const entries = isNew ? [created.started] : await store.load(claimed.hold.runId);
    const lifetime = new AbortController();
    const run = this.#open(claimed, entries, lifetime);
    try {
      await this.#begun(run, claimed, isNew);
      const { started } = run.state;
      const tokens = new RunTokenKeeper({ peers, started, initial: created?.token ?? null, now });
      await driveRun({ ...this.#options, run, tokens });
      await run.settle();
      this.#reportEnd(run);
      return { outcome: "done" };
    } catch (error) {
      // The successor publishes what is missing; doing it here only spares it the work.
      if (stopping.aborted && !run.signal.aborted) await run.settle().catch(() => {});
      throw error;
    } finally {
      lifetime.abort(new Error("the run is left")); // ends the publisher's retries
    }
  }

  #open(
    { hold, published }: Claimed,
    entries: readonly JournalEntry[],
    lifetime: AbortController,
  ): ActiveRun {
    const { bus, store } = this.#options;
    const state = replay(entries);
    const signal = AbortSignal.any([this.#delivery.signal, lifetime.signal]);
    const publisher = new EventPublisher({ bus, runId: hold.runId, published, signal });
    publisher.push(eventsOf(entries));
    const lose = (reason: FenceLost): void => lifetime.abort(reason);
    return new ActiveRun({ hold, state, store, publisher, signal, lose });
  }

  /** Says that the run is in work here, and ends one that was picked up too often for nothing. */
  async #begun(run: ActiveRun, { attempts, stalled }: Claimed, isNew: boolean): Promise<void> {
    const { index, maxAttempts, log, now } = this.#options;
    const { started, length } = run.state;
    const { runId, agent, requester, model } = started;
    await index.add(runId, started.at);
    const facts = { runId, agent, requester, model, attempt: attempts };
    log.info(facts, isNew ? "run started" : "run resumed");
    const at = new Date(now()).toISOString();
    if (!isNew) {
      await run.record({ kind: "resumed", at, attempt: attempts, journalEntries: length });
    }
    if (stalled <= maxAttempts) return;
    const message = `${stalled - 1} runners took the run one after the other and it got no further`;
    await run.record({ kind: "failed", at, failure: { code: "too_many_attempts", message } });
  }

  /** A run that has ended may have died before its last event was in the stream. */
  async #republish(hold: Hold, published: number): Promise<Outcome> {
    const { bus, store } = this.#options;
    const events = eventsOf(await store.load(hold.runId));
    if (published < events.length) {
      const { signal } = this.#delivery;
      const publisher = new EventPublisher({ bus, runId: hold.runId, published, signal });
      publisher.push(events);
      await publisher.drain();
      await store.markPublished(hold, publisher.published);
    }
    return { outcome: "done" };
  }

  async #reject(rejection: Rejection, runId: string | null): Promise<Outcome> {
    const { bus, metrics, log, now } = this.#options;
    const { code } = rejection;
    const said = await publishRejection(bus, this.#delivery, { rejection, runId, now: now() });
    metrics.rejected.inc({ code });
    log.warn(
      { runId: said.runId, caller: said.caller, code, subject: said.subject },
      "run command rejected",
    );
    return { outcome: "drop", reason: code };
  }

  /** What the queue is told when a run is left before its end; a fault is thrown on and counts as an attempt. */
  async #leave(error: unknown): Promise<Outcome> {
    const { metrics, log, stopping, random } = this.#options;
    const { signal, deliveryCount } = this.#delivery;
    const runId = this.#hold?.runId;
    const departure = departureOf(error, {
      isDeliveryAborted: signal.aborted,
      isStopping: stopping.aborted,
    });
    metrics.runs.inc({ outcome: departure });
    switch (departure) {
      case "lost":
        log.warn({ runId }, "run lost to another runner");
        // Neither done nor retry would be right: the message is the other runner's.
        await aborted(signal);
        return { outcome: "retry", delayMs: 0 };
      case "handed-over":
        await this.#release();
        return { outcome: "retry", delayMs: 0 };
      case "suspended": {
        const delayMs = backoffMs(deliveryCount, RETRY_CAP_MS) * (0.75 + random() / 2);
        log.warn({ runId, err: error, delayMs }, "run suspended");
        await this.#release();
        return { outcome: "retry", delayMs };
      }
      case "corrupt": {
        log.error({ runId, err: error }, "journal is corrupt");
        const message = `the journal of the run cannot be read: ${String(error)}`;
        return this.#reject({ code: "journal_corrupt", message, problems: [] }, runId ?? null);
      }
      case "faulted":
        throw error;
      default:
        return departure satisfies never;
    }
  }

  /** Without a release the next runner takes the run all the same; the attempt then counts against it. */
  async #release(): Promise<void> {
    if (this.#hold === null) return;
    try {
      await this.#options.store.release(this.#hold);
    } catch (err) {
      this.#options.log.warn({ runId: this.#hold.runId, err }, "run not released");
    }
  }

  #reportEnd(run: ActiveRun): void {
    const { started, end, turns, toolCalls, updatedAt } = run.state;
    const { runId, agent } = started;
    const outcome = end?.status ?? "failed";
    this.#options.metrics.runs.inc({ outcome });
    const durationMs = Date.parse(updatedAt) - Date.parse(started.at);
    const code = end?.status === "failed" ? { code: end.failure.code } : {};
    this.#options.log.info(
      { runId, agent, outcome, ...code, steps: turns.length, toolCalls, durationMs },
      "run ended",
    );
  }
}
