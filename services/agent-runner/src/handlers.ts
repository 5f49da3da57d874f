import type { Service } from "@switchyard/bus/serve";
import { readCallContext } from "@switchyard/contracts/agent-runner/call-context";
import { totalRuns } from "@switchyard/contracts/agent-runner/run-totals";
import { listModels } from "@switchyard/contracts/agent-runner/models";
import type { Fail } from "@switchyard/contracts/errors";
import { fullRunId } from "@switchyard/contracts/ids";
import { findAgentOfRun, listRunEvents } from "@switchyard/contracts/agent-runner/run-history";
import { getRecording } from "@switchyard/contracts/agent-runner/run-recordings";
import {
  getRun,
  listDeadRuns,
  listRuns,
  redriveCommand,
  requestCancel,
} from "@switchyard/contracts/agent-runner/runs";
import type { OwnerStorage } from "@switchyard/service/owner-storage";
import { deleteRun, deleteRuns } from "@switchyard/contracts/agent-runner/run-deletion";
import type { ActiveRuns } from "./journal/active-run.ts";
import type { DeferredCommands } from "./journal/deferred-commands.ts";
import type { RunControls } from "./journal/run-controls.ts";
import type { ModelRegistry } from "./model/model-registry.ts";
import {
  type DeadLetters,
  deadPage,
  findLetter,
  redrive,
  type RedriveParts,
} from "./commands/dead-letters.ts";
import { unlessUnrecorded, type RecordAction } from "./commands/action-audit.ts";
import type { StartedEntry } from "./core/started-entry.ts";
import { callContextOf } from "./core/call-context.ts";
import { eventPage } from "./core/run-events.ts";
import { replay } from "./core/replay.ts";
import { totalRows } from "./core/total-rows.ts";
import { JournalCorrupt } from "./core/run-state.ts";
import { recordingOf } from "./core/recording-of.ts";
import { controlledRun, isAdmin, maySee } from "./journal/run-access.ts";
import type { RunDeletion } from "./journal/run-deletion.ts";
import type { RunStore } from "./journal/run-store.ts";
import type { RunIndex } from "./journal/run-index.ts";
import type { ParkedRuns } from "./journal/parked-runs.ts";
import { firstCallId } from "./context/tool-call.ts";
import { handleWaits } from "./waits/wait-handlers.ts";

/** Handles the requests and messages about runs that do not pass through the queue. */
export function handleRuns(
  service: Service,
  options: {
    readonly index: RunIndex;
    readonly store: Pick<RunStore, "load">;
    readonly letters: DeadLetters;
    readonly kept: DeferredCommands;
    readonly record: RecordAction;
    readonly deletion: RunDeletion;
    readonly controls: RunControls;
    readonly active: ActiveRuns;
    readonly parked: ParkedRuns;
    readonly storage: Pick<OwnerStorage, "admit">;
    readonly now: () => number;
  },
): void {
  handleRunQueries(service, options);
  handleRecordings(service, options);
  handleHistory(service, options);
  handleCancelRequests(service, options);
  handleWaits(service, options);
  handleCallContexts(service, options);
  handleDeadRuns(service, options);
  handleRedrive(service, options);
  handleDeletions(service, options);
}

/** Handles queries about runs. */
function handleRunQueries(
  service: Service,
  {
    index,
    now,
    deletion,
  }: {
    readonly index: RunIndex;
    readonly now: () => number;
    readonly deletion: Pick<RunDeletion, "wasDeleted">;
  },
): void {
  service.handle(listRuns, async ({ ids: named, ...given }, { caller }) => {
    const ids = named?.map((runId) => fullRunId(caller, runId));
    const filter = { ...given, ids };
    if (isAdmin(caller)) return index.list(filter);
    const isOwn = filter.owner === undefined || filter.owner === caller;
    return isOwn ? index.list({ ...filter, owner: caller }) : { runs: [], next: null };
  });

  service.handle(totalRuns, async ({ range, from, to, ...filter }, { caller }) => {
    const toMs = to === undefined ? now() + 1 : Date.parse(to);
    const lastMs = RANGE_MS[range ?? "24h"];
    const fromMs = from === undefined ? toMs - lastMs : Date.parse(from);
    const times = { fromMs, toMs: Math.max(toMs, fromMs + 1) };
    if (isAdmin(caller)) return index.totals({ ...filter, ...times });
    const isOwn = filter.owner === undefined || filter.owner === caller;
    if (isOwn) return index.totals({ ...filter, ...times, owner: caller });
    const none = { running: 0, waiting: 0, suspended: 0 };
    return { now: none, searchedFrom: null, ...totalRows([], times) };
  });

  service.handle(getRun, async (request, { caller, fail }) => {
    const runId = fullRunId(caller, request.runId);
    const run = await readable(() => index.get(runId), { runId, caller, fail });
    if (run !== null && maySee(caller, run)) return { run };
    const isDeleted = run === null && (await deletion.wasDeleted(runId, caller));
    if (isDeleted) throw fail.unknown_run(`run ${runId} was deleted`, { runId, isDeleted });
    throw unknownRun(runId, fail);
  });
}

