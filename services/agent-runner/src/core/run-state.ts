import type { FilePart } from "@switchyard/contracts/agent-runner/content-parts";
import type { Decision } from "@switchyard/contracts/policy/policy";
import type {
  Cancellation,
  RunFailure,
  UnavailableServer,
  Usage,
} from "@switchyard/contracts/agent-runner/runs";
import type { RunWait } from "@switchyard/contracts/agent-runner/run-waits";
import {
  isArguments,
  type AnswerPart,
  type FinishReason,
  type SkillRef,
  type ToolCallPart,
} from "./answer-part.ts";
import type { StartedEntry } from "./started-entry.ts";
import type { EntryOf, Resolution, Wait } from "./journal-entry.ts";
import type { ToolNarrowing } from "./tool-narrowing.ts";

/** The result of a tool call that a model requested. */
export interface CallResult {
  readonly text: string;
  readonly isError: boolean;
  /** The answer of a child run, whichever tool was called: it may repeat what that run has read. */
  readonly isOfChild?: boolean | undefined;
  /** Images, sounds and other files beside the text. */
  readonly files?: FilePart[] | undefined;
}

export interface CallState {
  readonly part: ToolCallPart;
  readonly step: number;
  readonly dispatched: boolean;
  /** Set while the call waits for something, and then what ended the wait. */
  readonly wait: Wait | null;
  readonly resolution: Resolution | null;
  /** The result that the model observes; null while there is none. */
  readonly result: CallResult | null;
}

/** One answer of the model with its requested calls. */
export interface Turn {
  readonly step: number;
  readonly content: readonly AnswerPart[];
  readonly finishReason: EntryOf<"model-responded">["finishReason"];
  readonly calls: readonly CallState[];
  /** The number of the run's messages that the model had when it answered. */
  readonly heard: number;
  /** The model that answered, by its name in the configuration; missing in answers of older journals that were copied. */
  readonly model?: string | undefined;
}

/** A run that works for this one. */
export interface ChildState {
  readonly callId: string;
  readonly childRunId: string;
  readonly agent: string;
  /** Null until its end is in the journal. */
  readonly end: { readonly status: ChildStatus; readonly text: string } | null;
  /** The policy's decision about starting it, where it was queried. */
  readonly decision?: Decision;
}

export type ChildStatus = EntryOf<"child-ended">["status"];

/** A message to the model between two steps. */
export interface RunMessage {
  readonly at: string;
  readonly by: string;
  readonly text: string;
}

export type RunEnd =
  | { readonly status: "succeeded"; readonly output: string }
  | { readonly status: "failed"; readonly failure: RunFailure }
  | { readonly status: "cancelled" }
  | { readonly status: "dead"; readonly failure: RunFailure };

export interface Compaction {
  readonly upTo: number;
  readonly isOfSession: boolean;
  readonly summary: string;
}

/** The state of a run, computed from its journal. */
export interface RunState {
  readonly started: StartedEntry;
  /** The limits of the start, with the changes of retries. */
  readonly limits: StartedEntry["limits"];
  /** The time from which the time limit counts, and the time that the run has waited since, in milliseconds. */
  readonly clockFrom: string;
  readonly waitedMs: number;
  /** Set while no runner is needed. */
  readonly waiting: { readonly since: string; readonly until: string | null } | null;
  /** Set while an administrator's stop keeps the run from continuing. */
  readonly stopped: EntryOf<"stopped"> | null;
  /** Set while the run waits at a limit; its time is `until`. */
  readonly atLimit: EntryOf<"limit-reached"> | null;
  readonly children: readonly ChildState[];
  readonly messages: readonly RunMessage[];
  readonly turns: readonly Turn[];
  /** The number of turns that existed when the run began or was last retried. */
  readonly firstOwnTurn: number;
  readonly skills: readonly SkillRef[];
  /** The tools that the activated skills remove, in the order of their activation. */
  readonly narrowings: readonly ToolNarrowing[];
  /** Layers of tool patterns from the start and from the skills since then. */
  readonly toolLayers: readonly (readonly string[])[];
  readonly toolCalls: number;
  /** Counts those that the policy, or a person, denied. */
  readonly deniedCalls: number;
  /** The summary that replaces the first answers of the conversation, and earlier messages of its session. */
  readonly compaction: Compaction | null;
  /** Digests of the tools as the model last received them, by name. */
  readonly shownTools: Readonly<Record<string, string>>;
  /** Allowed tools that the model was not shown when that was last noted. */
  readonly leftOut: readonly string[];
  /** Servers whose tools were unavailable when that was last noted. */
  readonly unavailable: readonly UnavailableServer[];
  /** Tools that the model searched for and found. */
  readonly found: readonly string[];
  readonly usage: Usage;
  /** The cost of the model calls in US dollars; null when the price of one is not known. */
  readonly costUsd: number | null;
  /** The cost of the calls whose price is known: a lower bound of the run's cost. */
  readonly knownCostUsd: number;
  /** The model that answered last, at first the run's. */
  readonly model: string;
  readonly end: RunEnd | null;
  /** Set once the run is to be cancelled. */
  readonly cancellation: Cancellation | null;
  readonly updatedAt: string;
  /** Number of entries. */
  readonly length: number;
  /** Number of entries up to the last one that brought the run closer to its end. */
  readonly progress: number;
  /** Number of events that the entries so far yield. */
  readonly events: number;
}

