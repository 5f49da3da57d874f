import { childAnswer } from "./observation.ts";
import { withCall } from "./call-changes.ts";
import type { EntryOf } from "./journal-entry.ts";
import { callOf, openCalls, type ChildState, type RunMessage, type RunState } from "./run-state.ts";

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
