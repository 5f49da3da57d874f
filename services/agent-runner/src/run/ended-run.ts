import type { Log } from "@switchyard/service/log";
import type { ActiveRun } from "../journal/active-run.ts";
import type { RunnerMetrics } from "../model/metrics.ts";
import { eventsOf } from "../core/run-events.ts";
import { replay } from "../core/replay.ts";
import type { RunState } from "../core/run-state.ts";
import type { Hold } from "../journal/run-claim.ts";
import { FenceLost } from "../journal/run-store.ts";
import { publisherOf } from "../journal/event-publisher.ts";
import type { RunnerParts } from "./runner-parts.ts";
import { announceEnd } from "../waits/after-end.ts";
import { followEnd } from "../sessions/follow-end.ts";
import { settleInSession } from "../sessions/enter-session.ts";

type EndParts = Pick<RunnerParts, "controls" | "index" | "ledger" | "sessions" | "inspectAnswer">;
type EventParts = Pick<RunnerParts, "bus" | "relay" | "store" | "unwritten" | "now">;

/**
 * Completes a run that has ended or was released: its runner may have died before the stream had the last event, or before the
 * run's parent and session were updated.
 */
export async function finishEnd(
  { hold, published, signal }: { hold: Hold; published: number; signal: AbortSignal },
  parts: EndParts & EventParts,
): Promise<void> {
  const { store, unwritten, now } = parts;
  const { runId } = hold;
  const entries = await store.load(runId);
  const state = replay(entries);
  await parts.index.add(runId, state.started.at);
  await spreadEnd(state, hold, parts);
  const publisher = publisherOf({ started: state.started, published, isNew: false, signal }, parts);
  publisher.push(eventsOf(entries));
  await publisher.verify();
  await publisher.drain();
  // This comes before the journal records that all are published: otherwise a process that dies in between leaves no trace of the run.
  await unwritten.addRun(runId, now());
  await store.markPublished(hold, publisher.published).catch(ignoreLoss);
}

/** Another runner holds the run now, and publishes what is missing. */
function ignoreLoss(error: unknown): void {
  if (!(error instanceof FenceLost)) throw error;
}

/** Applies the end of a run to its team's use, its parent and its session. */
export async function spreadEnd(
  state: RunState,
  hold: Hold,
  { controls, index, ledger, sessions, inspectAnswer }: EndParts,
): Promise<void> {
  await ledger.count(state, hold);
  if (state.end?.status === "dead") await index.addDead(state.started.runId, state.updatedAt);
  await announceEnd(state, { controls, inspectAnswer });
  await settleInSession(sessions, state);
  await followEnd(sessions, state);
}

/** Counts and logs that a run has ended, or was released. */
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
