import type { Cancellation, RunFailure, Usage } from "@switchyard/contracts/runs";
import {
  isProgress,
  mayFollowCancel,
  type AnswerPart,
  type EntryOf,
  type JournalEntry,
  type SkillRef,
  type StartedEntry,
  type ToolCallPart,
} from "./journal-entry.ts";

/** A tool call that a model asked for, and how far it got. */
export interface CallState {
  readonly part: ToolCallPart;
  readonly step: number;
  readonly dispatched: boolean;
  /** What the model observes; null while there is no result. */
  readonly result: { readonly text: string; readonly isError: boolean } | null;
}

/** One answer of the model with the calls it asked for. */
export interface Turn {
  readonly step: number;
  readonly content: readonly AnswerPart[];
  readonly finishReason: EntryOf<"model-responded">["finishReason"];
  readonly calls: readonly CallState[];
}

export type RunEnd =
  | { readonly status: "succeeded"; readonly output: string }
  | { readonly status: "failed"; readonly failure: RunFailure }
  | { readonly status: "cancelled" };

/** A run as its journal tells it. */
export interface RunState {
  readonly started: StartedEntry;
  /** Those of the start, and what retries changed. */
  readonly limits: StartedEntry["limits"];
  /** When the time limit began to count. */
  readonly clockFrom: string;
  readonly turns: readonly Turn[];
  readonly skills: readonly SkillRef[];
  readonly toolCalls: number;
  readonly usage: Usage;
  readonly end: RunEnd | null;
  /** Set once the run is to be cancelled. */
  readonly cancellation: Cancellation | null;
  readonly updatedAt: string;
  /** Number of entries. */
  readonly length: number;
  /** Number of entries up to the last one that brought the run closer to its end. */
  readonly progress: number;
  /** Number of events that the entries so far stand for. */
  readonly events: number;
}

/** A journal that no runner of this program can have written. */
export class JournalCorrupt extends Error {
  override readonly name = "JournalCorrupt";
}

/** The state after all entries of a journal; the first must be `started`. */
export function replay(entries: readonly JournalEntry[]): RunState {
  const [first, ...rest] = entries;
  if (first?.kind !== "started")
    throw new JournalCorrupt("a journal must begin with a started entry");
  return rest.reduce(applyEntry, startOf(first));
}

/** The state at the first entry of a run. */
export function startOf(started: StartedEntry): RunState {
  return {
    started,
    limits: started.limits,
    clockFrom: started.at,
    turns: [],
    skills: started.skills,
    toolCalls: 0,
    usage: { inputTokens: 0, outputTokens: 0 },
    end: null,
    cancellation: null,
    updatedAt: started.at,
    length: 1,
    progress: 1,
    events: eventCountOf(started),
  };
}

/** The state after one more entry. Running and replaying a run use this one function. */
export function applyEntry(state: RunState, entry: JournalEntry): RunState {
  if (state.end !== null && entry.kind !== "retried")
    throw new JournalCorrupt(`entry ${entry.kind} follows the end of the run`);
  if (state.end === null && state.cancellation !== null && !mayFollowCancel(entry))
    throw new JournalCorrupt(`entry ${entry.kind} follows the request to cancel the run`);
  const length = state.length + 1;
  return {
    ...state,
    ...changeOf(state, entry),
    updatedAt: entry.at,
    length,
    progress: isProgress(entry) ? length : state.progress,
    events: state.events + eventCountOf(entry),
  };
}

