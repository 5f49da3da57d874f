import {
  DeadRun,
  RunSummary,
  type RunAuthority,
  type RunDetail,
  type RunInput,
  type RunStatus,
} from "@switchyard/contracts/agent-runner/runs";
import { RunWait, type WaitReason } from "@switchyard/contracts/agent-runner/run-waits";
import { cutText } from "@switchyard/contracts/cut-text";
import { inputText } from "@switchyard/contracts/agent-runner/input-text";
import { z } from "zod";
import { errorCodeOf, hasFailed } from "./run-row.ts";
import { waitsOf, type RunState } from "./run-state.ts";
import { originOf } from "./started-entry.ts";

/**
 * The listed summary of a run. The columns are stored beside the journal so that a list need not replay runs;
 * the scripts maintain `attempts`.
 */

/** Names and values, in turn, of the columns that never change. */
export function fixedColumns({ started }: RunState): string[] {
  return Object.entries({
    agent: started.agent,
    requester: started.requester,
    model: started.model,
    createdAt: started.at,
    labels: JSON.stringify(started.labels),
    inputStart: inputStartOf(started.input),
    ...(started.parent === undefined ? {} : { parent: JSON.stringify(started.parent) }),
  }).flat();
}

/** Returns names and values, in turn, of the columns that change during the run. */
export function movingColumns(state: RunState): string[] {
  return Object.entries({
    status: statusOf(state),
    steps: String(state.turns.length),
    toolCalls: String(state.toolCalls),
    updatedAt: state.updatedAt,
    events: String(state.events),
    usage: JSON.stringify(state.usage),
    costUsd: String(state.costUsd),
    ...(state.waiting === null ? {} : { waits: JSON.stringify(waitsOf(state)) }),
    ...(state.end?.status === "failed" || state.end?.status === "dead"
      ? { errorCode: state.end.failure.code }
      : {}),
    ...(state.end?.status === "dead" ? { failure: JSON.stringify(state.end.failure) } : {}),
  }).flat();
}

const INPUT_START_CHARACTERS = 200;

/** The start of the input in one line, for lists and their search. */
function inputStartOf(input: RunInput): string {
  // The text of a large input is cut before its white space is replaced.
  const text = cutText(inputText(input), 4 * INPUT_START_CHARACTERS);
  return cutText(text.replaceAll(/\s+/g, " ").trim(), INPUT_START_CHARACTERS);
}

/** Reads a state hash; null when there is no such run. */
export function readSummary(runId: string, columns: Record<string, string>): RunSummary | null {
  if (columns["status"] === undefined) return null;
  const { usage, costUsd, status, waits, suspended, inputStart } = columns;
  const { errorCode = null, failure = null } = columns;
  return RunSummary.parse({
    runId,
    agent: columns["agent"],
    requester: columns["requester"],
    model: columns["model"],
    status: columns["status"],
    steps: Number(columns["steps"]),
    toolCalls: Number(columns["toolCalls"]),
    createdAt: columns["createdAt"],
    updatedAt: columns["updatedAt"],
    attempts: Number(columns["attempts"]),
    labels: JSON.parse(columns["labels"] ?? "{}"),
    ...(usage === undefined ? {} : { usage: JSON.parse(usage) }),
    ...(costUsd === undefined ? {} : { costUsd: JSON.parse(costUsd) }),
    ...(inputStart === undefined ? {} : { inputStart }),
    ...(hasFailed(status) && (errorCode ?? failure) !== null
      ? { errorCode: errorCodeOf(errorCode, failure) }
      : {}),
    ...(status === "running" && suspended !== undefined ? { suspended } : {}),
    // The column of a run that no longer waits still contains its last wait.
    ...(status === "waiting" && waits !== undefined
      ? { waitsFor: reasonsOf(z.array(RunWait).parse(JSON.parse(waits))) }
      : {}),
  });
}

function reasonsOf(waits: readonly RunWait[]): WaitReason[] {
  return [...new Set(waits.map(({ reason }) => reason))];
}

const Parent = z.object({ runId: z.string(), callId: z.string() });

/** Reads the column of the run that it works for; null when there is none. */
export function readParent(column: string): z.infer<typeof Parent> | null {
  return column === "" ? null : Parent.parse(JSON.parse(column));
}

/** Reads a state hash; null when the run is not dead, or not any more. */
export function readDead(runId: string, columns: Record<string, string>): DeadRun | null {
  const { status, failure } = columns;
  if (status !== "dead" || failure === undefined) return null;
  return DeadRun.parse({ ...readSummary(runId, columns), failure: JSON.parse(failure) });
}

/** Builds the whole run; the state hash supplies what the journal does not contain. */
export function detailOf(
  state: RunState,
  { attempts, suspended }: { readonly attempts: number; readonly suspended: string | null },
): RunDetail {
  const { started, end } = state;
  return {
    runId: started.runId,
    agent: started.agent,
    requester: started.requester,
    model: started.model,
    status: statusOf(state),
    steps: state.turns.length,
    toolCalls: state.toolCalls,
    createdAt: started.at,
    updatedAt: state.updatedAt,
    attempts,
    labels: started.labels,
    inputStart: inputStartOf(started.input),
    ...(end?.status === "failed" || end?.status === "dead" ? { errorCode: end.failure.code } : {}),
    input: started.input,
    output: end?.status === "succeeded" ? end.output : null,
    failure: end?.status === "failed" || end?.status === "dead" ? end.failure : null,
    cancellation: state.cancellation,
    usage: state.usage,
    costUsd: state.costUsd,
    agentDigest: started.agentDigest,
    policyDigest: started.policyDigest,
    skills: [...state.skills],
    ...(started.thinking === undefined ? {} : { thinking: started.thinking }),
    ...(started.readers === undefined ? {} : { readers: started.readers }),
    ...(started.catalogueCut === undefined ? {} : { skillsCut: started.catalogueCut }),
    ...(state.unavailable.length === 0 ? {} : { toolsUnavailable: [...state.unavailable] }),
    ...(started.memory === undefined ? {} : { memory: started.memory }),
    ...(state.end !== null || waitsOf(state).length === 0 ? {} : { waits: waitsOf(state) }),
    ...(state.end === null && state.waiting !== null
      ? { waitsFor: reasonsOf(waitsOf(state)) }
      : {}),
    ...(suspended !== null && statusOf(state) === "running" ? { suspended } : {}),
    ...kinOf(state),
    ...(started.session === undefined ? {} : { session: started.session }),
    authority: authorityOf(state),
  };
}

function authorityOf({ started, toolLayers, model }: RunState): RunAuthority {
  const { roles = [], approval } = started;
  return {
    roles,
    ...(approval === undefined ? {} : { approval }),
    context: originOf({ ...started, model }),
    toolLayers: toolLayers.map((layer) => [...layer]),
  };
}

/** The runs that it has to do with. */
function kinOf({
  started,
  children,
}: RunState): Pick<RunDetail, "parent" | "children" | "forkedFrom"> {
  const { parent, fork } = started;
  const shown = children.map(({ childRunId, callId, agent, end }) => ({
    runId: childRunId,
    callId,
    agent,
    status: end?.status ?? null,
  }));
  return {
    ...(parent === undefined ? {} : { parent }),
    ...(shown.length === 0 ? {} : { children: shown }),
    ...(fork === undefined ? {} : { forkedFrom: { runId: fork.runId, fromStep: fork.fromStep } }),
  };
}

function statusOf(state: RunState): RunStatus {
  return state.end?.status ?? (state.waiting === null ? "running" : "waiting");
}