/** A journal that no runner of this program can have written. */
export class JournalCorrupt extends Error {
  override readonly name = "JournalCorrupt";
}

/** The calls of the last answer that have no result yet. */
export function openCalls(state: RunState): CallState[] {
  return state.turns.at(-1)?.calls.filter((call) => call.result === null) ?? [];
}

/** The call that an entry is about. */
export function callOf(state: RunState, callId: string): CallState {
  const call = state.turns.at(-1)?.calls.find((candidate) => candidate.part.callId === callId);
  if (call === undefined)
    throw new JournalCorrupt(`call ${callId} is not in the last answer of the model`);
  return call;
}

/**
 * True for the last call of an answer that broke off, when it has no arguments: they may not have been sent yet. Arguments that
 * were cut in the middle are not JSON.
 */
export function isCutOff({ part }: CallState, { turns }: RunState): boolean {
  const last = turns.at(-1);
  if (last === undefined || !BROKEN_OFF.has(last.finishReason)) return false;
  const isLast = last.calls.at(-1)?.part.callId === part.callId;
  return isLast && isArguments(part.input) && Object.keys(part.input).length === 0;
}

const BROKEN_OFF: ReadonlySet<FinishReason> = new Set(["length", "content-filter", "error"]);

/** True for a call that cannot have had its effect yet. */
export function isUnsent({ dispatched, wait }: CallState): boolean {
  return !dispatched || (wait?.reason === "approval" && wait.again !== true);
}

/** Returns the waits of a run for display; empty when it waits for nothing. */
export function waitsOf(state: RunState): RunWait[] {
  return [...stopWaits(state), ...limitWaits(state), ...callWaits(state)];
}

function stopWaits({ stopped, started }: RunState): RunWait[] {
  if (stopped === null) return [];
  const { scope, reason } = stopped;
  const stop = { scope, reason };
  return [{ reason: "stopped", callId: started.runId, tool: "", until: null, stop }];
}

function limitWaits({ atLimit, started }: RunState): RunWait[] {
  if (atLimit === null) return [];
  const { limit, value, team, until } = atLimit;
  const reached = team === undefined ? { limit, value } : { limit, value, team };
  return [{ reason: "limit", callId: started.runId, tool: "", until, limit: reached }];
}

function callWaits(state: RunState): RunWait[] {
  return openCalls(state).flatMap((call) => {
    const { wait, resolution, part } = call;
    if (wait === null || resolution !== null) return [];
    const shown = { reason: wait.reason, callId: part.callId, tool: part.tool, until: wait.until };
    switch (wait.reason) {
      case "approval":
        return [{ ...shown, approvalId: wait.approvalId }];
      case "child":
        return [{ ...shown, childRunId: wait.childRunId }];
      case "question": {
        const { question, options, schema } = wait;
        return [{ ...shown, question, options, ...(schema === undefined ? {} : { schema }) }];
      }
      case "timer":
        return [shown];
      default:
        return wait satisfies never;
    }
  });
}
