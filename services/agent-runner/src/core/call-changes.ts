import type { CopiedTurn, ToolCallPart } from "./answer-part.ts";
import type { EntryOf } from "./journal-entry.ts";
import {
  JournalCorrupt,
  callOf,
  openCalls,
  type CallState,
  type ChildState,
  type RunMessage,
  type RunState,
  type Turn,
} from "./run-state.ts";
import { childAnswer } from "./observation.ts";

export function newCall(
  part: ToolCallPart,
  step: number,
  result: CallState["result"] = null,
): CallState {
  return { part, step, dispatched: false, wait: null, resolution: null, result };
}

export function copiedTurn(
  { content, finishReason, results, model }: CopiedTurn,
  index: number,
): Turn {
  const step = index + 1;
  const found = new Map(results.map(({ callId, ...result }) => [callId, result]));
  const calls = content
    .filter((part) => part.type === "tool-call")
    .map((part) => newCall(part, step, found.get(part.callId)));
  return { step, content, finishReason, calls, heard: 0, model };
}

/** The step that replaces a model's when a skill maps directly to a tool. */
export function skillDispatched(state: RunState, { callId }: EntryOf<"skill-dispatched">) {
  const { dispatch } = state.started;
  if (dispatch === undefined || state.turns.length > 0)
    throw new JournalCorrupt("the run is not that of a skill that stands for a tool");
  const { tool, input } = dispatch;
  const part: ToolCallPart = { type: "tool-call", callId, toolCallId: callId, tool, input };
  const calls = [newCall(part, 1)];
  const turn: Turn = { step: 1, content: [part], finishReason: "tool-calls", calls, heard: 0 };
  return { turns: [turn], toolCalls: 1 };
}

export function parked(
  state: RunState,
  { callId, wait }: EntryOf<"tool-parked">,
): Partial<RunState> {
  const hasEnded =
    wait.reason === "child" &&
    state.children.some((child) => child.childRunId === wait.childRunId && child.end !== null);
  const resolution = hasEnded ? { type: "look" as const } : null;
  return { turns: withCall(state, callId, { wait, resolution }) };
}

/** A resolution of a wait that is over changes nothing. */
export function resolved(state: RunState, entry: EntryOf<"wait-resolved">): Partial<RunState> {
  const call = openCalls(state).find(({ part }) => part.callId === entry.callId);
  if (call === undefined || call.wait === null || call.resolution !== null) return {};
  return { turns: withCall(state, entry.callId, { resolution: entry.resolution }) };
}

export function withCall(
  state: RunState,
  callId: string,
  change: Partial<CallState>,
): readonly Turn[] {
  const call = callOf(state, callId);
  if (call.result !== null) throw new JournalCorrupt(`call ${callId} has a second result`);
  const last = state.turns.at(-1);
  if (last === undefined) return state.turns;
  const calls = last.calls.map((other) => (other === call ? { ...call, ...change } : other));
  return [...state.turns.slice(0, -1), { ...last, calls }];
}

/** The answer of a child run that a call has waited for is stored as such. */
export function resultOf(
  { wait }: CallState,
  { text, isError, files }: EntryOf<"tool-completed">,
): NonNullable<CallState["result"]> {
  return {
    text,
    isError,
    ...(wait?.reason === "child" ? { isOfChild: true } : {}),
    ...(files === undefined ? {} : { files }),
  };
}

export function denial(entry: EntryOf<"tool-denied">): { text: string; isError: true } {
  return { text: `the policy denied this call: ${entry.decision.reason}`, isError: true };
}

/** The end of a child is the result of the call that waits for it, else a message to the model. */
export function childEnded(state: RunState, entry: EntryOf<"child-ended">): Partial<RunState> {
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
    messages: [...state.messages, messageOf({ ...known, end: { status, text } }, state, entry.at)],
  };
}

/** A child whose result is not awaited may end before its call has its result. */
export function earlyEnd(state: RunState, callId: string, at: string): Partial<RunState> {
  const child = state.children.find((known) => known.callId === callId && known.end !== null);
  const isAwaited = callOf(state, callId).wait !== null;
  if (child === undefined || isAwaited) return {};
  return { messages: [...state.messages, messageOf(child, state, at)] };
}

function messageOf(
  { childRunId, agent, end }: ChildState,
  { started }: RunState,
  at: string,
): RunMessage {
  const answer = childAnswer(end?.text ?? "", started.contextWindow);
  const said = `run ${childRunId} of agent ${agent} has ${end?.status}:\n${answer}`;
  return { at, by: "runner", text: said };
}
