import type { JournalEntry } from "./journal-entry.ts";

/** True for entries that bring a run closer to its end; the others may repeat without limit. */
export function isProgress(entry: JournalEntry): boolean {
  return !REPEATABLE.has(entry.kind);
}

const REPEATABLE: ReadonlySet<JournalEntry["kind"]> = new Set([
  "resumed",
  "woken",
  "tools-left-out",
  "tools-unavailable",
  "tool-dispatched",
  "tool-unsent",
  "child-started",
]);

/** True for entries that other writers than the holder of the run add. */
export function isForeign({ kind }: JournalEntry): boolean {
  return FOREIGN.has(kind);
}

const FOREIGN: ReadonlySet<JournalEntry["kind"]> = new Set([
  "cancel-requested",
  "wait-resolved",
  "child-ended",
  "steered",
  "limits-changed",
  "stop-lifted",
]);

/** True for decisions that must be made again when something came in the meantime. */
export function isRevocable({ kind }: JournalEntry): boolean {
  return kind === "waiting" || kind === "finished";
}

/** True for entries that may follow a request to cancel: results of calls that were under way, and the end. */
export function mayFollowCancel({ kind }: JournalEntry): boolean {
  return AFTER_CANCEL.has(kind);
}

const AFTER_CANCEL: ReadonlySet<JournalEntry["kind"]> = new Set([
  "resumed",
  "woken",
  "tools-left-out",
  "tools-unavailable",
  "tool-unsent",
  "tool-completed",
  "tool-denied",
  "tool-failed",
  "cancelled",
]);

/** Returns how many events an entry yields; `run-events.ts` makes exactly as many. */
export function eventCountOf(entry: JournalEntry): number {
  switch (entry.kind) {
    case "started":
      return 1 + entry.skills.length;
    case "model-responded":
      return 1 + entry.content.filter((part) => part.type === "tool-call").length;
    case "tool-completed":
      return entry.skill === null ? 1 : 2;
    case "tools-left-out":
    case "compacted":
    case "tool-dispatched":
    case "tool-unsent":
    case "cancel-requested":
    case "limit-reached":
    case "stopped":
    case "stop-lifted":
      return 0;
    case "tool-parked":
      return entry.wait.reason === "question" ? 1 : 0;
    case "wait-resolved":
      return entry.resolution.type === "answer" ? 1 : 0;
    case "skill-dispatched":
    case "waiting":
    case "woken":
    case "child-started":
    case "child-ended":
    case "steered":
    case "limits-changed":
    case "dead":
    case "resumed":
    case "tools-unavailable":
    case "tool-denied":
    case "tool-failed":
    case "finished":
    case "failed":
    case "cancelled":
    case "retried":
      return 1;
    default:
      return entry satisfies never;
  }
}
