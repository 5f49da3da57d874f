import type { Delivery, Outcome } from "@switchyard/bus/consume";
import { applyControl, runIdOfMessage, type ControlResult } from "../commands/control-command.ts";
import type { RunnerParts } from "../run/runner-parts.ts";
import { finishEnd } from "../run/ended-run.ts";
import { leaveRun } from "./leave-run.ts";
import type { StartedEntry } from "../core/started-entry.ts";
import { prepareRun } from "../start/prepare-run.ts";
import { publishRejection } from "../commands/rejection.ts";
import { readStart } from "../commands/read-start.ts";
import type { MessageFacts, Rejection, RunCommand } from "../commands/run-command.ts";
import { tellParent } from "../children/after-end.ts";
import { proceedSession } from "@switchyard/contracts/sessions";
import { commandInTurn, enterSession, leaveSession } from "../sessions/run-place.ts";
import { firstLook } from "../core/look-at.ts";
import { policedTools } from "../run/own-tools.ts";
import { workOnRun, type Created } from "../run/work-on-run.ts";
import { startOf } from "../core/replay.ts";
import { listProviderTools } from "../tools/listed-tool.ts";
import type { ClaimResult, Hold } from "../journal/run-store.ts";

type Received = Extract<Delivery, { kind: "command" }>;

/** A run, and the digest of its command; null takes it whatever command it is of. */
interface Claimable {
  readonly runId: string;
  readonly digest: string | null;
  readonly parent?: RunCommand["parent"];
}

const DONE: Outcome = { outcome: "done" };

/** One delivery of one command, from the claim to what the queue is told. */
export class RunAttempt {
  readonly #options: RunnerParts;
  readonly #delivery: Delivery;
  /** The command's own message, which may be another one than brought it here. */
  #message: MessageFacts;
  #hold: Hold | null = null;
  #rests = 0;
  #isLost = false;
  /** Where the command's run has its turn. */
  #sessionId: string | null = null;
  #deaths = 0;
  /** A run that was found not to be in work. */
  #found: Hold | null = null;
  /** False when the run is in work already, or past that, and when the message is left for its turn. */
  #isNews = true;

  constructor(options: RunnerParts, delivery: Delivery) {
    this.#options = options;
    this.#delivery = delivery;
    this.#message = delivery;
  }

