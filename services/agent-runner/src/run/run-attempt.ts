import type { Bus } from "@switchyard/bus/connect";
import type { Delivery, Outcome } from "@switchyard/bus/consume";
import type { Log } from "@switchyard/service/log";
import { ActiveRun } from "./active-run.ts";
import type { ActiveRuns } from "./active-runs.ts";
import { applyControl, runIdOfMessage, type ControlResult } from "../commands/control-command.ts";
import { finishEnd, reportEnd, spreadEnd } from "./ended-run.ts";
import { EventPublisher } from "../events/event-publisher.ts";
import { departureOf } from "./departure.ts";
import { aborted, backoffMs } from "./interruption.ts";
import { isForeign, type JournalEntry, type StartedEntry } from "../journal/journal-entry.ts";
import type { RunnerMetrics } from "../metrics.ts";
import type { ProviderLimiter } from "../limits/provider-limiter.ts";
import type { ModelRegistry } from "../model/model-registry.ts";
import type { Peers } from "../peers.ts";
import { prepareRun } from "./prepare-run.ts";
import { publishRejection } from "../commands/rejection.ts";
import { replay } from "../journal/replay.ts";
import { readStart } from "../commands/read-start.ts";
import type { Rejection, RunCommand } from "../commands/run-command.ts";
import { tellParent } from "../children/after-end.ts";
import type { ParkedRuns } from "../waits/parked-runs.ts";
import { driveRun } from "./run-driver.ts";
import { eventsOf } from "../events/run-events.ts";
import type { RunControls } from "./run-controls.ts";
import type { RunIndex } from "../journal/run-index.ts";
import type { RunToken } from "./grant-token.ts";
import { RunTokenKeeper } from "./run-token-keeper.ts";
import { FenceLost, type ClaimResult, type Hold, type RunStore } from "../journal/run-store.ts";

export interface AttemptOptions {
  readonly bus: Bus;
  readonly store: RunStore;
  readonly controls: RunControls;
  readonly parked: ParkedRuns;
  readonly active: ActiveRuns;
  readonly index: RunIndex;
  readonly peers: Peers;
  readonly models: ModelRegistry;
  readonly limiter: ProviderLimiter;
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

/** A command that could not be prepared this often is given up: its services never came back. */
const MAX_UNSTARTED_DELIVERIES = 100;
const RETRY_CAP_MS = 30_000;
/** Share of the runs after whose end ten of the list are looked at: more than come. */
const TRIM_SHARE = 0.2;

type Claimed = Extract<ClaimResult, { outcome: "claimed" }>;

/** What was prepared for a run that did not exist a moment ago. */
interface Created {
  readonly started: StartedEntry;
  readonly token: RunToken;
}

/** One delivery of one command, from the claim to what the queue is told. */
export class RunAttempt {
  readonly #options: AttemptOptions;
  readonly #delivery: Delivery;
  #hold: Hold | null = null;

  constructor(options: AttemptOptions, delivery: Delivery) {
    this.#options = options;
    this.#delivery = delivery;
  }

