import type { listRunEvents, RunEventRecord } from "@switchyard/contracts/agent-runner/run-history";
import type { z } from "zod";
import { eventsOf, type RunEvent } from "./run-events.ts";
import type { JournalEntry } from "./journal-entry.ts";

type Page = z.input<typeof listRunEvents.reply>;

/** A page of longer events ends earlier, so that a reply is not too large for a message. */
const PAGE_CHARACTERS = 128 * 1024;

/** Returns a page of the events of a journal: those behind `after`, and at least one where there is one. */
export function eventPage(
  entries: readonly JournalEntry[],
  { after, limit }: { readonly after: number; readonly limit: number },
): Page {
  const all = eventsOf(entries);
  const page: RunEventRecord[] = [];
  let characters = 0;
  for (const event of all.slice(after, after + limit)) {
    characters += JSON.stringify(event.payload).length;
    if (page.length > 0 && characters > PAGE_CHARACTERS) break;
    page.push(recordOf(event));
  }
  const last = after + page.length;
  return { events: page, next: page.length > 0 && last < all.length ? last : null };
}

function recordOf({ contract, payload }: RunEvent): RunEventRecord {
  const event = contract.subject.slice(contract.subject.lastIndexOf(".") + 1);
  // Every event of a run has these fields; `run-events.ts` numbers them all.
  return { event, payload: payload as RunEventRecord["payload"] };
}