  async renew(): Promise<boolean> {
    if (this.#hold === null) return true;
    const { store, active } = this.#options;
    const answer = await store.renew(this.#hold);
    if (answer === "cancelled") await active.lookForNews(this.#hold.runId);
    this.#isLost = answer === "lost";
    return !this.#isLost;
  }

  async perform(): Promise<Outcome> {
    const { metrics, now } = this.#options;
    metrics.active.inc();
    if (this.#delivery.isEarly) metrics.early.inc();
    const { deliveryCount, publishedAt } = this.#delivery;
    const lagMs = Math.max(0, now() - publishedAt.getTime());
    try {
      if (this.#delivery.isEarly) return await this.#performEarly();
      this.#deaths = await this.#countDeaths();
      const outcome = await this.#perform();
      await this.#forgetDeaths();
      return outcome;
    } catch (error) {
      return await this.#leave(error);
    } finally {
      metrics.active.dec();
      // One that was taken early waited until then.
      if (deliveryCount === 1 && this.#isNews) metrics.lagSeconds.observe(lagMs / 1_000);
    }
  }

  async #performEarly(): Promise<Outcome> {
    const { letters } = this.#options;
    if (!(await letters.beginEarly(this.#delivery))) return this.#leaveForItsTurn();
    try {
      return await this.#perform();
    } catch (error) {
      await letters.forgetEarly(this.#delivery);
      throw error;
    }
  }

  /** The queue is told nothing of an early delivery that comes to nothing. */
  #leaveForItsTurn(): Outcome {
    this.#isNews = false;
    return { outcome: "retry", delayMs: 0 };
  }

  /** An outage, a stop and a lost claim are no deaths, however often and for however long. */
  async #leave(error: unknown): Promise<Outcome> {
    let isFault = true;
    try {
      const outcome = await leaveRun(error, {
        ...this.#options,
        delivery: this.#delivery,
        hold: this.#hold,
        rests: this.#rests,
        isLost: this.#isLost,
        found: this.#found,
        reject: (rejection, runId) => this.#reject(rejection, runId),
      });
      isFault = false;
      return outcome;
    } finally {
      if (!this.#delivery.isEarly) await this.#noteLeaving(isFault);
    }
  }

  async #noteLeaving(isFault: boolean): Promise<void> {
    const { letters } = this.#options;
    const delivery = this.#delivery;
    try {
      if (isFault) await letters.fail(delivery, delivery.deliveryCount);
      else await letters.leave(delivery);
    } catch {
      // Where Redis is away the mark stays: it is this runner's own, which counts for nothing while it lives.
    }
  }

  /** How many runners died of this message before it had a run that counts them. */
  async #countDeaths(): Promise<number> {
    const deaths = this.#options.letters.begin(this.#delivery);
    if (this.#delivery.deliveryCount > 1) return deaths;
    deaths.catch(() => {}); // nobody can have died of it yet, so nothing waits for the mark
    return 0;
  }

  async #forgetDeaths(): Promise<void> {
    const forgotten = this.#options.letters.forget(this.#delivery);
    if (this.#delivery.deliveryCount > 1) return forgotten;
    forgotten.catch(() => {}); // the message does not come again
  }

  /** Takes a message off the queue of which runners died; `command` is null when even to read it may be deadly. */
  async #giveUp(command: RunCommand | null): Promise<Outcome> {
    const { subject, caller, streamSequence, publishedAt } = this.#delivery;
    const message = `${this.#deaths} runners died while they worked on the command, or failed with an internal error; look for the cause in their logs, fix it and send the command again`;
    const failure = { code: "too_many_attempts", message };
    const runId = command?.runId ?? runIdOfMessage(this.#delivery);
    const sentAt = publishedAt.toISOString();
    await this.#options.letters.add({ runId, subject, caller, streamSequence, sentAt, failure });
    const rejection = { ...failure, problems: [] };
    return command === null ? this.#reject(rejection, runId) : this.#refuse(command, rejection);
  }

  async #perform(): Promise<Outcome> {
    const delivery = this.#delivery;
    // One more than what is given up below: it never came so far.
    if (this.#deaths > this.#options.maxAttempts) return this.#giveUp(null);
    if (delivery.kind === "rejected") return this.#reject(delivery, runIdOfMessage(delivery));
    const control = await applyControl(delivery, this.#options);
    if (control !== null) return this.#control(control);
    if (delivery.contract.name === proceedSession.name) return this.#proceed(delivery);
    const read = await readStart(delivery, this.#options);
    if ("rejection" in read) return this.#reject(read.rejection, read.runId);
    const { command } = read;
    // What comes for the first time is nearly always a new run: the claim that makes it finds out if not.
    const isLikelyNew = delivery.deliveryCount === 1 && command.payload.session === undefined;
    return isLikelyNew
      ? this.#create(command)
      : this.#claimOr(command, () => this.#create(command));
  }

  /** Goes on with a run that exists. */
  async #claimOr(run: Claimable, isAbsent: () => Outcome | Promise<Outcome>): Promise<Outcome> {
    const claimed = await this.#claim(run);
    return claimed.outcome === "absent" ? isAbsent() : this.#begin(run, claimed, null);
  }

  async #control(control: ControlResult): Promise<Outcome> {
    if (control.next === "done") return DONE;
    if (control.next === "reject") return this.#reject(control.rejection, control.runId);
    const { active, metrics } = this.#options;
    const { runId } = control;
    const isHint = control.next === "look" || control.isHint;
    if (!isHint && this.#delivery.deliveryCount === 1) metrics.retries.inc();
    if (isHint) await active.lookForNews(runId);
    if (control.next === "look") return DONE;
    const claimed = await this.#claim({ runId, digest: null });
    // Whoever holds the run does what there is; and if it dies, whoever gets its message.
    if (isHint && (claimed.outcome === "busy" || claimed.outcome === "absent")) return DONE;
    return this.#begin({ runId, digest: null }, claimed, null);
  }

  /**
   * Works on a run that was given its turn in a session. It is a message of this run like any other, until the run has
   * ended, waits or rests; a run that exists goes on whatever has become of its session.
   */
  async #proceed({ tokens, payload }: Received): Promise<Outcome> {
    const { runId } = proceedSession.payload.parse(payload);
    const { sessionId = "" } = tokens;
    const kept = await commandInTurn(this.#options.sessions, { sessionId, runId });
    if (kept === null) return this.#claimOr({ runId, digest: null }, () => DONE);
    const { message, ...command } = kept;
    this.#sessionId = sessionId;
    this.#message = { ...message, publishedAt: new Date(message.publishedAt) };
    return this.#claimOr(command, () => this.#create(command));
  }

  async #create(asked: RunCommand): Promise<Outcome> {
    const entered = await this.#enter(asked);
    if ("outcome" in entered) return entered;
    const { command } = entered;
    if (this.#deaths >= this.#options.maxAttempts) return this.#giveUp(command);
    const { signal } = this.#delivery;
    const prepared = await prepareRun(command, { ...this.#options, signal });
    // A run that exists goes on, whatever has become of its agent since.
    if (prepared.outcome === "rejected")
      return this.#claimOr(command, () => this.#refuse(command, prepared.rejection));
    const { started, token } = prepared;
    const listing = this.#listTools(prepared);
    const claimed = await this.#claim(command, started);
    return this.#begin(command, claimed, { started, token, listing });
  }

  /** Nothing of it depends on whether the run can be made, so neither waits for the other. */
  #listTools({ started, token: { token } }: Omit<Created, "listing">): Created["listing"] {
    const { signal } = this.#delivery;
    const state = startOf(started);
    const asking = { token, layers: state.toolLayers, policed: policedTools(state) };
    const call = { signal, correlationId: started.runId };
    const listing = listProviderTools(this.#options.peers, asking, call);
    listing.catch(() => {}); // for whoever needs it, if anybody does
    return listing;
  }

  /** The command with what its session has for it; an outcome when it has no turn there now. */
  async #enter(command: RunCommand): Promise<{ readonly command: RunCommand } | Outcome> {
    const { session, onBusy } = command.payload;
    if (session === undefined) {
      if (onBusy === undefined) return { command };
      const message = "onBusy says what happens in a session, and the command names none";
      const problems = ["onBusy: goes only with session"];
      return this.#reject({ code: "invalid_command", message, problems }, command.runId);
    }
    const entering = await enterSession(this.#options.sessions, command, this.#message);
    if (entering.next === "done") return DONE;
    if (entering.next === "reject") return this.#reject(entering.rejection, command.runId);
    this.#sessionId = entering.command.session?.sessionId ?? null;
    return { command: entering.command };
  }

  /** A parent that waits for a run that cannot be started must not wait for ever, nor a session. */
  async #refuse(command: Claimable, rejection: Rejection): Promise<Outcome> {
    if (this.#delivery.isEarly) return this.#leaveForItsTurn();
    const { runId: childRunId, parent } = command;
    if (parent !== undefined) {
      const { controls, now } = this.#options;
      const at = new Date(now()).toISOString();
      const text = `${rejection.code}: ${rejection.message}`;
      await tellParent(controls, { parent, childRunId, at, status: "failed", text });
    }
    const outcome = await this.#reject(rejection, childRunId);
    const sessionId = this.#sessionId;
    if (sessionId !== null)
      await leaveSession(this.#options.sessions, { sessionId, runId: childRunId }, rejection);
    return outcome;
  }

  /**
   * The queue does not miss who took a message early and died, and its turn may be far. So the sweeper gets to know of
   * the run, as of one that waits.
   */
  async #beSeen(runId: string): Promise<void> {
    if (!this.#delivery.isEarly) return;
    const { parked, now } = this.#options;
    await parked.lookAgain(runId, firstLook(0, now()));
  }

  async #claim({ runId, digest }: Claimable, started?: StartedEntry): Promise<ClaimResult> {
    await this.#beSeen(runId);
    return this.#options.store.claim({
      runId,
      commandDigest: digest,
      delivery: this.#delivery.holder,
      ...(started === undefined ? {} : { started }),
    });
  }

  async #begin(run: Claimable, claimed: ClaimResult, created: Created | null): Promise<Outcome> {
    switch (claimed.outcome) {
      case "taken": {
        const message = `run ${run.runId} belongs to another command; choose another runId`;
        return this.#refuse(run, { code: "run_id_taken", message, problems: [] });
      }
      case "busy":
        this.#isNews = false;
        return { outcome: "retry", delayMs: claimed.retryMs };
      case "ended":
      case "waiting":
        this.#isNews = false;
        this.#found = claimed.hold;
        await finishEnd({ ...claimed, signal: this.#delivery.signal }, this.#options);
        return DONE;
      case "claimed":
        this.#hold = claimed.hold;
        this.#rests = claimed.rests;
        if (!this.#delivery.isEarly) await this.#forgetDeaths(); // the run counts from here on
        return workOnRun({ claimed, created, delivery: this.#delivery }, this.#options);
      case "absent": // made and removed between two reads; the next delivery makes it anew
        return { outcome: "retry", delayMs: 0 };
      default:
        return claimed satisfies never;
    }
  }

  async #reject(rejection: Rejection, runId: string | null): Promise<Outcome> {
    // What it is about may come first when it has its turn; and it would be refused twice.
    if (this.#delivery.isEarly) return this.#leaveForItsTurn();
    const { bus, metrics, log, now } = this.#options;
    const { code } = rejection;
    const isRepeat = this.#delivery.deliveryCount > 1;
    const facts = { rejection, runId, now: now(), isRepeat };
    const said = await publishRejection(bus, this.#message, facts);
    metrics.rejected.inc({ code });
    log.warn(
      { runId: said.runId, caller: said.caller, code, subject: said.subject },
      "run command rejected",
    );
    return { outcome: "drop", reason: code };
  }
}
