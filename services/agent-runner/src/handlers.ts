import type { Service } from "@switchyard/bus/serve";
import { listModels } from "@switchyard/contracts/models";
import { getRecording } from "@switchyard/contracts/run-recordings";
import { getRun, listDeadRuns, listRuns, requestCancel } from "@switchyard/contracts/runs";
import type { ActiveRuns } from "./run/active-runs.ts";
import type { RunControls } from "./run/run-controls.ts";
import type { ModelRegistry } from "./model/model-registry.ts";
import type { DeadLetters } from "./commands/dead-letters.ts";
import type { StartedEntry } from "./journal/started-entry.ts";
import { JournalCorrupt } from "./journal/run-state.ts";
import { recordingOf } from "./model/recording-of.ts";
import type { RunStore } from "./journal/run-store.ts";
import type { RunIndex } from "./journal/run-index.ts";

/** Answers questions about runs. */
export function handleRunQueries(service: Service, index: RunIndex): void {
  service.handle(listRuns, async (filter) => ({ runs: await index.list(filter) }));

  service.handle(getRun, async ({ runId }, { fail }) => {
    const run = await index.get(runId).catch((error: unknown) => {
      if (!(error instanceof JournalCorrupt)) throw error;
      const said = `the journal of run ${runId} cannot be read: ${error.message}`;
      throw fail.journal_corrupt(said, { runId });
    });
    if (run === null) throw fail.unknown_run(`there is no run ${runId}`, { runId });
    return { run };
  });
}

/** Gives what the models of a run have answered, to be played again. */
export function handleRecordings(service: Service, store: Pick<RunStore, "load">): void {
  service.handle(getRecording, async ({ runId }, { fail }) => {
    const entries = await store.load(runId).catch((error: unknown) => {
      if (!(error instanceof JournalCorrupt)) throw error;
      const said = `the journal of run ${runId} cannot be read: ${error.message}`;
      throw fail.journal_corrupt(said, { runId });
    });
    const [first] = entries;
    if (first?.kind !== "started") throw fail.unknown_run(`there is no run ${runId}`, { runId });
    const recording = recordingOf(entries);
    if (recording === null) {
      const why = whyNot(first);
      throw fail.not_recordable(`run ${runId} has no recording: ${why}`, { runId });
    }
    const { agent, input, model, invoked, output } = first;
    const skill = invoked === undefined ? {} : { skill: invoked };
    const form = output === undefined ? {} : { output };
    return { run: { runId, agent, input, model, ...skill, ...form, recording } };
  });
}

function whyNot({ fork, before = [] }: StartedEntry): string {
  if (fork !== undefined) return "it is the copy of another run";
  return before.length === 0
    ? "no model has answered in it"
    : "it goes on from what was said before it in its session; record the session's first message";
}

/** Lists what was given up, for whoever finds out why and sends `run.retry`. */
export function handleDeadRuns(
  service: Service,
  { index, letters }: { readonly index: RunIndex; readonly letters: DeadLetters },
): void {
  service.handle(listDeadRuns, async ({ limit }) => ({
    runs: await index.dead(limit),
    letters: await letters.list(limit),
  }));
}

/** Says which models there are, for whoever writes or checks an agent. */
export function handleModelQueries(service: Service, models: ModelRegistry): void {
  service.handle(listModels, async () => ({
    default: models.defaultModel,
    providers: await models.providers(),
  }));
}

/**
 * Takes requests to cancel beside the queue, which may be waiting for a slot. Whoever holds the run
 * sees the request at its next entry or renewal; a run in this process at once.
 */
export function handleCancelRequests(
  service: Service,
  options: {
    readonly controls: RunControls;
    readonly active: ActiveRuns;
    readonly now: () => number;
  },
): void {
  const { controls, active, now } = options;
  service.handle(requestCancel, async ({ runId, reason = null }, { caller, fail }) => {
    const at = new Date(now()).toISOString();
    const outcome = await controls.cancel({ runId, by: caller, at, reason, command: null });
    if (outcome === "not_allowed") {
      const message = `run ${runId} was not started by ${caller}; its requester, cli and admin may cancel it`;
      throw fail.not_allowed(message, { runId });
    }
    if (outcome === "requested") void active.lookForNews(runId);
    return { outcome };
  });
}
