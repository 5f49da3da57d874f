import type { Delivery, Outcome } from "@switchyard/bus/delivery";
import { runIdOfMessage } from "../commands/control-command.ts";
import type { DeadText } from "../commands/dead-letters.ts";
import { storageRefusalOf } from "../commands/rejection.ts";
import type { MessageFacts, Rejection, RunCommand } from "../commands/run-command.ts";
import { Suspended } from "../core/interruption.ts";
import type { DeferredCommand } from "../journal/deferred-commands.ts";
import type { ClaimResult } from "../journal/run-claim.ts";
import { holderOf } from "../journal/run-storage.ts";
import type { Claimed } from "../run/work-on-run.ts";
import type { Entering } from "../sessions/enter-session.ts";
import type { Preparation, PreparedRun } from "../start/prepare-run.ts";
import { deadTextOf, receivedOf, unreadTextOf, type Start, type Taken } from "./take-message.ts";

/** States how far a delivery has come. Each stage is named after what is done in it, and has the facts for that. */
export type Stage = { readonly known: Known } & (
  | { readonly stage: "read"; readonly message: Delivery }
  /** A hint may be about a stored command. */
  | { readonly stage: "recall"; readonly runId: string }
  /** The room of its owner is checked before the run gets a position in a session. */
  | { readonly stage: "admit"; readonly start: Start }
  | { readonly stage: "enter-session"; readonly start: Start }
  | { readonly stage: "prepare"; readonly start: Start; readonly command: RunCommand }
  | {
      readonly stage: "claim";
      readonly run: Claimable;
      /** The parts of the run that the claim creates; null when it creates none. */
      readonly created: PreparedRun | null;
      /** True when the run has another message. */
      readonly isHint: boolean;
      /** The stage that follows when there is no such run. */
      readonly otherwise: Stage;
    }
  /** The run has no runner, and has ended or waits: the steps after its end may be missing. */
  | { readonly stage: "found"; readonly claimed: Found }
  | { readonly stage: "held"; readonly claimed: Claimed; readonly created: PreparedRun | null }
  /** Runners died of the message: it is listed as dead, and refused. */
  | {
      readonly stage: "give-up";
      readonly refused: Refused & { readonly runId: string };
      readonly text: DeadText | null;
    }
  | {
      readonly stage: "refuse";
      readonly refused: Refused;
      readonly rejection: Rejection;
      /** The owner of the room that was reserved for the run; null when none was. */
      readonly reservedBy: string | null;
    }
  | {
      readonly stage: "over";
      readonly outcome: Outcome;
      /** False when a runner already works on the run or has ended it, and when the message is left for its turn. */
      readonly isNews: boolean;
    }
);

export type At<Name extends Stage["stage"]> = Extract<Stage, { stage: Name }>;

/** The facts of a delivery that every later stage has. */
export interface Known {
  /** The command's own message, which may differ from the one that was delivered. */
  readonly message: MessageFacts;
  /** The number of runners that died of the message. */
  readonly deaths: number;
  /** The stored command that the delivery is a hint about. */
  readonly kept: { readonly runId: string; readonly rests: number } | null;
  /** The session in which the command's run has its turn. */
  readonly sessionId: string | null;
  /** The command that is to become a run. It is stored while a service that the run needs is away. */
  readonly beginning: Start | null;
}

/** A run, and the digest of its command; null claims the run of any command. */
interface Claimable {
  readonly runId: string;
  readonly digest: string | null;
  readonly parent?: RunCommand["parent"];
}

/** The run of a refused message, and the parent and the session that wait for it. */
export interface Refused {
  /** Null when the message names no run. */
  readonly runId: string | null;
  readonly parent: RunCommand["parent"];
  readonly sessionId: string | null;
}

type Found = Extract<ClaimResult, { outcome: "ended" | "waiting" }>;

export function firstStage(message: Delivery): At<"read"> {
  const known = { message, deaths: 0, kept: null, sessionId: null, beginning: null };
  return { stage: "read", known, message };
}

/** `deaths` is null when the message is not to be worked on now. */
export function afterBegin(deaths: number | null, message: Delivery, maxAttempts: number): Stage {
  const first = firstStage(message);
  if (deaths === null) return leftForItsTurn(first.known);
  const known = { ...first.known, deaths };
  // One more than the limit for a command that could be read: even reading it may be deadly.
  if (deaths <= maxAttempts) return { ...first, known };
  const refused = nothingWaits(runIdOfMessage(message));
  return { stage: "give-up", known, refused, text: unreadTextOf(message) };
}

export function afterRead(taken: Taken, { known }: At<"read">): Stage {
  switch (taken.next) {
    case "done":
      return done(known);
    case "reject":
      return refusalOf(nothingWaits(taken.runId), taken.rejection, known);
    case "go-on":
      return taken.why === "hint"
        ? { stage: "recall", known, runId: taken.runId }
        : claimExisting(taken, known);
    case "start": {
      const { message, sessionId, command, isLikelyNew } = taken;
      const found = { ...known, message, sessionId };
      const creating: Stage =
        command.payload.session === undefined
          ? entering(taken, found)
          : { stage: "admit", known: found, start: taken };
      return isLikelyNew ? creating : claimOr(creating, command);
    }
    default:
      return taken satisfies never;
  }
}

