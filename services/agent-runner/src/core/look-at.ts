/** What the store says about a run; times are milliseconds since the Unix epoch. */
export interface RunFacts {
  readonly status: string;
  /** When it goes on by itself; 0: never. */
  readonly wakeAt: number;
  /** A runner works on it until then, unless it renews its claim. */
  readonly heldUntil: number;
  /** It was left in order, and until then it is left alone, or the queue delivers its message again. */
  readonly restsUntil: number;
  /** How many events its journal stands for, and up to which the stream surely has them. */
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

/** Of a command that could not become a run when somebody tried last. */
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

export type Look =
  | { readonly next: "forget" }
  | { readonly next: "later"; readonly atMs: number }
  /** A wake-up is due or was lost, or whoever was to publish the last events has died. */
  | { readonly next: "wake"; readonly atMs: number };

/** How long news may be without effect when the runner that brought it died before it told anybody. */
export const RECHECK_MS = 60_000;
const FIRST_LOOK_MS = 5_000;
/** A wake-up that came to nothing for so long is sent again. */
export const REPEAT_MS = 30_000;

/** For so long, whoever has brought a run to its end or to a wait publishes the events that are left. */
export const PUBLISH_MS = 5_000;

/** What a sweep does about a run that is due. Null facts: there is none, or it is kept no longer. */
export function lookAt(facts: RunFacts | null, nowMs: number): Look {
  if (facts === null) return { next: "forget" };
  const { status, wakeAt } = facts;
  const isUntold = facts.published < facts.events;
  switch (status) {
    case "waiting":
      if (isUntold || (wakeAt > 0 && wakeAt <= nowMs))
        return { next: "wake", atMs: nowMs + REPEAT_MS };
      return { next: "later", atMs: nextLook(wakeAt, nowMs) };
    case "running": {
      // A claim ends with its runner. Whether a message of the run is left then, nobody can tell from here.
      const claimedUntil = Math.max(facts.heldUntil, facts.restsUntil);
      if (claimedUntil > nowMs)
        return { next: "later", atMs: Math.min(claimedUntil, nowMs + RECHECK_MS) };
      return { next: "wake", atMs: nowMs + REPEAT_MS };
    }
    case KEPT.status:
      return { next: "wake", atMs: nowMs + REPEAT_MS };
    default:
      return isUntold ? { next: "wake", atMs: nowMs + REPEAT_MS } : { next: "forget" };
  }
}

/**
 * When to look first at a run that is about to be let go: what it waits for may have come while nobody
 * could tell it.
 */
export function firstLook(wakeAt: number, nowMs: number): number {
  const soon = nowMs + FIRST_LOOK_MS;
  return wakeAt > 0 ? Math.min(wakeAt, soon) : soon;
}

/** When to look again at a run that goes on at `wakeAt`, or never by itself (0). */
export function nextLook(wakeAt: number, nowMs: number): number {
  const recheck = nowMs + RECHECK_MS;
  return wakeAt > 0 ? Math.min(wakeAt, recheck) : recheck;
}
