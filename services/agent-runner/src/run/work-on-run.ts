import type { Delivery, Outcome } from "@switchyard/bus/delivery";
import { publishLive } from "@switchyard/bus/publish";
import { inSpan } from "@switchyard/bus/tracing";
import { runTokens } from "@switchyard/contracts/ids";
import { runLive } from "@switchyard/contracts/agent-runner/run-events";
import { eventsOf } from "../core/run-events.ts";
import { agentSpan } from "../model/gen-ai-spans.ts";
import { isForeign } from "../core/entry-traits.ts";
import type { JournalEntry } from "../core/journal-entry.ts";
import { replay } from "../core/replay.ts";
import type { RunState } from "../core/run-state.ts";
import type { ClaimResult } from "../journal/run-claim.ts";
import { ActiveRun } from "../journal/active-run.ts";
import { publisherOf } from "../journal/event-publisher.ts";
import type { PreparedRun } from "../start/prepare-run.ts";
import type { RunnerParts } from "./runner-parts.ts";
import { reportEnd, spreadEnd } from "./ended-run.ts";
import { driveRun } from "./run-driver.ts";
import { RunTokenKeeper } from "../context/run-token-keeper.ts";
import { linkSignals, type LinkedSignal } from "../core/linked-signal.ts";
import { beginInSession } from "../sessions/enter-session.ts";
import { Suspended } from "../core/interruption.ts";

/** The share of ended runs after which ten entries of the index are checked: more than are added. */
const TRIM_SHARE = 0.2;

export type Claimed = Extract<ClaimResult, { outcome: "claimed" }>;

interface Work {
  readonly claimed: Claimed;
  /** Null for a run that existed before. */
  readonly created: PreparedRun | null;
  readonly delivery: Delivery;
}

/** Drives a run that this runner holds until it has ended or waits. Rejects when the runner must release it before. */
export async function workOnRun(work: Work, options: RunnerParts): Promise<Outcome> {
  const { claimed, created, delivery } = work;
  const { store, index, active, behind, clients, stopping, now, random } = options;
  const isNew = created !== null && claimed.attempts === 1;
  const entries = isNew
    ? [created.started, ...(claimed.cancel === null ? [] : [claimed.cancel])]
    : await store.load(claimed.hold.runId);
  const lifetime = linkSignals(delivery.signal);
  const run = openRun({ claimed, entries, isNew, lifetime }, options);
  const forget = active.add(run);
  let isFollowed = false;
  try {
    const { started } = run.state;
    // A run that is only to be ended needs no turn.
    const isWork = run.state.cancellation === null;
    if (isWork && (await beginInSession(options.sessions, started)) === "busy")
      throw new Suspended("another run of the session is under way");
    // The run does not depend on the index, so it continues while the entry is written.
    const listed = index.add(started.runId, started.at);
    listed.catch(() => {}); // awaited below, unless the run is abandoned before
    const isTakeover = !isNew && entries.at(-1)?.kind !== "retried";
    const isWoken = isTakeover && hasWaitedLast(entries);
    const isReported = isTakeover && hasResumed(entries, run.state);
    await begun(run, { claimed, isTakeover, isWoken, isReported }, options);
    // An existing run is pinned to its own versions, not to those that were prepared for this delivery.
    const initial = isNew ? created.token : null;
    const tokens = new RunTokenKeeper({ clients, store, run, initial, now });
    const listing = isNew ? created.listing : undefined;
    await inSpan(agentSpan(started), () => driveRun({ ...options, run, tokens }, listing));
    await listed;
    const hasEnded = run.state.waiting === null;
    const [look] = await Promise.all([
      behind.announce(run),
      hasEnded ? spreadEnd(run.state, run.hold, options) : null,
    ]);
    isFollowed = true;
    await behind.follow(run, lifetime, look);
    reportEnd(run, options);
    if (hasEnded && random() < TRIM_SHARE) await index.trim().catch(() => {}); // others trim it, too
    return { outcome: "done" };
  } catch (error) {
    // Without this entry the next runner assumes that the calls were sent, which does no harm.
    if (!run.signal.aborted) await run.noteUnsent().catch(() => {});
    // The next runner would publish the missing events; publishing them here only saves it the work.
    if (stopping.aborted && !run.signal.aborted) await run.settle().catch(() => {});
    throw error;
  } finally {
    forget();
    lifetime.release();
    await leaveRuntime(run.state, options);
    if (!isFollowed) lifetime.abort(new Error("the run is left")); // ends the publisher's retries
  }
}

