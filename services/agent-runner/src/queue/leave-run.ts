import { backoffMs } from "@switchyard/contracts/backoff";
import type { Delivery, Outcome } from "@switchyard/bus/delivery";
import { publishEvent } from "@switchyard/bus/publish";
import { runTokens } from "@switchyard/contracts/ids";
import { runDelayed } from "@switchyard/contracts/agent-runner/run-events";
import { StoreError } from "@switchyard/service/store-error";
import { notifyParent } from "../waits/after-end.ts";
import type { Rejection } from "../commands/run-command.ts";
import { type Rest, FenceLost } from "../journal/run-store.ts";
import type { Hold } from "../journal/run-claim.ts";
import type { RunnerParts } from "../run/runner-parts.ts";
import { shownText } from "../core/event-facts.ts";
import { keptMember } from "../journal/parked-runs.ts";
import { Suspended, HandOver } from "../core/interruption.ts";
import type { Stage } from "./next-stage.ts";
import { keptOf, type Start } from "./take-message.ts";
import { isOutage } from "../context/service-clients.ts";
import { JournalCorrupt } from "../core/run-state.ts";

type Parts = Pick<
  RunnerParts,
  | "bus"
  | "store"
  | "index"
  | "controls"
  | "parked"
  | "kept"
  | "metrics"
  | "log"
  | "stopping"
  | "now"
  | "random"
>;

export interface Leaving extends Parts {
  readonly delivery: Delivery;
  readonly at: Stage;
  /** True when a renewal reported that another runner has the run. */
  readonly isLost: boolean;
  readonly refuse: (runId: string | null, rejection: Rejection) => Promise<Outcome>;
}

/**
 * A service that was away may return at any moment, and then its runs continue within ten seconds, including the sweeper's time.
 */
const BACKOFF = { firstMs: 250, mostMs: 5_000 };
/**
 * However long an outage is expected to last, the run is retried after this: its time may be over, or the service may have
 * returned.
 */
const LONGEST_PAUSE_MS = 300_000;

/**
 * Returns the acknowledgement for the queue when a run is released before its end; a fault is rethrown and counts as an attempt.
 */
export async function leaveRun(error: unknown, leaving: Leaving): Promise<Outcome> {
  const { metrics, log, stopping, random, at } = leaving;
  const { signal, isEarly } = leaving.delivery;
  const runId = at.stage === "held" ? at.claimed.hold.runId : undefined;
  const departure = departureOf(error, {
    isLost: leaving.isLost,
    isDeliveryAborted: signal.aborted,
    isStopping: stopping.aborted,
  });
  metrics.runs.inc({ outcome: departure });
  switch (departure) {
    case "lost":
      log.warn({ runId }, "run lost to another runner");
      // Neither done nor retry would be right: the message is the other runner's.
      return { outcome: "left" };
    case "cut-off":
      log.warn({ runId, err: error }, "run left: its claim could not be renewed");
      await handBack(leaving);
      return { outcome: "left" };
    case "handed-over":
      await handBack(leaving);
      return { outcome: "retry", delayMs: 0 };
    case "suspended": {
      const delayMs = pauseOf(error, leaving) * (0.75 + random() / 2);
      log.warn({ runId, err: error, delayMs }, "run suspended");
      const reason = reasonOf(error);
      const isParked = await (at.stage === "held"
        ? release(leaving, { ms: delayMs, by: "sweeper", reason })
        : keepAside(leaving, { delayMs, reason }));
      // In the queue it would count as work that waits for a runner.
      return isParked && !isEarly ? { outcome: "done" } : { outcome: "retry", delayMs };
    }
    case "corrupt":
      // It is buried when the message has its turn, which publishes this.
      if (isEarly) {
        await handBack(leaving);
        return { outcome: "retry", delayMs: 0 };
      }
      log.error({ runId: holdAt(at)?.runId, err: error }, "journal is corrupt");
      return bury(String(error), leaving);
    case "faulted":
      throw error;
    default:
      return departure satisfies never;
  }
}

/** An outage that is expected to last is not checked every half a minute by every run that waits for its end. */
function pauseOf(error: unknown, { at, delivery }: Leaving): number {
  // Each wake-up of a run is a new message, so its delivery count starts anew.
  const usual = backoffMs(Math.max(restsAt(at) + 1, delivery.deliveryCount), BACKOFF);
  const known = error instanceof Suspended ? (error.waitMs ?? 0) : 0;
  return Math.max(usual, Math.min(known, LONGEST_PAUSE_MS));
}

/**
 * False when the command has to stay in the queue: Redis is away, it is not its turn, another one with its run id is stored, or
 * too many are.
 */
async function keepAside(
  leaving: Leaving,
  { delayMs, reason }: { readonly delayMs: number; readonly reason: string },
): Promise<boolean> {
  const { kept, parked, delivery, log, now, at } = leaving;
  const { beginning } = at.known;
  if (beginning === null || delivery.isEarly) return false;
  const { command, received } = beginning;
  const { runId } = command;
  try {
    // First, or the sweeper finds nothing to wake.
    const keeping = await kept.keep(command, keptOf(received));
    if (!keeping.kept) {
      log.warn({ runId, why: keeping.why }, "command not kept, it stays in the queue");
      return false;
    }
    await parked.lookAgain(keptMember(runId), now() + delayMs);
    if (restsAt(at) === 0) publishDelayed(beginning, reason, leaving);
    return true;
  } catch (err) {
    log.warn({ runId, err }, "command not kept");
    return false;
  }
}

