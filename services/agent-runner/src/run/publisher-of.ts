import { oldestEventTime } from "@switchyard/bus/last-event";
import { eventsOf, type RunEvent } from "../core/run-events.ts";
import type { StartedEntry } from "../core/started-entry.ts";
import { EventPublisher } from "../journal/event-publisher.ts";
import { lastSeqOf } from "../journal/last-seq.ts";
import type { RunnerParts } from "./runner-parts.ts";

type Parts = Pick<RunnerParts, "bus" | "relay" | "store">;

/** Creates the publisher of a run's events, of which `published` are acknowledged already. */
export function publisherOf(
  run: {
    readonly started: StartedEntry;
    readonly published: number;
    /** True for a run of which no runner can have published an event. */
    readonly isNew: boolean;
    readonly signal: AbortSignal;
  },
  { bus, relay, store }: Parts,
): EventPublisher {
  const { started, published, isNew, signal } = run;
  const { runId, requester } = started;
  return new EventPublisher({
    relay,
    runId,
    requester,
    published,
    isNew,
    lastSeq: () => lastSeqOf(bus, started),
    async lostBehind(found, acknowledged) {
      const [entries, oldest] = await Promise.all([store.load(runId), oldestEventTime(bus)]);
      return lostOf(eventsOf(entries), { found, acknowledged, oldest });
    },
    server: () => bus.loneServer,
    signal,
  });
}

/** A stream that has older events has not expired the acknowledged ones: it lost them. */
function lostOf(
  events: readonly RunEvent[],
  at: { readonly found: number; readonly acknowledged: number; readonly oldest: Date | null },
): readonly RunEvent[] {
  const last = events[at.acknowledged - 1]?.payload["at"];
  const isForgotten = at.oldest !== null && new Date(String(last)) < at.oldest;
  return last === undefined || isForgotten ? [] : events.slice(at.found);
}
