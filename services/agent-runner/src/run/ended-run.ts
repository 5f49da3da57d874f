import type { Bus } from "@switchyard/bus/connect";
import type { Log } from "@switchyard/service/log";
import type { ActiveRun } from "../journal/active-run.ts";
import { EventPublisher, type RunEventRelay } from "../events/event-publisher.ts";
import { lastSeqOf } from "../events/last-seq.ts";
import type { TeamLedger } from "../limits/team-ledger.ts";
import type { RunnerMetrics } from "../telemetry/metrics.ts";
import { eventsOf } from "../core/run-events.ts";
import type { RunIndex } from "../journal/run-index.ts";
import { replay } from "../core/replay.ts";
import type { RunState } from "../core/run-state.ts";
import { FenceLost, type Hold, type RunStore } from "../journal/run-store.ts";
import { tellOthersOfEnd } from "../children/after-end.ts";
import { settleInSession } from "../sessions/run-place.ts";
import type { SessionDesk } from "../sessions/session-desk.ts";
import type { RunControls } from "../journal/run-controls.ts";

/**
 * Does what is missing for a run that has ended or was let go: its runner may have died before the last
 * event was in the stream, or before others knew.
 */
export async function finishEnd(options: {
  bus: Bus;
  relay: RunEventRelay;
  store: RunStore;
  controls: RunControls;
  index: RunIndex;
  ledger: TeamLedger;
  sessions: SessionDesk;
  hold: Hold;
  published: number;
  signal: AbortSignal;
}): Promise<void> {
  const { bus, relay, store, hold, published, signal } = options;
  const { runId } = hold;
  const entries = await store.load(runId);
  const state = replay(entries);
  await options.index.add(runId, state.started.at);
  await spreadEnd(state, options);
  const events = eventsOf(entries);
  if (published >= events.length) return;
  const { requester } = state.started;
  const lastSeq = (): Promise<number> => lastSeqOf(bus, state.started);
  const publisher = new EventPublisher({
    relay,
    runId,
    requester,
    published,
    isNew: false,
    lastSeq,
    signal,
  });
  publisher.push(events);
  await publisher.drain();
  await store.markPublished(hold, publisher.published).catch(ignoreLoss);
}

/** Another runner has the run by now, and publishes what is missing. */
function ignoreLoss(error: unknown): void {
  if (!(error instanceof FenceLost)) throw error;
}

/** Brings the end of a run to where others look for it; nothing for a run that has not ended. */
export async function spreadEnd(
  state: RunState,
  to: {
    readonly hold: Hold;
    readonly controls: RunControls;
    readonly index: RunIndex;
    readonly ledger: TeamLedger;
    readonly sessions: SessionDesk;
  },
): Promise<void> {
  const { hold, controls, index, ledger, sessions } = to;
  await ledger.count(state, hold);
  if (state.end?.status === "dead") await index.addDead(state.started.runId, state.updatedAt);
  await tellOthersOfEnd(state, controls);
  await settleInSession(sessions, state);
}

/** Counts and logs that a run has ended, or was let go. */
export function reportEnd(
  { hold, state }: ActiveRun,
  { metrics, log }: { readonly metrics: RunnerMetrics; readonly log: Log },
): void {
  const { runId } = hold;
  const { started, end, turns, toolCalls, updatedAt } = state;
  if (end === null) {
    metrics.runs.inc({ outcome: "parked" });
    log.debug({ runId }, "run let go");
    return;
  }
  const { status: outcome } = end;
  metrics.runs.inc({ outcome });
  const durationMs = Date.parse(updatedAt) - Date.parse(started.at);
  const code = outcome === "failed" || outcome === "dead" ? { code: end.failure.code } : {};
  const facts = { runId, agent: started.agent, outcome, ...code };
  log.info({ ...facts, steps: turns.length, toolCalls, durationMs }, "run ended");
}
