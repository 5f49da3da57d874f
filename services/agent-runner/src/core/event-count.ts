import type { JournalEntry } from "./journal-entry.ts";

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
