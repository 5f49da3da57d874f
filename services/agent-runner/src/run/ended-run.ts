import type { Bus } from "@switchyard/bus/connect";
import type { Log } from "@switchyard/service/log";
import type { ActiveRun } from "./active-run.ts";
import { EventPublisher } from "../events/event-publisher.ts";
import type { RunnerMetrics } from "../metrics.ts";
import { eventsOf } from "../events/run-events.ts";
import type { Hold, RunStore } from "../journal/run-store.ts";

/** Publishes what is missing: a run that has ended may have died before its last event was in the stream. */
export async function publishRest(options: {
  bus: Bus;
  store: RunStore;
  hold: Hold;
  published: number;
  signal: AbortSignal;
}): Promise<void> {
  const { bus, store, hold, published, signal } = options;
  const events = eventsOf(await store.load(hold.runId));
  if (published >= events.length) return;
  const publisher = new EventPublisher({ bus, runId: hold.runId, published, signal });
  publisher.push(events);
  await publisher.drain();
  await store.markPublished(hold, publisher.published);
}

/** Counts and logs the end of a run. */
export function reportEnd(
  run: ActiveRun,
  { metrics, log }: { readonly metrics: RunnerMetrics; readonly log: Log },
): void {
  const { started, end, turns, toolCalls, updatedAt } = run.state;
  const { runId, agent } = started;
  const outcome = end?.status ?? "failed";
  metrics.runs.inc({ outcome });
  const durationMs = Date.parse(updatedAt) - Date.parse(started.at);
  const code = end?.status === "failed" ? { code: end.failure.code } : {};
  log.info(
    { runId, agent, outcome, ...code, steps: turns.length, toolCalls, durationMs },
    "run ended",
  );
}
