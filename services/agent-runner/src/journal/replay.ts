import type { Cancellation, RunFailure, Usage } from "@switchyard/contracts/runs";
import { addCost, addUsage } from "../model/model-price.ts";
import {
  isProgress,
  mayFollowCancel,
  type AnswerPart,
  type CopiedTurn,
  type EntryOf,
  type JournalEntry,
  type SkillRef,
  type StartedEntry,
  type ToolCallPart,
} from "./journal-entry.ts";
import type { Resolution, Wait } from "./wait.ts";

/** A tool call that a model asked for, and how far it got. */
export interface CallState {
  readonly part: ToolCallPart;
  readonly step: number;
  readonly dispatched: boolean;
  /** Set while the call waits for something, and then what ended the wait. */
  readonly wait: Wait | null;
  readonly resolution: Resolution | null;
  /** What the model observes; null while there is no result. */
  readonly result: { readonly text: string; readonly isError: boolean } | null;
}

/** One answer of the model with the calls it asked for. */
export interface Turn {
  readonly step: number;
  readonly content: readonly AnswerPart[];
  readonly finishReason: EntryOf<"model-responded">["finishReason"];
  readonly calls: readonly CallState[];
  /** How many of the run's messages the model had when it answered. */
  readonly heard: number;
}

/** A run that works for this one. */
export interface ChildState {
  readonly callId: string;
  readonly childRunId: string;
  readonly agent: string;
  /** Null while its end is not known here. */
  readonly end: { readonly status: ChildStatus; readonly text: string } | null;
}
export type ChildStatus = EntryOf<"child-ended">["status"];

/** Something that is said to the model between two steps. */
export interface RunMessage {
  readonly by: string;
  readonly text: string;
}

export type RunEnd =
  | { readonly status: "succeeded"; readonly output: string }
  | { readonly status: "failed"; readonly failure: RunFailure }
  | { readonly status: "cancelled" }
  | { readonly status: "dead"; readonly failure: RunFailure };