/** Another command may have the run id of the stored one since. */
export function afterRecall(
  found: { readonly command: DeferredCommand; readonly rests: number } | null,
  { known, runId }: At<"recall">,
  hint: Delivery,
): Stage {
  if (found === null) return claimExisting({ runId, why: "hint" }, known);
  const message = receivedOf(found.command, hint);
  if (message === null) return done(known);
  if (hint.isEarly) return leftForItsTurn(known);
  const kept = { runId, rests: found.rests };
  return { stage: "read", known: { ...known, message, kept }, message };
}

/** `full` is the error of the check of room; null when there is room. */
export function afterAdmission(full: unknown, { known, start }: At<"admit">): Stage {
  return full === null
    ? entering(start, known)
    : withoutRoom(full, { known, start, command: start.command });
}

export function afterEntering(
  result: Entering,
  { known: before, start }: At<"enter-session">,
  maxAttempts: number,
): Stage {
  if (result.next === "done") return done(before);
  if (result.next === "reject")
    return refusalOf(nothingWaits(start.command.runId), result.rejection, before);
  const { command } = result;
  const known = { ...before, sessionId: command.session?.sessionId ?? before.sessionId };
  return known.deaths >= maxAttempts
    ? { stage: "give-up", known, refused: waitedFor(command, known), text: deadTextOf(start) }
    : { stage: "prepare", known, start, command };
}

/** `full` is the error of the reservation; null when there is room. */
export function afterPreparation(full: unknown, created: PreparedRun, at: At<"prepare">): Stage {
  if (full !== null) return withoutRoom(full, at);
  const { known, command: run } = at;
  // A run that was made and removed between two reads is created by the next delivery.
  return { stage: "claim", known, run, created, isHint: false, otherwise: retry(known, 0) };
}

/** A run that exists continues, whatever has become of its agent since. */
export function afterFailedPreparation(
  prepared: Exclude<Preparation, { outcome: "ready" }>,
  { known, command }: At<"prepare">,
): Stage {
  // Another runner prepares the run, or died while it worked on it.
  if (prepared.outcome === "not-ours") return claimOr(retry(known, 1_000), command);
  const refusing = refusalOf(waitedFor(command, known), prepared.rejection, known);
  const reservedBy = holderOf(command.runId, command.requester);
  return claimOr({ ...refusing, reservedBy }, command);
}

export function afterClaim(claimed: ClaimResult, at: At<"claim">): Stage {
  const { known, run, created } = at;
  switch (claimed.outcome) {
    case "absent":
      return at.otherwise;
    case "taken":
    case "deleted":
      return refusalOf(waitedFor(run, known), idTaken(run, claimed), known);
    case "busy":
      // The holder of the run does its work; and if it dies, the runner that gets its message does.
      return at.isHint ? done(known) : { ...retry(known, claimed.retryMs), isNews: false };
    case "ended":
    case "waiting":
      return { stage: "found", known, claimed };
    case "claimed":
      return { stage: "held", known, claimed, created };
    default:
      return claimed satisfies never;
  }
}

/** Another delivery brings the message again, in its turn. */
export function leftForItsTurn(known: Known): At<"over"> {
  return { ...retry(known, 0), isNews: false };
}

export function refusalOf(refused: Refused, rejection: Rejection, known: Known): At<"refuse"> {
  return { stage: "refuse", known, refused, rejection, reservedBy: null };
}

/** Neither a parent nor a session waits for the run. */
export function nothingWaits<RunId extends string | null>(runId: RunId) {
  return { runId, parent: undefined, sessionId: null };
}

/** A message that waited for its turn was accepted before, and a child works for a run that is under way. */
export function isUnderWay({ sessionId, command }: Start): boolean {
  return sessionId !== null || command.parent !== undefined;
}

function waitedFor({ runId, parent }: Claimable, { sessionId }: Known) {
  return { runId, parent, sessionId };
}

function done(known: Known): At<"over"> {
  return { stage: "over", known, outcome: { outcome: "done" }, isNews: true };
}

function retry(known: Known, delayMs: number): At<"over"> {
  return { stage: "over", known, outcome: { outcome: "retry", delayMs }, isNews: true };
}

function entering(start: Start, known: Known): Stage {
  return { stage: "enter-session", known: { ...known, beginning: start }, start };
}

/** Resumes a run that exists, and otherwise continues with a stage. */
function claimOr(otherwise: Stage, run: Claimable): At<"claim"> {
  return { stage: "claim", known: otherwise.known, run, created: null, isHint: false, otherwise };
}

function claimExisting(
  { runId, why }: Pick<Extract<Taken, { next: "go-on" }>, "runId" | "why">,
  known: Known,
): Stage {
  const otherwise = why === "retry" ? retry(known, 0) : done(known);
  return { ...claimOr(otherwise, { runId, digest: null }), isHint: why === "hint" };
}

/** Refuses a run that its owner or Redis has no room for; one that exists continues. Throws any other error. */
function withoutRoom(
  full: unknown,
  { known, start, command }: { known: Known; start: Start; command: RunCommand },
): Stage {
  const refusal = storageRefusalOf(full);
  if (refusal === null) throw full;
  const { rejection, scope } = refusal;
  // It waits until there is room again.
  if (isUnderWay(start) && scope === "redis")
    throw new Suspended(rejection.message, { cause: full });
  return claimOr(refusalOf(waitedFor(command, known), rejection, known), command);
}

function idTaken({ runId }: Claimable, { outcome }: { outcome: "taken" | "deleted" }): Rejection {
  const why =
    outcome === "taken"
      ? "belongs to another command"
      : "was deleted, and its id is not used again";
  return {
    code: "run_id_taken",
    message: `run ${runId} ${why}; choose another runId`,
    problems: [],
  };
}
