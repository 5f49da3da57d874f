import type { Delivery, Outcome } from "@switchyard/bus/delivery";
import { runIdOfMessage } from "../commands/control-command.ts";
import type { DeadText } from "../commands/dead-letters.ts";
import type { MessageFacts, Rejection, RunCommand } from "../commands/run-command.ts";
import type { StartedEntry } from "../core/started-entry.ts";
import type { DeferredCommand } from "../journal/deferred-commands.ts";
import type { ClaimResult, Hold } from "../journal/run-claim.ts";
import { holderOf, runThing, sizeOf } from "../journal/run-storage.ts";
import { Suspended } from "../core/interruption.ts";
import { storageRefusalOf } from "../commands/rejection.ts";
import { finishEnd } from "../run/ended-run.ts";
import type { RunnerParts } from "../run/runner-parts.ts";
import { listForNewRun } from "../start/list-for-new-run.ts";
import { workOnRun, type Created } from "../run/work-on-run.ts";
import { enterSession } from "../sessions/enter-session.ts";
import { prepareRun } from "../start/prepare-run.ts";
import { turnOf, type DeliveryTurn } from "./delivery-turn.ts";
import { leaveRun, type Stage } from "./leave-run.ts";
import { listAsDead, refuse, reject } from "./refusal.ts";
import {
  deadTextOf,
  keptOf,
  receivedOf,
  takeMessage,
  unreadTextOf,
  type Start,
  type Taken,
} from "./take-message.ts";

/** A run, and the digest of its command; null claims the run of any command. */
interface Claimable {
  readonly runId: string;
  readonly digest: string | null;
  readonly parent?: RunCommand["parent"];
}

const DONE: Outcome = { outcome: "done" };
/** Another runner prepares the run, or died while it worked on it. */
const AGAIN: Outcome = { outcome: "retry", delayMs: 1_000 };

/**
 * One delivery of one command: the message is read, its run is claimed, begun or resumed, and played; then the outcome is
 * acknowledged to the queue.
 */
export class RunAttempt {
  readonly #options: RunnerParts;
  readonly #delivery: Delivery;
  readonly #turn: DeliveryTurn;
  /** The command's own message, which may differ from the one that was delivered. */
  #message: MessageFacts;
  #stage: Stage = { stage: "read", rests: 0, beginning: null, keptRun: null };
  #isLost = false;
  /** The session in which the command's run has its turn. */
  #sessionId: string | null = null;
  #deaths = 0;
  /** False when a runner already works on the run or has ended it, and when the message is left for its turn. */
  #isNews = true;

  constructor(options: RunnerParts, delivery: Delivery) {
    this.#options = options;
    this.#delivery = delivery;
    this.#message = delivery;
    this.#turn = turnOf(delivery, options);
  }

  async renew(): Promise<boolean> {
    const hold = this.#held;
    if (hold === null) return true;
    const { store, active } = this.#options;
    const answer = await store.renew(hold);
    if (answer === "cancelled") await active.lookForNews(hold.runId);
    if (answer !== "lost") await active.verifyEvents(hold.runId);
    this.#isLost = answer === "lost";
    return !this.#isLost;
  }

  async perform(): Promise<Outcome> {
    const { metrics, now } = this.#options;
    const { deliveryCount, publishedAt, isEarly } = this.#delivery;
    const lagMs = Math.max(0, now() - publishedAt.getTime());
    metrics.slotsBusy.inc();
    if (isEarly) metrics.early.inc();
    try {
      return await this.#perform();
    } catch (error) {
      return await this.#leave(error);
    } finally {
      metrics.slotsBusy.dec();
      // One that was taken early waited until then.
      if (deliveryCount === 1 && this.#isNews) metrics.lagSeconds.observe({}, lagMs / 1_000);
    }
  }

  async #perform(): Promise<Outcome> {
    const deaths = await this.#turn.begin();
    if (deaths === null) return this.#leaveForItsTurn();
    this.#deaths = deaths;
    // One more than the limit below: even reading the message may be deadly.
    if (deaths > this.#options.maxAttempts) {
      const runId = runIdOfMessage(this.#delivery);
      return this.#reject(await this.#listAsDead(runId, unreadTextOf(this.#delivery)), runId);
    }
    try {
      const outcome = await this.#act(await takeMessage(this.#delivery, this.#options));
      await this.#turn.done();
      return outcome;
    } catch (error) {
      await this.#turn.failed();
      throw error;
    }
  }

  async #act(taken: Taken): Promise<Outcome> {
    switch (taken.next) {
      case "done":
        return DONE;
      case "reject":
        return this.#reject(taken.rejection, taken.runId);
      case "go-on":
        return this.#goOn(taken);
      case "start":
        this.#message = taken.message;
        this.#sessionId = taken.sessionId;
        return taken.isLikelyNew
          ? this.#create(taken)
          : this.#claimOr(taken.command, () => this.#create(taken));
      default:
        return taken satisfies never;
    }
  }