/** A run as its journal tells it. */
export interface RunState {
  readonly started: StartedEntry;
  /** Those of the start, and what retries changed. */
  readonly limits: StartedEntry["limits"];
  /** When the time limit began to count, and for how long since then the run has waited, in milliseconds. */
  readonly clockFrom: string;
  readonly waitedMs: number;
  /** Set while no runner is needed. */
  readonly waiting: { readonly since: string; readonly until: string | null } | null;
  readonly children: readonly ChildState[];
  readonly messages: readonly RunMessage[];
  readonly turns: readonly Turn[];
  readonly skills: readonly SkillRef[];
  readonly toolCalls: number;
  /** What stands for the first answers in the conversation. */
  readonly compaction: { readonly upTo: number; readonly summary: string } | null;
  /** Tools that the model searched for and found. */
  readonly found: readonly string[];
  readonly usage: Usage;
  /** What the model calls cost in US dollars; null when the price of one is not known. */
  readonly costUsd: number | null;
  /** What those calls cost whose price is known: the least that the run cost. */
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
    waitedMs: 0,
    waiting: null,
    children: [],
    messages: [],
    turns: (started.fork?.turns ?? []).map(copiedTurn),
    skills: started.skills,
    toolCalls: 0,
    found: [],
    compaction: null,
    usage: { inputTokens: 0, outputTokens: 0 },
    costUsd: 0,
    knownCostUsd: 0,
    model: started.model,
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
    ...endOfWaiting(state, entry),
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
    case "compacted":
    case "tool-dispatched":
    case "cancel-requested":
      return 0;
    case "tool-parked":
      return entry.wait.reason === "question" ? 1 : 0;
    case "wait-resolved":
      return entry.resolution.type === "answer" ? 1 : 0;
    case "skill-dispatched":
    case "waiting":
    case "woken":
    case "child-started":
    case "child-ended":
    case "steered":
    case "dead":
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
    case "woken":
    case "tools-left-out":
      return {};
    case "waiting":
      return { waiting: { since: entry.at, until: entry.until } };
    case "tool-parked":
      return parked(state, entry);
    case "wait-resolved":
      return resolved(state, entry);
    case "child-started": {
      const { callId, childRunId, agent } = entry;
      if (state.children.some((child) => child.childRunId === childRunId)) return {};
      return { children: [...state.children, { callId, childRunId, agent, end: null }] };
    }
    case "child-ended":
      return childEnded(state, entry);
    case "steered":
      return { messages: [...state.messages, { by: entry.by, text: entry.message }] };
    case "skill-dispatched":
      return skillDispatched(state, entry);
    case "model-responded":
      return answered(state, entry);
    case "compacted":
      return compacted(state, entry);
    case "tool-dispatched":
      return { turns: withCall(state, entry.callId, { dispatched: true }) };
    case "tool-completed": {
      const result = { text: entry.text, isError: entry.isError };
      const skills = entry.skill === null ? state.skills : withSkill(state.skills, entry.skill);
      const turns = withCall(state, entry.callId, { result });
      const found = [...new Set([...state.found, ...(entry.found ?? [])])];
      return { turns, skills, found, ...earlyEnd(state, entry.callId) };
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
    case "dead":
      return { end: { status: "dead", failure: entry.failure } };
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
    throw new JournalCorrupt("only a run that failed, died or was cancelled goes on");
  const { maxSteps, maxToolCalls, timeoutMs } = entry.limits;
  const maxTokens = entry.limits.maxTokens ?? state.limits.maxTokens;
  const maxCostUsd = entry.limits.maxCostUsd ?? state.limits.maxCostUsd;
  const maxRepeatedCalls = entry.limits.maxRepeatedCalls ?? state.limits.maxRepeatedCalls;
  const last = state.turns.at(-1);
  return {
    end: null,
    cancellation: null,
    clockFrom: entry.at,
    waitedMs: 0,
    limits: {
      maxSteps: maxSteps ?? state.limits.maxSteps,
      maxToolCalls: maxToolCalls ?? state.limits.maxToolCalls,
      timeoutMs: timeoutMs ?? state.limits.timeoutMs,
      ...(maxTokens === undefined ? {} : { maxTokens }),
      ...(maxCostUsd === undefined ? {} : { maxCostUsd }),
      ...(maxRepeatedCalls === undefined ? {} : { maxRepeatedCalls }),
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
    .map((part) => newCall(part, step));
  const { heard = 0 } = entry;
  return {
    turns: [...state.turns, { step, content, finishReason, calls, heard }],
    toolCalls: state.toolCalls + calls.length,
    ...spent(state, entry),
    model: entry.model ?? state.model,
  };
}

function newCall(part: ToolCallPart, step: number, result: CallState["result"] = null): CallState {
  return { part, step, dispatched: false, wait: null, resolution: null, result };
}

/** The step that stands in for a model's when a skill stands for a tool. */
function skillDispatched(state: RunState, { callId }: EntryOf<"skill-dispatched">) {
  const { dispatch } = state.started;
  if (dispatch === undefined || state.turns.length > 0)
    throw new JournalCorrupt("the run is not that of a skill that stands for a tool");
  const { tool, input } = dispatch;
  const part: ToolCallPart = { type: "tool-call", callId, toolCallId: callId, tool, input };
  const calls = [newCall(part, 1)];
  const turn: Turn = { step: 1, content: [part], finishReason: "tool-calls", calls, heard: 0 };
  return { turns: [turn], toolCalls: 1 };
}

function copiedTurn({ content, finishReason, results }: CopiedTurn, index: number): Turn {
  const step = index + 1;
  const found = new Map(results.map(({ callId, text, isError }) => [callId, { text, isError }]));
  const calls = content
    .filter((part) => part.type === "tool-call")
    .map((part) => newCall(part, step, found.get(part.callId)));
  return { step, content, finishReason, calls, heard: 0 };
}

/** The time limit does not count while no runner is needed. */
function endOfWaiting(state: RunState, { at }: JournalEntry): Partial<RunState> {
  if (state.waiting === null) return {};
  const waitedMs = Math.max(0, Date.parse(at) - Date.parse(state.waiting.since));
  return { waiting: null, waitedMs: state.waitedMs + waitedMs };
}

/** News about a wait that is over changes nothing. */
function resolved(state: RunState, entry: EntryOf<"wait-resolved">): Partial<RunState> {
  const call = openCalls(state).find(({ part }) => part.callId === entry.callId);
  if (call === undefined || call.wait === null || call.resolution !== null) return {};
  return { turns: withCall(state, entry.callId, { resolution: entry.resolution }) };
}

/** The end of a child is the result of the call that waits for it, else a message to the model. */
function childEnded(state: RunState, entry: EntryOf<"child-ended">): Partial<RunState> {
  const { childRunId, status, text } = entry;
  const known = state.children.find((child) => child.childRunId === childRunId);
  if (known === undefined || known.end !== null) return {};
  const children = state.children.map((child) =>
    child === known ? { ...child, end: { status, text } } : child,
  );
  const call = openCalls(state).find(({ part }) => part.callId === known.callId);
  // A call that is still being answered learns it there.
  if (call !== undefined && call.wait === null) return { children };
  if (call !== undefined) {
    const resolution = { type: "look" as const };
    return { children, turns: withCall(state, known.callId, { resolution }) };
  }
  return {
    children,
    messages: [...state.messages, messageOf({ ...known, end: { status, text } })],
  };
}

function parked(state: RunState, { callId, wait }: EntryOf<"tool-parked">): Partial<RunState> {
  const hasEnded =
    wait.reason === "child" &&
    state.children.some((child) => child.childRunId === wait.childRunId && child.end !== null);
  const resolution = hasEnded ? { type: "look" as const } : null;
  return { turns: withCall(state, callId, { wait, resolution }) };
}

/** A child that nobody waits for may end before its call has its result. */
function earlyEnd(state: RunState, callId: string): Partial<RunState> {
  const child = state.children.find((known) => known.callId === callId && known.end !== null);
  const isAwaited = callOf(state, callId).wait !== null;
  if (child === undefined || isAwaited) return {};
  return { messages: [...state.messages, messageOf(child)] };
}

function messageOf({ childRunId, agent, end }: ChildState): RunMessage {
  const said = `run ${childRunId} of agent ${agent} has ${end?.status}: ${end?.text}`;
  return { by: "runner", text: said };
}

function compacted(state: RunState, entry: EntryOf<"compacted">): Partial<RunState> {
  const { upTo, summary, model } = entry;
  if (upTo > state.turns.length || upTo <= (state.compaction?.upTo ?? 0))
    throw new JournalCorrupt(`a summary up to step ${upTo} of ${state.turns.length}`);
  return { ...spent(state, entry), model, compaction: { upTo, summary } };
}

/** Usage and cost with those of one more model call. */
function spent(
  state: RunState,
  { usage, costUsd = null }: Pick<EntryOf<"model-responded">, "usage" | "costUsd">,
): Pick<RunState, "usage" | "costUsd" | "knownCostUsd"> {
  return {
    usage: addUsage(state.usage, usage),
    costUsd: addCost(state.costUsd, costUsd),
    knownCostUsd: addCost(state.knownCostUsd, costUsd ?? 0) ?? 0,
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