/** How many events an entry stands for; `run-events.ts` makes exactly as many. */
export function eventCountOf(entry: JournalEntry): number {
  switch (entry.kind) {
    case "started":
      return 1 + entry.skills.length;
    case "model-responded":
      return 1 + entry.content.filter((part) => part.type === "tool-call").length;
    case "tool-completed":
      return entry.skill === null ? 1 : 2;
    case "tools-left-out":
    case "tool-dispatched":
    case "cancel-requested":
      return 0;
    case "resumed":
    case "tool-denied":
    case "tool-failed":
    case "finished":
    case "failed":
    case "cancelled":
    case "retried":
      return 1;
    default:
      return entry satisfies never;
  }
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

function changeOf(state: RunState, entry: JournalEntry): Partial<RunState> {
  switch (entry.kind) {
    case "started":
      throw new JournalCorrupt("a second started entry");
    case "resumed":
    case "tools-left-out":
      return {};
    case "model-responded":
      return answered(state, entry);
    case "tool-dispatched":
      return { turns: withCall(state, entry.callId, { dispatched: true }) };
    case "tool-completed": {
      const result = { text: entry.text, isError: entry.isError };
      const skills = entry.skill === null ? state.skills : withSkill(state.skills, entry.skill);
      return { turns: withCall(state, entry.callId, { result }), skills };
    }
    case "tool-denied":
      return { turns: withCall(state, entry.callId, { result: denial(entry) }) };
    case "tool-failed": {
      const result = { text: `tool call failed (${entry.code}): ${entry.message}`, isError: true };
      return { turns: withCall(state, entry.callId, { result }) };
    }
    case "finished":
      return { end: { status: "succeeded", output: entry.output } };
    case "failed":
      return { end: { status: "failed", failure: entry.failure } };
    case "cancel-requested":
      return { cancellation: { by: entry.by, reason: entry.reason } };
    case "cancelled":
      return cancelled(state);
    case "retried":
      return retried(state, entry);
    default:
      return entry satisfies never;
  }
}

function cancelled(state: RunState): Partial<RunState> {
  if (state.cancellation === null) throw new JournalCorrupt("nobody asked to cancel the run");
  if (openCalls(state).length > 0) throw new JournalCorrupt("a cancelled run has open calls");
  return { end: { status: "cancelled" } };
}

function retried(state: RunState, entry: EntryOf<"retried">): Partial<RunState> {
  if (state.end === null || state.end.status === "succeeded")
    throw new JournalCorrupt("only a run that failed or was cancelled goes on");
  const { maxSteps, maxToolCalls, timeoutMs } = entry.limits;
  const maxTokens = entry.limits.maxTokens ?? state.limits.maxTokens;
  const last = state.turns.at(-1);
  return {
    end: null,
    cancellation: null,
    clockFrom: entry.at,
    limits: {
      maxSteps: maxSteps ?? state.limits.maxSteps,
      maxToolCalls: maxToolCalls ?? state.limits.maxToolCalls,
      timeoutMs: timeoutMs ?? state.limits.timeoutMs,
      ...(maxTokens === undefined ? {} : { maxTokens }),
    },
    // The model is asked again for the answer that broke off; a whole one is the run's output.
    turns: last !== undefined && isBroken(last) ? state.turns.slice(0, -1) : state.turns,
  };
}

function isBroken({ calls, finishReason }: Turn): boolean {
  return calls.length === 0 && ["length", "content-filter", "error"].includes(finishReason);
}

function answered(state: RunState, entry: EntryOf<"model-responded">): Partial<RunState> {
  const { step, content, finishReason } = entry;
  if (step !== state.turns.length + 1 || openCalls(state).length > 0) {
    throw new JournalCorrupt(`answer of step ${step} while step ${state.turns.length} is the last`);
  }
  const calls = content
    .filter((part) => part.type === "tool-call")
    .map((part) => ({ part, step, dispatched: false, result: null }));
  return {
    turns: [...state.turns, { step, content, finishReason, calls }],
    toolCalls: state.toolCalls + calls.length,
    usage: {
      inputTokens: state.usage.inputTokens + entry.usage.inputTokens,
      outputTokens: state.usage.outputTokens + entry.usage.outputTokens,
    },
  };
}

function withCall(state: RunState, callId: string, change: Partial<CallState>): readonly Turn[] {
  const call = callOf(state, callId);
  if (call.result !== null) throw new JournalCorrupt(`call ${callId} has a second result`);
  const last = state.turns.at(-1);
  if (last === undefined) return state.turns;
  const calls = last.calls.map((other) => (other === call ? { ...call, ...change } : other));
  return [...state.turns.slice(0, -1), { ...last, calls }];
}

function withSkill(skills: readonly SkillRef[], skill: SkillRef): readonly SkillRef[] {
  return skills.some((known) => known.name === skill.name) ? skills : [...skills, skill];
}

function denial(entry: EntryOf<"tool-denied">): { text: string; isError: true } {
  return { text: `the policy denied this call: ${entry.decision.reason}`, isError: true };
}
