/** The facts about a run in the store; times are milliseconds since the Unix epoch. */
export interface RunFacts {
  readonly status: string;
  /** The time at which it continues by itself; 0: never. */
  readonly wakeAt: number;
  /** A runner works on it until then, unless it renews its claim. */
  readonly heldUntil: number;
  /** It was released in order; until then sweeps skip it, or the queue delivers its message again. */
  readonly restsUntil: number;
  /** The number of events that its journal yields, and of those that are surely in the stream. */
  readonly events: number;
  readonly published: number;
}

/** The columns of a run's state that are the facts. */
export const FACTS = [
  "status",
  "wakeAt",
  "heldUntil",
  "restsUntil",
  "events",
  "published",
] as const;

/** Facts of a command that could not become a run at the last attempt. */
export const KEPT: RunFacts = {
  status: "kept",
  wakeAt: 0,
  heldUntil: 0,
  restsUntil: 0,
  events: 0,
  published: 0,
};

/** Reads the columns; null when there is no such run. */
export function factsIn(columns: readonly (string | null)[]): RunFacts | null {
  const [status, ...numbers] = columns;
  if (!status) return null;
  const [wakeAt = 0, heldUntil = 0, restsUntil = 0, events = 0, published = 0] =
    numbers.map(Number);
  return { status, wakeAt, heldUntil, restsUntil, events, published };
}

export type DueAction =
  | { readonly next: "forget" }
  | { readonly next: "later"; readonly atMs: number }
  /** A wake-up is due or was lost, or the runner that had to publish the last events has died. */
  | { readonly next: "wake"; readonly atMs: number };

/** An entry may stay without effect for this time when the runner that wrote it died before it sent the wake-up. */
export const RECHECK_MS = 60_000;
const FIRST_CHECK_MS = 5_000;
/** A wake-up that had no effect for so long is sent again. */
export const REPEAT_MS = 30_000;

/** The time in which a runner that ended or parked a run publishes the remaining events. */
export const PUBLISH_MS = 5_000;

/** Decides what a sweep does about a run that is due. Null facts: there is none, or it has expired. */
export function actionFor(facts: RunFacts | null, nowMs: number): DueAction {
  if (facts === null) return { next: "forget" };
  const { status, wakeAt } = facts;
  const hasUnpublished = facts.published < facts.events;
  switch (status) {
    case "waiting":
      if (hasUnpublished || (wakeAt > 0 && wakeAt <= nowMs))
        return { next: "wake", atMs: nowMs + REPEAT_MS };
      return { next: "later", atMs: nextCheckAt(wakeAt, nowMs) };
    case "running": {
      // A claim ends with its runner. The store does not show whether a message of the run is left then.
      const claimedUntil = Math.max(facts.heldUntil, facts.restsUntil);
      if (claimedUntil > nowMs)
        return { next: "later", atMs: Math.min(claimedUntil, nowMs + RECHECK_MS) };
      return { next: "wake", atMs: nowMs + REPEAT_MS };
    }
    case KEPT.status:
      return { next: "wake", atMs: nowMs + REPEAT_MS };
    default:
      return hasUnpublished ? { next: "wake", atMs: nowMs + REPEAT_MS } : { next: "forget" };
  }
}

/**
 * Returns when to check first a run that is about to be released: the event that it waits for may have come before a wake-up could
 * be sent.
 */
export function firstCheckAt(wakeAt: number, nowMs: number): number {
  const soon = nowMs + FIRST_CHECK_MS;
  return wakeAt > 0 ? Math.min(wakeAt, soon) : soon;
}

/** Returns when to recheck a run that continues at `wakeAt`, or never by itself (0). */
export function nextCheckAt(wakeAt: number, nowMs: number): number {
  const recheck = nowMs + RECHECK_MS;
  return wakeAt > 0 ? Math.min(wakeAt, recheck) : recheck;
}
