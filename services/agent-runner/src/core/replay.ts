import type { RunLimits } from "@switchyard/contracts/agent-runner/runs";
import { addCost, addUsage } from "./model-price.ts";
import {
  childEnded,
  copiedTurn,
  denial,
  earlyEnd,
  newCall,
  parked,
  resolved,
  resultOf,
  skillDispatched,
  withCall,
} from "./call-changes.ts";
import { eventCountOf, isProgress, mayFollowCancel } from "./entry-traits.ts";
import type { EntryOf, JournalEntry } from "./journal-entry.ts";
import type { SkillRef } from "./answer-part.ts";
import { narrowedLayers } from "./tool-narrowing.ts";
import type { StartedEntry } from "./started-entry.ts";
import {
  callOf,
  JournalCorrupt,
  openCalls,
  type RunMessage,
  type RunState,
  type Turn,
} from "./run-state.ts";

/** The state after all entries of a journal; the first must be `started`. */
export function replay(entries: readonly JournalEntry[]): RunState {
  const [first, ...rest] = entries;
  if (first?.kind !== "started")
    throw new JournalCorrupt("a journal must begin with a started entry");
  return rest.reduce(applyEntry, startOf(first));
}

/** The state at the first entry of a run. */
export function startOf(started: StartedEntry): RunState {
  const narrowings = started.fork?.narrowings ?? [];
  return {
    started,
    limits: started.limits,
    clockFrom: started.at,
    waitedMs: 0,
    waiting: null,
    stopped: null,
    atLimit: null,
    children: [],
    messages: [],
    turns: (started.fork?.turns ?? []).map(copiedTurn),
    firstOwnTurn: started.fork?.turns.length ?? 0,
    skills: started.skills,
    narrowings,
    toolLayers: narrowedLayers(started.toolLayers, narrowings),
    toolCalls: 0,
    deniedCalls: 0,
    shownTools: {},
    leftOut: [],
    unavailable: [],
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
  const known = applied.get(entry);
  if (known?.before === state) return known.after;
  const after = withEntry(state, entry);
  applied.set(entry, { before: state, after });
  return after;
}

/** Caches the state that an entry leads to, since it is computed before the entry is written and once more when it is. */
const applied = new WeakMap<
  JournalEntry,
  { readonly before: RunState; readonly after: RunState }
>();

function withEntry(state: RunState, entry: JournalEntry): RunState {
  if (state.end !== null && entry.kind !== "retried")
    throw new JournalCorrupt(`entry ${entry.kind} follows the end of the run`);
  if (state.end === null && state.cancellation !== null && !mayFollowCancel(entry))
    throw new JournalCorrupt(`entry ${entry.kind} follows the request to cancel the run`);
  const length = state.length + 1;
  const before = withDiscarded(state, entry);
  return {
    ...before,
    ...endOfWaiting(before, entry),
    ...endOfLimit(before, entry),
    ...changeOf(before, entry),
    updatedAt: entry.at,
    length,
    progress: isProgress(entry) ? length : state.progress,
    events: state.events + eventCountOf(entry),
  };
}

function changeOf(state: RunState, entry: JournalEntry): Partial<RunState> {
  switch (entry.kind) {
    case "started":
      throw new JournalCorrupt("a second started entry");
    case "resumed":
    case "woken":
      return {};
    case "tools-left-out":
      return { leftOut: entry.leftOut };
    case "tools-unavailable":
      return { unavailable: entry.servers };
    case "waiting":
      return { waiting: { since: entry.at, until: entry.until } };
    case "tool-parked":
      return parked(state, entry);
    case "wait-resolved":
      return resolved(state, entry);
    case "child-started": {
      const { callId, childRunId, agent, decision } = entry;
      if (state.children.some((child) => child.childRunId === childRunId)) return {};
      const decided = decision === undefined ? {} : { decision };
      const child = { callId, childRunId, agent, end: null, ...decided };
      return { children: [...state.children, child] };
    }
    case "child-ended":
      return childEnded(state, entry);
    case "stopped":
    case "stop-lifted":
      return { stopped: entry.kind === "stopped" ? entry : null };
    case "limit-reached":
      return { atLimit: entry };
    case "limits-changed":
      return { atLimit: null, limits: withLimits(state.limits, entry.limits) };
    case "steered":
      return { messages: [...state.messages, messageIn(entry)] };
    case "skill-dispatched":
      return skillDispatched(state, entry);
    case "model-responded":
      return answered(state, entry);
    case "compacted":
      return compacted(state, entry);
    case "tool-dispatched":
      return { turns: withCall(state, entry.callId, { dispatched: true }) };
    case "tool-unsent":
      return { turns: withCall(state, entry.callId, { dispatched: false }) };
    case "tool-completed": {
      const result = resultOf(callOf(state, entry.callId), entry);
      const skills = entry.skill === null ? state.skills : withSkill(state.skills, entry.skill);
      const turns = withCall(state, entry.callId, { result });
      return {
        turns,
        skills,
        found: [...new Set([...state.found, ...(entry.found ?? [])])],
        shownTools: { ...state.shownTools, ...entry.shown },
        ...narrowed(state, entry),
        ...earlyEnd(state, entry.callId, entry.at),
      };
    }
    case "tool-denied":
      return denied(state, entry);
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

function denied(state: RunState, entry: EntryOf<"tool-denied">): Partial<RunState> {
  const turns = withCall(state, entry.callId, { result: denial(entry) });
  return { turns, deniedCalls: state.deniedCalls + 1 };
}

function cancelled(state: RunState): Partial<RunState> {
  if (state.cancellation === null)
    throw new JournalCorrupt("the run is cancelled without a request");
  if (openCalls(state).length > 0) throw new JournalCorrupt("a cancelled run has open calls");
  return { end: { status: "cancelled" } };
}

function retried(state: RunState, entry: EntryOf<"retried">): Partial<RunState> {
  if (state.end === null || state.end.status === "succeeded")
    throw new JournalCorrupt("only a run that failed, died or was cancelled can be retried");
  const last = state.turns.at(-1);
  const isAgain = last !== undefined && (isBroken(last) || isFailedDispatch(state, last));
  const turns = isAgain ? state.turns.slice(0, -1) : state.turns;
  return {
    end: null,
    cancellation: null,
    clockFrom: entry.at,
    waitedMs: 0,
    stopped: null,
    atLimit: null,
    limits: withLimits(state.limits, entry.limits),
    turns,
    firstOwnTurn: turns.length,
  };
}

/** The limits that a command names replace the others. */
function withLimits(now: StartedEntry["limits"], wanted: RunLimits): StartedEntry["limits"] {
  const named = Object.entries(wanted).filter(([, value]) => value !== undefined);
  return { ...now, ...Object.fromEntries(named) };
}

function messageIn({ at, by, message: text }: EntryOf<"steered">): RunMessage {
  return { at, by, text };
}

/** An answer that broke off is requested again; a whole one is the run's output. */
function isBroken({ calls, finishReason }: Turn): boolean {
  return calls.length === 0 && ["length", "content-filter", "error"].includes(finishReason);
}

/** A call that is the whole run is repeated under its id: its provider has the record of whether it was carried out. */
function isFailedDispatch({ started }: RunState, { calls }: Turn): boolean {
  return started.dispatch !== undefined && calls.some(({ result }) => result?.isError === true);
}

function answered(state: RunState, entry: EntryOf<"model-responded">): Partial<RunState> {
  const { step, content, finishReason } = entry;
  if (step !== state.turns.length + 1 || openCalls(state).length > 0) {
    throw new JournalCorrupt(`answer of step ${step} while step ${state.turns.length} is the last`);
  }
  const calls = content
    .filter((part) => part.type === "tool-call")
    .map((part) => newCall(part, step));
  const { heard = 0, model = state.model } = entry;
  return {
    turns: [...state.turns, { step, content, finishReason, calls, heard, model }],
    toolCalls: state.toolCalls + calls.length,
    ...spent(state, entry),
    ...(entry.shown === undefined ? {} : { shownTools: { ...state.shownTools, ...entry.shown } }),
    model,
  };
}

/** A limit whose period restarts at a given time no longer blocks the run from then on. */
function endOfLimit({ atLimit }: RunState, { at }: JournalEntry): Partial<RunState> {
  const until = atLimit?.until ?? null;
  return until !== null && Date.parse(at) >= Date.parse(until) ? { atLimit: null } : {};
}

/** The time limit does not count while no runner is needed. */
function endOfWaiting(state: RunState, { at }: JournalEntry): Partial<RunState> {
  if (state.waiting === null) return {};
  const waitedMs = Math.max(0, Date.parse(at) - Date.parse(state.waiting.since));
  return { waiting: null, waitedMs: state.waitedMs + waitedMs };
}

function compacted(state: RunState, entry: EntryOf<"compacted">): Partial<RunState> {
  const { upTo, summary, model } = entry;
  const { compaction, turns } = state;
  const isOfSession = entry.isOfSession === true || compaction?.isOfSession === true;
  const isLonger =
    upTo > (compaction?.upTo ?? 0) || isOfSession !== (compaction?.isOfSession ?? false);
  if (upTo > turns.length || !isLonger)
    throw new JournalCorrupt(`a summary up to step ${upTo} of ${turns.length}`);
  return { ...spent(state, entry), model, compaction: { upTo, isOfSession, summary } };
}

/** Adds the usage of answers that broke off before the entry to the state. */
export function withDiscarded(state: RunState, entry: JournalEntry): RunState {
  if (!("discarded" in entry) || entry.discarded === undefined) return state;
  return { ...state, ...spent(state, entry.discarded) };
}

/** Adds the usage and cost of one more model call. */
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

/** An activated skill may remove tools, and never adds any. */
function narrowed(
  state: RunState,
  { narrowing }: EntryOf<"tool-completed">,
): Pick<RunState, "narrowings" | "toolLayers"> | null {
  if (narrowing === undefined) return null;
  const narrowings = [...state.narrowings, narrowing];
  return { narrowings, toolLayers: narrowedLayers(state.started.toolLayers, narrowings) };
}

function withSkill(skills: readonly SkillRef[], skill: SkillRef): readonly SkillRef[] {
  return skills.some((known) => known.name === skill.name) ? skills : [...skills, skill];
}
