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