  /** Resumes a run that exists. */
  async #claimOr(run: Claimable, isAbsent: () => Outcome | Promise<Outcome>): Promise<Outcome> {
    const claimed = await this.#claim(run);
    return claimed.outcome === "absent" ? isAbsent() : this.#begin(run, claimed, null);
  }

  async #goOn({ runId, why }: Extract<Taken, { next: "go-on" }>): Promise<Outcome> {
    const kept = why === "hint" ? await this.#options.kept.read(runId) : null;
    if (kept !== null) return this.#startKept(runId, kept);
    const run = { runId, digest: null };
    const claimed = await this.#claim(run);
    // The holder of the run does its work; and if it dies, the runner that gets its message does.
    if (why === "hint" && claimed.outcome === "busy") return DONE;
    if (why !== "retry" && claimed.outcome === "absent") return DONE;
    return this.#begin(run, claimed, null);
  }

  /** The hint is about a command that could not become a run before. Another command may have its run id since. */
  async #startKept(
    runId: string,
    { command, rests }: { readonly command: DeferredCommand; readonly rests: number },
  ): Promise<Outcome> {
    const received = receivedOf(command, this.#delivery);
    if (received === null) return DONE;
    if (!this.#turn.mayRefuse) return this.#leaveForItsTurn();
    this.#stage = { stage: "read", rests, beginning: null, keptRun: runId };
    const outcome = await this.#act(await takeMessage(received, this.#options));
    // A run that was claimed has forgotten it already.
    if (this.#held === null) await this.#options.kept.forget(runId);
    return outcome;
  }

  async #create(start: Start): Promise<Outcome> {
    const { runId, digest } = start.command;
    const { storage } = this.#options;
    const owner = holderOf(runId, start.command.requester);
    // A message that waited for its turn was accepted before, and a child works for a run that is under way.
    const isUnderWay = start.sessionId !== null || start.command.parent !== undefined;
    // The check precedes the run's position in a session.
    if (start.command.payload.session !== undefined) {
      const full = await errorOf(storage.admit(owner, { isUnderWay }));
      if (full !== null) return this.#withoutRoom(start.command, { full, isUnderWay });
    }
    this.#stage = { ...this.#stage, beginning: { runId, digest, message: keptOf(start.received) } };
    const entering = await enterSession(this.#options.sessions, start.command, this.#message);
    if (entering.next === "done") return DONE;
    if (entering.next === "reject") return this.#reject(entering.rejection, runId);
    const { command } = entering;
    this.#sessionId = command.session?.sessionId ?? this.#sessionId;
    if (this.#deaths >= this.#options.maxAttempts)
      return this.#refuse(command, await this.#listAsDead(runId, deadTextOf(start)));
    const { signal } = this.#delivery;
    const thing = runThing(runId);
    // Neither waits for the other, and both are over before anything is written of the run.
    const reserving = errorOf(
      storage.reserve(owner, { thing, bytes: sizeOf(command.payload) }, { isUnderWay }),
    );
    const prepared = await prepareRun(command, { ...this.#options, signal });
    // A run that exists continues, whatever has become of its agent since.
    if (prepared.outcome === "rejected")
      return this.#claimOr(command, () => {
        storage.set(owner, thing, { bytes: 0, ends: null });
        return this.#refuse(command, prepared.rejection);
      });
    if (prepared.outcome === "not-ours") return this.#claimOr(command, () => AGAIN);
    const { started, token } = prepared;
    // Nothing of it depends on whether the run can be made, so neither waits for the other.
    const listing = listForNewRun(prepared, this.#options.clients, signal);
    const full = await reserving;
    if (full !== null) return this.#withoutRoom(command, { full, isUnderWay });
    const claimed = await this.#claim(command, started);
    return this.#begin(command, claimed, { started, token, listing });
  }

  /** Refuses a run that its owner or Redis has no room for; one that exists continues. Rejects with any other error. */
  async #withoutRoom(
    command: RunCommand,
    { full, isUnderWay }: { readonly full: unknown; readonly isUnderWay: boolean },
  ): Promise<Outcome> {
    const refusal = storageRefusalOf(full);
    if (refusal === null) throw full;
    const { rejection, scope } = refusal;
    // It waits until there is room again.
    if (isUnderWay && scope === "redis") throw new Suspended(rejection.message, { cause: full });
    return this.#claimOr(command, () => this.#refuse(command, rejection));
  }

  async #claim({ runId, digest }: Claimable, started?: StartedEntry): Promise<ClaimResult> {
    await this.#turn.claiming(runId);
    const first = started === undefined ? {} : { started };
    const delivery = this.#delivery.holder;
    return this.#options.store.claim({ runId, commandDigest: digest, delivery, ...first });
  }

  async #begin(run: Claimable, claimed: ClaimResult, created: Created | null): Promise<Outcome> {
    switch (claimed.outcome) {
      case "taken": {
        const message = `run ${run.runId} belongs to another command; choose another runId`;
        return this.#refuse(run, { code: "run_id_taken", message, problems: [] });
      }
      case "deleted": {
        const message = `run ${run.runId} was deleted, and its id is not used again; choose another runId`;
        return this.#refuse(run, { code: "run_id_taken", message, problems: [] });
      }
      case "busy":
        this.#isNews = false;
        return { outcome: "retry", delayMs: claimed.retryMs };
      case "ended":
      case "waiting":
        this.#isNews = false;
        this.#stage = { ...this.#stage, stage: "found", hold: claimed.hold };
        await finishEnd({ ...claimed, signal: this.#delivery.signal }, this.#options);
        return DONE;
      case "claimed": {
        const { keptRun } = this.#stage;
        this.#stage = { ...this.#stage, stage: "held", hold: claimed.hold, rests: claimed.rests };
        if (keptRun !== null) await this.#options.kept.forget(keptRun);
        await this.#turn.claimed();
        return workOnRun({ claimed, created, delivery: this.#delivery }, this.#options);
      }
      case "absent": // made and removed between two reads; the next delivery creates it again
        return { outcome: "retry", delayMs: 0 };
      default:
        return claimed satisfies never;
    }
  }

  /** An error kept the run from its end. */
  async #leave(error: unknown): Promise<Outcome> {
    let isFault = true;
    try {
      const outcome = await leaveRun(error, {
        ...this.#options,
        delivery: this.#delivery,
        stage: this.#stage,
        isLost: this.#isLost,
        reject: (rejection, runId) => this.#reject(rejection, runId),
      });
      isFault = false;
      return outcome;
    } finally {
      await this.#turn.left(isFault);
    }
  }

  get #held(): Hold | null {
    return this.#stage.stage === "held" ? this.#stage.hold : null;
  }

  #leaveForItsTurn(): Outcome {
    this.#isNews = false;
    return { outcome: "retry", delayMs: 0 };
  }

  async #reject(rejection: Rejection, runId: string | null): Promise<Outcome> {
    if (!this.#turn.mayRefuse) return this.#leaveForItsTurn();
    return reject({ runId, ...this.#refusalFacts }, rejection, this.#options);
  }

  async #refuse({ runId, parent }: Claimable, rejection: Rejection): Promise<Outcome> {
    if (!this.#turn.mayRefuse) return this.#leaveForItsTurn();
    const refused = { runId, parent, sessionId: this.#sessionId, ...this.#refusalFacts };
    return refuse(refused, rejection, this.#options);
  }

  /** A stored command may have been refused by a runner that died then. */
  get #refusalFacts(): { readonly message: MessageFacts; readonly isRepeat: boolean } {
    const message = this.#message;
    return { message, isRepeat: this.#delivery.deliveryCount > 1 || message !== this.#delivery };
  }

  #listAsDead(runId: string, text: DeadText | null): Promise<Rejection> {
    const dead = { message: this.#message, runId, deaths: this.#deaths, text };
    return listAsDead(dead, this.#options);
  }
}

/** The reason of a rejected promise; null when it was not rejected. */
function errorOf(work: Promise<void>): Promise<unknown> {
  return work.then(
    () => null,
    (error: unknown) => error,
  );
}