/** Releases the run's CLI. The CLI of a waiting run is kept for a while, since most approvals come soon. */
async function leaveRuntime(
  { model, started, waiting, end }: RunState,
  { models, runtimes, log }: RunnerParts,
): Promise<void> {
  if (!models.factsOf(model).isRuntime || (waiting !== null && end === null)) return;
  await runtimes
    .leave(started.runId, { hasEnded: end !== null })
    .catch((err: unknown) => log.warn({ err, runId: started.runId }, "a CLI could not be ended"));
}

function openRun(
  opened: {
    readonly claimed: Claimed;
    readonly entries: readonly JournalEntry[];
    readonly isNew: boolean;
    readonly lifetime: LinkedSignal;
  },
  parts: RunnerParts,
): ActiveRun {
  const { claimed, entries, isNew, lifetime } = opened;
  const { signal } = lifetime;
  const { hold, published } = claimed;
  const state = replay(entries);
  const publisher = publisherOf({ started: state.started, published, isNew, signal }, parts);
  publisher.push(eventsOf(entries));
  const { store, now } = parts;
  return new ActiveRun({ hold, state, store, publisher, signal, lose: lifetime.abort, now });
}

/** Records that this runner works on the run, and ends a run that was picked up too often without progress. */
async function begun(
  run: ActiveRun,
  how: {
    readonly claimed: Claimed;
    readonly isTakeover: boolean;
    readonly isWoken: boolean;
    /** The journal records already that the run was taken over at this point. */
    readonly isReported: boolean;
  },
  { bus, maxAttempts, log }: RunnerParts,
): Promise<void> {
  const { claimed, isTakeover, isWoken } = how;
  const { attempts, stalled } = claimed;
  const { started, length, cancellation } = run.state;
  const { runId, agent, requester, model } = started;
  const facts = { runId, agent, requester, model, attempt: attempts };
  log[isWoken ? "debug" : "info"](facts, saidOf(how));
  if (cancellation !== null) return; // there is nothing to resume
  if (isWoken) {
    await run.note({ kind: "woken", attempt: attempts });
  } else if (isTakeover && how.isReported) {
    // Live readers learn from it that the model's text so far is void; in the other cases a journal entry announces it.
    const step = run.state.turns.length + 1;
    const to = runTokens(runId, requester);
    publishLive(bus, runLive, to, { runId, step, delta: "", kind: "reset-step" });
  } else if (isTakeover) {
    await run.note({ kind: "resumed", attempt: attempts, journalEntries: length });
  }
  if (stalled <= maxAttempts || run.state.cancellation !== null) return;
  const message = `${stalled - 1} runners died or failed with an internal error while they worked on the run, and it made no progress; look for the cause in their logs, fix it, and continue the run with run.retry`;
  await run.note({ kind: "dead", failure: { code: "too_many_attempts", message } });
}

/** Keeps the journal and the events of a run from growing, however often an outage sends it back. */
function hasResumed(entries: readonly JournalEntry[], { progress }: RunState): boolean {
  return entries.slice(progress).some(({ kind }) => kind === "resumed");
}

/** True when the run was released, and a later control woke it. */
function hasWaitedLast(entries: readonly JournalEntry[]): boolean {
  return entries.findLast((entry) => !isForeign(entry))?.kind === "waiting";
}

function saidOf({ isTakeover, isWoken }: { isTakeover: boolean; isWoken: boolean }): string {
  if (isWoken) return "run woken";
  return isTakeover ? "run resumed" : "run started";
}