  async renew(): Promise<boolean> {
    if (this.#hold === null) return true;
    const { store, active } = this.#options;
    const answer = await store.renew(this.#hold);
    if (answer === "cancelled") await active.lookForNews(this.#hold.runId);
    return answer !== "lost";
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
    if (delivery.kind === "rejected") return this.#reject(delivery, runIdOfMessage(delivery));
    const control = await applyControl(delivery, this.#options);
    if (control !== null) return this.#control(control);
    const read = await readStart(delivery, this.#options.store);
    if ("rejection" in read) return this.#reject(read.rejection, read.runId);
    const { command } = read;
    const claimed = await this.#claim(command);
    if (claimed.outcome !== "absent") return this.#begin(command.runId, claimed, null);
    return this.#create(command);
  }

  async #control(control: ControlResult): Promise<Outcome> {
    if (control.next === "done") return { outcome: "done" };
    if (control.next === "reject") return this.#reject(control.rejection, control.runId);
    const { store, active } = this.#options;
    const { runId } = control;
    const isHint = control.next === "look" || control.isHint;
    if (isHint) await active.lookForNews(runId);
    if (control.next === "look") return { outcome: "done" };
    const delivery = String(this.#delivery.streamSequence);
    const claimed = await store.claim({ runId, commandDigest: null, delivery });
    // Whoever holds the run does what there is; and if it dies, whoever gets its message.
    if (isHint && (claimed.outcome === "busy" || claimed.outcome === "absent"))
      return { outcome: "done" };
    return this.#begin(runId, claimed, null);
  }

  async #create(command: RunCommand): Promise<Outcome> {
    const { peers, models, store, log, defaultTimeoutMs, now } = this.#options;
    if (this.#delivery.deliveryCount > MAX_UNSTARTED_DELIVERIES) {
      const message = `the run could not be prepared in ${MAX_UNSTARTED_DELIVERIES} deliveries; send the command again`;
      return this.#refuse(command, { code: "not_startable", message, problems: [] });
    }
    const { signal } = this.#delivery;
    const prepared = await prepareRun(command, {
      peers,
      models,
      store,
      log,
      signal,
      defaultTimeoutMs,
      now,
    });
    if (prepared.outcome === "rejected") return this.#refuse(command, prepared.rejection);
    const { started, token } = prepared;
    return this.#begin(command.runId, await this.#claim(command, started), { started, token });
  }

  /** A parent that waits for a run that cannot be started must not wait for ever. */
  async #refuse(command: RunCommand, rejection: Rejection): Promise<Outcome> {
    const { runId: childRunId, parent } = command;
    if (parent !== undefined) {
      const { controls, now } = this.#options;
      const at = new Date(now()).toISOString();
      const text = `${rejection.code}: ${rejection.message}`;
      await tellParent(controls, { parent, childRunId, at, status: "failed", text });
    }
    return this.#reject(rejection, childRunId);
  }

  #claim(command: RunCommand, started?: StartedEntry): Promise<ClaimResult> {
    return this.#options.store.claim({
      runId: command.runId,
      commandDigest: command.digest,
      delivery: String(this.#delivery.streamSequence),
      ...(started === undefined ? {} : { started }),
    });
  }

  async #begin(runId: string, claimed: ClaimResult, created: Created | null): Promise<Outcome> {
    switch (claimed.outcome) {
      case "taken": {
        const message = `run ${runId} belongs to another command; choose another runId`;
        return this.#reject({ code: "run_id_taken", message, problems: [] }, runId);
      }
      case "busy":
        return { outcome: "retry", delayMs: claimed.retryMs };
      case "ended":
      case "waiting":
        await finishEnd({ ...this.#options, ...claimed, signal: this.#delivery.signal });
        return { outcome: "done" };
      case "claimed":
        this.#hold = claimed.hold;
        return this.#work(claimed, created);
      case "absent": // made and removed between two reads; the next delivery makes it anew
        return { outcome: "retry", delayMs: 0 };
      default:
        return claimed satisfies never;
    }
  }

  async #work(claimed: Claimed, created: Created | null): Promise<Outcome> {
    const { store, index, active, peers, stopping, now, random } = this.#options;
    const isNew = created !== null && claimed.attempts === 1;
    const entries = isNew
      ? [created.started, ...(claimed.cancel === null ? [] : [claimed.cancel])]
      : await store.load(claimed.hold.runId);
    const lifetime = new AbortController();
    const run = this.#open(claimed, entries, lifetime);
    const forget = active.add(run);
    try {
      const isTakeover = !isNew && entries.at(-1)?.kind !== "retried";
      const isWoken = isTakeover && hasWaitedLast(entries);
      await this.#begun(run, claimed, { isTakeover, isWoken });
      const { started } = run.state;
      const tokens = new RunTokenKeeper({
        peers,
        store,
        started,
        initial: created?.token ?? null,
        now,
      });
      await driveRun({ ...this.#options, run, tokens });
      if (run.state.waiting !== null) return await this.#letGo(run);
      await spreadEnd(run.state, this.#options);
      await run.settle();
      reportEnd(run, this.#options);
      if (random() < TRIM_SHARE) await index.trim().catch(() => {}); // others trim it, too
      return { outcome: "done" };
    } catch (error) {
      // The successor publishes what is missing; doing it here only spares it the work.
      if (stopping.aborted && !run.signal.aborted) await run.settle().catch(() => {});
      throw error;
    } finally {
      forget();
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

  /** The run is anybody's now: that somebody has it already is no loss. */
  async #letGo(run: ActiveRun): Promise<Outcome> {
    this.#options.metrics.runs.inc({ outcome: "parked" });
    this.#options.log.debug({ runId: run.hold.runId }, "run let go");
    try {
      await run.settle();
    } catch (error) {
      if (!(error instanceof FenceLost)) throw error;
    }
    return { outcome: "done" };
  }

  /** Says that the run is in work here, and gives up one that was picked up too often for nothing. */
  async #begun(
    run: ActiveRun,
    { attempts, stalled }: Claimed,
    { isTakeover, isWoken }: { readonly isTakeover: boolean; readonly isWoken: boolean },
  ): Promise<void> {
    const { index, maxAttempts, log, now } = this.#options;
    const { started, length, cancellation } = run.state;
    const { runId, agent, requester, model } = started;
    await index.add(runId, started.at);
    const facts = { runId, agent, requester, model, attempt: attempts };
    log[isWoken ? "debug" : "info"](facts, saidOf({ isTakeover, isWoken }));
    if (cancellation !== null) return; // there is nothing to resume
    const at = new Date(now()).toISOString();
    if (isWoken) {
      await run.record({ kind: "woken", at, attempt: attempts });
    } else if (isTakeover) {
      await run.record({ kind: "resumed", at, attempt: attempts, journalEntries: length });
    }
    if (stalled <= maxAttempts || run.state.cancellation !== null) return;
    const message = `${stalled - 1} runners took the run one after the other and it got no further`;
    await run.record({ kind: "dead", at, failure: { code: "too_many_attempts", message } });
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
}

/** True when the run was let go, and what came since is news that woke it. */
function hasWaitedLast(entries: readonly JournalEntry[]): boolean {
  return entries.findLast((entry) => !isForeign(entry))?.kind === "waiting";
}

function saidOf({ isTakeover, isWoken }: { isTakeover: boolean; isWoken: boolean }): string {
  if (isWoken) return "run woken";
  return isTakeover ? "run resumed" : "run started";
}
