import type { Delivery, Outcome } from "@switchyard/bus/delivery";
import { holderOf, runThing, sizeOf } from "../journal/run-storage.ts";
import { finishEnd } from "../run/ended-run.ts";
import type { RunnerParts } from "../run/runner-parts.ts";
import { workOnRun } from "../run/work-on-run.ts";
import { enterSession, leaveSession } from "../sessions/enter-session.ts";
import { prepareRun } from "../start/prepare-run.ts";
import { turnOf, type DeliveryTurn } from "./delivery-turn.ts";
import { leaveRun } from "./leave-run.ts";
import {
  afterAdmission,
  afterBegin,
  afterClaim,
  afterEntering,
  afterFailedPreparation,
  afterPreparation,
  afterRead,
  afterRecall,
  firstStage,
  isUnderWay,
  leftForItsTurn,
  nothingWaits,
  refusalOf,
  type At,
  type Known,
  type Stage,
  type Refused,
} from "./next-stage.ts";
import { asOwnersStart, takeMessage } from "./take-message.ts";
import { notifyParent } from "../waits/after-end.ts";
import type { DeadText } from "../commands/dead-letters.ts";
import { publishRejection } from "../commands/rejection.ts";
import type { MessageFacts, Rejection } from "../commands/run-command.ts";

/** Handles the messages of a runner's queue. */
export interface RunWorker {
  handle(delivery: Delivery): Promise<Outcome>;
  /** False when another runner has taken the run of a delivery. */
  renew(delivery: Delivery): Promise<boolean>;
}

/** A delivery in progress. */
interface Attempt {
  readonly delivery: Delivery;
  readonly turn: DeliveryTurn;
  at: Stage;
  /** True when a renewal reported that another runner has the run. */
  isLost: boolean;
}

/**
 * A message is a hint that a run has work; the truth about the run is in Redis. So a message may be lost late, repeated or
 * delivered twice at once, and it is acknowledged only when the journal holds the end of the run, or its wait; its last events
 * follow (publish-behind.ts).
 */
export function createRunWorker(parts: RunnerParts): RunWorker {
  const attempts = new WeakMap<Delivery, Attempt>();
  return {
    async handle(delivered) {
      const delivery = asOwnersStart(delivered);
      const turn = turnOf(delivery, parts);
      const attempt = { delivery, turn, at: firstStage(delivery), isLost: false };
      attempts.set(delivered, attempt);
      return perform(attempt, parts);
    },

    async renew(delivered) {
      const attempt = attempts.get(delivered);
      if (attempt?.at.stage !== "held") return true;
      const { hold } = attempt.at.claimed;
      const answer = await parts.store.renew(hold);
      if (answer === "cancelled") await parts.active.lookForNews(hold.runId);
      if (answer !== "lost") await parts.active.verifyEvents(hold.runId);
      attempt.isLost = answer === "lost";
      return !attempt.isLost;
    },
  };
}

async function perform(attempt: Attempt, parts: RunnerParts): Promise<Outcome> {
  const { deliveryCount, publishedAt, isEarly } = attempt.delivery;
  const { metrics, now } = parts;
  const lagMs = Math.max(0, now() - publishedAt.getTime());
  metrics.slotsBusy.inc();
  if (isEarly) metrics.early.inc();
  try {
    return await advance(attempt, parts);
  } catch (error) {
    return await leave(error, attempt, parts);
  } finally {
    metrics.slotsBusy.dec();
    // One that was taken early waited until then.
    const { at } = attempt;
    const isNews = at.stage === "over" ? at.isNews : at.stage !== "found";
    if (deliveryCount === 1 && isNews) metrics.lagSeconds.observe({}, lagMs / 1_000);
  }
}

/** Works on a delivery stage by stage until it is over. */
async function advance(attempt: Attempt, parts: RunnerParts): Promise<Outcome> {
  const { delivery, turn } = attempt;
  const { maxAttempts } = parts;
  let at = afterBegin(await turn.begin(), delivery, maxAttempts);
  attempt.at = at;
  try {
    while (at.stage !== "over") {
      const { stage } = at;
      at = await performStage(at, attempt, parts);
      attempt.at = at;
      // One that runners died of unread is given up again when it comes again.
      if (at.stage === "over" && stage !== "held" && at.known.deaths <= maxAttempts)
        await forget(at.known, attempt, parts);
    }
    return at.outcome;
  } catch (error) {
    await turn.failed();
    throw error;
  }
}

/** Does the work of a stage, and returns the stage that follows. */
async function performStage(
  at: Exclude<Stage, { stage: "over" }>,
  attempt: Attempt,
  parts: RunnerParts,
): Promise<Stage> {
  const { delivery, turn } = attempt;
  const { known } = at;
  switch (at.stage) {
    case "read":
      return afterRead(await takeMessage(at.message, parts), at);
    case "recall":
      return afterRecall(await parts.kept.read(at.runId), at, delivery);
    case "admit": {
      const { runId, requester } = at.start.command;
      const limits = { isUnderWay: isUnderWay(at.start) };
      return afterAdmission(
        await errorOf(parts.storage.admit(holderOf(runId, requester), limits)),
        at,
      );
    }
    case "enter-session": {
      const entering = await enterSession(parts.sessions, at.start.command, known.message);
      return afterEntering(entering, at, parts.maxAttempts);
    }
    case "prepare":
      return prepare(at, attempt, parts);
    case "claim": {
      const { runId, digest: commandDigest } = at.run;
      await turn.claiming(runId);
      const first = at.created === null ? {} : { started: at.created.started };
      const request = { runId, commandDigest, delivery: delivery.holder, ...first };
      return afterClaim(await parts.store.claim(request), at);
    }
    case "found":
      await finishEnd({ ...at.claimed, signal: delivery.signal }, parts);
      return { stage: "over", known, outcome: { outcome: "done" }, isNews: false };
    case "held": {
      await forget(known, attempt, parts);
      const { claimed, created } = at;
      const outcome = await workOnRun({ claimed, created, delivery }, parts);
      return { stage: "over", known, outcome, isNews: true };
    }
    case "give-up": {
      const rejection = await listAsDead({ ...known, ...at.refused, text: at.text }, parts);
      return refusalOf(at.refused, rejection, known);
    }
    case "refuse":
      return refuseMessage(at, attempt, parts);
    default:
      return at satisfies never;
  }
}