/** Publishes why there is no run yet. The event is a courtesy, so a failure to publish it is only logged. */
function publishDelayed(
  { command: { runId }, received }: Start,
  reason: string,
  { bus, log, now }: Leaving,
): void {
  const payload = { runId, at: new Date(now()).toISOString(), reason };
  const ids = { messageId: `delayed:${runId}:${received.streamSequence}`, correlationId: runId };
  publishEvent(bus, runDelayed, runTokens(runId, received.caller), payload, ids).catch(
    (err: unknown) => log.warn({ runId, err }, "delay of a run not published"),
  );
}

/** Describes to a person why the run cannot continue. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Suspended && error.cause instanceof Error ? error.cause : error;
  return shownText(cause instanceof Error ? cause.message : String(cause), MAX_REASON_BYTES);
}

const MAX_REASON_BYTES = 512;

/** Lists a run whose journal cannot be read with the dead ones, and leaves its keys unchanged. */
async function bury(reason: string, leaving: Leaving): Promise<Outcome> {
  const { store, index, now, refuse } = leaving;
  const hold = holdAt(leaving.at);
  const code = "journal_corrupt";
  const message = `the journal of the run cannot be read: ${reason}`;
  if (hold !== null) {
    const at = new Date(now()).toISOString();
    const parent = await store.bury(hold, { code, message }, at);
    await index.addDead(hold.runId, at);
    if (parent) {
      const { runId: childRunId } = hold;
      const text = `${code}: ${message}`;
      await notifyParent(leaving.controls, { parent, childRunId, at, status: "dead", text });
    }
  }
  return refuse(hold?.runId ?? null, { code, message, problems: [] });
}

/** Releases the run for any runner at once. The queue has no message of a run that was taken early, so the sweeper wakes it. */
function handBack(leaving: Leaving): Promise<boolean> {
  return release(leaving, { ms: 0, by: leaving.delivery.isEarly ? "sweeper" : "queue" });
}

/**
 * False when only the queue brings the run back: it could not be released, or there was nothing to release, or the sweeper has
 * nothing left to do with it, because only the steps after its end are missing. The next runner claims the run all the same; the
 * attempt counts against it when it is another runner and this was not a release.
 */
async function release(leaving: Leaving, rest: Rest): Promise<boolean> {
  const { store, parked, log, at, now } = leaving;
  if (at.stage !== "held") return false;
  const { hold } = at.claimed;
  try {
    // The list is written first, so that the sweeper always has a run that no runner holds.
    if (rest.by === "sweeper") await parked.lookAgain(hold.runId, now() + rest.ms);
    return await store.release(hold, rest);
  } catch (err) {
    log.warn({ runId: hold.runId, err }, "run not released");
    return false;
  }
}

/** Returns the run that is held, or was found without a runner. */
function holdAt(at: Stage): Hold | null {
  return at.stage === "held" || at.stage === "found" ? at.claimed.hold : null;
}

/** Returns the number of releases to rest since the last progress of the run, or of the stored command. */
function restsAt(at: Stage): number {
  return at.stage === "held" ? at.claimed.rests : (at.known.kept?.rests ?? 0);
}

/** The reason why a runner releases a run before its end. */
export type Departure =
  /** The run is another runner's; neither the run nor its message may be touched. */
  | "lost"
  /** The holder of the run could not be determined for too long; if it is still this runner, it releases the run. */
  | "cut-off"
  /** This runner stops; the run continues elsewhere at once. */
  | "handed-over"
  /** Something the run needs is down; the run comes again after a pause. */
  | "suspended"
  /** The journal cannot be read; trying again cannot help. */
  | "corrupt"
  /** A fault of this program; the attempt counts against the run. */
  | "faulted";

/** Reads the reason from the error, given whether the delivery was taken away and whether this runner stops. */
export function departureOf(
  error: unknown,
  facts: {
    readonly isLost: boolean;
    readonly isDeliveryAborted: boolean;
    readonly isStopping: boolean;
  },
): Departure {
  if (error instanceof FenceLost || facts.isLost) return "lost";
  if (error instanceof JournalCorrupt) return "corrupt";
  if (facts.isStopping && (error instanceof HandOver || isInterruption(error, facts)))
    return "handed-over";
  if (facts.isDeliveryAborted) return "cut-off";
  if (error instanceof Suspended || error instanceof StoreError || isOutage(error))
    return "suspended";
  return "faulted";
}

/** A stop cuts pauses short and, at its deadline, the work itself; both end in an abort error. */
function isInterruption(
  error: unknown,
  { isDeliveryAborted }: { readonly isDeliveryAborted: boolean },
): boolean {
  return isDeliveryAborted || (error instanceof Error && error.name === "AbortError");
}