const HOUR_MS = 3_600_000;
const RANGE_MS = { "1h": HOUR_MS, "24h": 24 * HOUR_MS, "7d": 168 * HOUR_MS } as const;

type Refusals = Pick<Fail<typeof getRun.errors>, "unknown_run" | "journal_corrupt">;

/** Reads a run. When its journal cannot be read, a caller who may control it gets that error; for others there is no such run. */
async function readable<T>(
  read: () => Promise<T>,
  {
    runId,
    caller,
    fail,
  }: {
    readonly runId: string;
    readonly caller: string;
    readonly fail: Refusals;
  },
): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof JournalCorrupt)) throw error;
    if (controlledRun(caller, runId) === null) throw unknownRun(runId, fail);
    const said = `the journal of run ${runId} cannot be read: ${error.message}`;
    throw fail.journal_corrupt(said, { runId });
  }
}

function unknownRun(runId: string, fail: Pick<Refusals, "unknown_run">): Error {
  return fail.unknown_run(`there is no run ${runId}`, { runId });
}

/** Returns the answers of a run's models, for a replay. */
function handleRecordings(
  service: Service,
  { store }: { readonly store: Pick<RunStore, "load"> },
): void {
  service.handle(getRecording, async (request, { caller, fail }) => {
    const runId = fullRunId(caller, request.runId);
    const entries = await readable(() => store.load(runId), { runId, caller, fail });
    const [first] = entries;
    if (first?.kind !== "started" || !maySee(caller, first)) throw unknownRun(runId, fail);
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
    : "it continues the earlier messages of its session; record the session's first message";
}

/** Returns the events of runs that the stream may not have any more. */
function handleHistory(
  service: Service,
  { store }: { readonly store: Pick<RunStore, "load"> },
): void {
  service.handle(listRunEvents, async ({ runId: named, ...wanted }, { caller, fail }) => {
    const runId = fullRunId(caller, named);
    const entries = await readable(() => store.load(runId), { runId, caller, fail });
    const [first] = entries;
    if (first?.kind !== "started" || !maySee(caller, first)) throw unknownRun(runId, fail);
    return eventPage(entries, wanted);
  });

  service.handle(findAgentOfRun, async ({ runId }) => {
    try {
      const [first] = await store.load(runId);
      return { agent: first?.kind === "started" ? first.agent : null };
    } catch (error) {
      if (error instanceof JournalCorrupt) return { agent: null };
      throw error;
    }
  });
}

/** Returns to the policy service the part of a run that an approver of one of its calls is shown. */
function handleCallContexts(
  service: Service,
  { store }: { readonly store: Pick<RunStore, "load"> },
): void {
  service.handle(readCallContext, async ({ runId, callId }) => {
    try {
      const entries = await store.load(runId);
      if (entries.length === 0) return { context: null };
      return { context: callContextOf(replay(entries), firstCallId(callId)) };
    } catch (error) {
      if (error instanceof JournalCorrupt) return { context: null };
      throw error;
    }
  });
}

/** Lists the commands and runs that were given up, for users who fix the cause and send `run.retry`. */
function handleDeadRuns(
  service: Service,
  { index, letters }: { readonly index: RunIndex; readonly letters: DeadLetters },
): void {
  service.handle(listDeadRuns, async ({ limit, cursor = null }, { caller }) => {
    const owner = isAdmin(caller) ? undefined : caller;
    const [dead, all] = await Promise.all([index.dead(cursor, owner), letters.list(owner)]);
    return deadPage({ dead, letters: all }, { limit, cursor });
  });
}

/** Sends a command that was given up again, in the name of its sender. */
function handleRedrive(
  service: Service,
  { record, ...parts }: RedriveParts & { readonly record: RecordAction },
): void {
  service.handle(redriveCommand, async ({ letterId }, { caller, correlationId, fail }) => {
    const found = await findLetter(parts, { letterId, caller });
    if (found === null)
      throw fail.unknown_letter(`no command ${letterId} was given up; \`runs.dead\` lists them`, {
        letterId,
      });
    if (found.isSent) return { runId: found.runId, outcome: "repeated" as const };
    const { letter, text } = found;
    if (text === null)
      throw fail.not_kept(
        `the text of ${letterId} is not kept: it was too large, was about a run that exists, or was sent by a run; its sender can send it again`,
        { letterId },
      );
    const action = { caller, operation: redriveCommand.name, about: letterId, correlationId };
    const sending = record(action, async () => {
      const refusal = await redrive(parts, { ...found, text });
      if (refusal !== null)
        throw fail.not_accepted(`${letterId} is not sent again: ${refusal}`, { letterId });
      return { runId: letter.runId, outcome: "sent" as const };
    });
    return unlessUnrecorded(sending, fail);
  });
}

/** Lists the models, for users and tools that write or check an agent. */
export function handleModelQueries(service: Service, models: ModelRegistry): void {
  service.handle(listModels, async () => ({
    default: models.defaultModel,
    providers: await models.providers(),
  }));
}

/**
 * Accepts cancel requests outside the queue, which may be waiting for a slot. The runner that holds the run sees the request at
 * its next entry or renewal; a run in this process at once.
 */
function handleCancelRequests(
  service: Service,
  options: {
    readonly controls: RunControls;
    readonly active: ActiveRuns;
    readonly storage: Pick<OwnerStorage, "admit">;
    readonly now: () => number;
  },
): void {
  const { controls, active, storage, now } = options;
  service.handle(requestCancel, async ({ runId: named, reason = null }, { caller, fail }) => {
    const refusal = (): Error => {
      const message = `run ${named} was not started by ${caller}; its requester, cli and admin may cancel it`;
      return fail.not_allowed(message, { runId: named });
    };
    const runId = controlledRun(caller, named);
    if (runId === null) throw refusal();
    const at = new Date(now()).toISOString();
    const outcome = await controls.cancel(
      { runId, by: caller, at, reason, command: null },
      (owner) => storage.admit(owner),
    );
    if (outcome === "not_allowed") throw refusal();
    if (outcome === "requested") void active.lookForNews(runId);
    return { outcome };
  });
}

interface DeletionParts {
  readonly deletion: RunDeletion;
  readonly record: RecordAction;
}

/** Deletes runs by request. Each run that may be deleted is recorded by its id before that. */
function handleDeletions(service: Service, { deletion, record }: DeletionParts): void {
  service.handle(deleteRun, async (request, { caller, correlationId, fail }) => {
    const runId = controlledRun(caller, request.runId);
    // The run of another owner is as absent as one that does not exist.
    if (runId === null) return { runId: request.runId, outcome: "absent" as const };
    const action = { caller, operation: deleteRun.name, about: runId, correlationId };
    const deleting = record(action, async () => {
      const done = await deletion.delete(runId, caller);
      if (done.outcome !== "not_ended") return { runId, outcome: done.outcome };
      const { status } = done;
      throw fail.run_not_ended(
        `run ${runId}, or the run that it works for, is ${status}; cancel it and delete it when it has ended`,
        { runId, status },
      );
    });
    return unlessUnrecorded(deleting, fail);
  });

  service.handle(deleteRuns, async (request, { caller, correlationId, fail }) => {
    const { owner = caller, before, limit, cursor = null } = request;
    if (owner !== caller && !isAdmin(caller))
      throw fail.not_allowed(
        `${caller} may not delete runs of ${owner}; ${owner}, cli and admin may`,
        {
          owner,
        },
      );
    const { rows, next } = await deletion.owned({ owner, before, limit, cursor });
    const ended = rows.filter(({ hasEnded }) => hasEnded);
    const deleting = ended.map(({ runId }) => {
      const action = { caller, operation: deleteRun.name, about: runId, correlationId };
      return record(action, () => deletion.delete(runId, caller));
    });
    const done = await unlessUnrecorded(Promise.all(deleting), fail);
    const deleted = done.filter(({ outcome }) => outcome === "deleted").length;
    const reopened = done.filter(({ outcome }) => outcome === "not_ended").length;
    return { deleted, notEnded: rows.length - ended.length + reopened, next };
  });
}