/** Collects everything that a new run is pinned to. */
async function prepare(
  at: At<"prepare">,
  { delivery: { signal } }: Attempt,
  parts: RunnerParts,
): Promise<Stage> {
  const { command, start } = at;
  const { runId, requester, payload } = command;
  const reserved = { thing: runThing(runId), bytes: sizeOf(payload) };
  // Neither waits for the other, and both are over before anything is written of the run.
  const reserving = errorOf(
    parts.storage.reserve(holderOf(runId, requester), reserved, { isUnderWay: isUnderWay(start) }),
  );
  const prepared = await prepareRun(command, { ...parts, signal });
  if (prepared.outcome !== "ready") return afterFailedPreparation(prepared, at);
  return afterPreparation(await reserving, prepared, at);
}

/** Removes the traces of a message whose run counts its deaths from here on, or that is done with. */
async function forget({ kept }: Known, { turn }: Attempt, parts: RunnerParts): Promise<void> {
  if (kept !== null) await parts.kept.forget(kept.runId);
  await turn.done();
}

async function refuseMessage(
  { known, refused, rejection, reservedBy }: At<"refuse">,
  { delivery }: Attempt,
  parts: RunnerParts,
): Promise<At<"over">> {
  if (reservedBy !== null && refused.runId !== null)
    parts.storage.set(reservedBy, runThing(refused.runId), { bytes: 0, ends: null });
  // The run that it is about may come first.
  if (delivery.isEarly) return leftForItsTurn(known);
  const { message } = known;
  // A stored command may have been refused by a runner that died then.
  const isRepeat = delivery.deliveryCount > 1 || message !== delivery;
  const outcome = await refuse({ ...refused, message, isRepeat }, rejection, parts);
  return { stage: "over", known, outcome, isNews: true };
}

/** An error kept the run from its end. */
async function leave(error: unknown, attempt: Attempt, parts: RunnerParts): Promise<Outcome> {
  const { delivery, turn, at, isLost } = attempt;
  let isFault = true;
  try {
    const outcome = await leaveRun(error, {
      ...parts,
      delivery,
      at,
      isLost,
      refuse: async (runId, rejection) => {
        const refusing = refusalOf(nothingWaits(runId), rejection, at.known);
        return (await refuseMessage(refusing, attempt, parts)).outcome;
      },
    });
    isFault = false;
    return outcome;
  } finally {
    await turn.left(isFault);
  }
}

/** The reason of a rejected promise; null when it was not rejected. */
function errorOf(work: Promise<void>): Promise<unknown> {
  return work.then(
    () => null,
    (error: unknown) => error,
  );
}

/**
 * Publishes why a message is refused, and removes it from the queue. Neither a parent nor a session that waits for its run may wait
 * for ever.
 */
async function refuse(
  {
    message,
    runId,
    parent,
    sessionId,
    isRepeat,
  }: Refused & {
    readonly message: MessageFacts;
    /** True when an earlier delivery may have reported it. */
    readonly isRepeat: boolean;
  },
  rejection: Rejection,
  parts: RunnerParts,
): Promise<Outcome> {
  const { code } = rejection;
  if (runId !== null && parent !== undefined) {
    const at = new Date(parts.now()).toISOString();
    const text = `${code}: ${rejection.message}`;
    const end = { parent, childRunId: runId, at, status: "failed", text } as const;
    await notifyParent(parts.controls, end);
  }
  const said = await publishRejection(message, { rejection, runId, isRepeat }, parts);
  parts.metrics.rejected.inc({ code });
  parts.log.warn(
    { runId: said.runId, caller: said.caller, code, subject: said.subject },
    "run command rejected",
  );
  if (runId !== null && sessionId !== null)
    await leaveSession(parts.sessions, { sessionId, runId }, rejection);
  return { outcome: "drop", reason: code };
}

/** Lists a command that runners died of, and publishes to its sender that it was given up. */
async function listAsDead(
  {
    message,
    runId,
    deaths,
    text,
  }: {
    readonly message: MessageFacts;
    readonly runId: string;
    readonly deaths: number;
    /** Null when the original cannot be sent again. */
    readonly text: DeadText | null;
  },
  { letters }: RunnerParts,
): Promise<Rejection> {
  const { subject, caller, streamSequence, publishedAt } = message;
  const said = `${deaths} runners died while they worked on the command, or failed with an internal error; look for the cause in their logs, fix it and send the command again, or have it sent again with runs.redrive`;
  const failure = { code: "too_many_attempts", message: said };
  const sentAt = publishedAt.toISOString();
  await letters.add({ runId, subject, caller, streamSequence, sentAt, failure }, text);
  return { ...failure, problems: [] };
}
