import type { SideEffect } from "@switchyard/service/side-effects";
import { sideEffectsOf } from "@switchyard/service/side-effects-of";
import type { JournalEntry } from "./journal-entry.ts";
import { replay } from "./replay.ts";
import type { CallState, RunState, Turn } from "./run-state.ts";

/** A message that a run has sent itself. */
export interface SentMessage {
  readonly text: string;
  readonly provider: string;
  readonly accountId?: string | undefined;
  readonly to?: string | undefined;
  readonly threadId?: string | undefined;
}

/** The codes of results after which it is unknown whether a message was sent. */
const UNSURE = /TIMEOUT_UNKNOWN|outcome_unknown|tool_timeout/;

/** Returns the side effects of a turn's calls, by the ids under which the model knows the calls. Most calls have none. */
export function effectsOfTurn(
  turn: Turn | undefined,
  { updatedAt, started }: Pick<RunState, "updatedAt" | "started">,
): Record<string, SideEffect[]> {
  const at = Date.parse(updatedAt);
  const sessionKey = started.session?.key ?? null;
  const effects = (turn?.calls ?? []).map(
    (call) => [call.part.toolCallId, effectsOfCall(call, { at, sessionKey })] as const,
  );
  return Object.fromEntries(effects.filter(([, of]) => of.length > 0));
}

function effectsOfCall(
  { part, result }: CallState,
  { at, sessionKey }: { readonly at: number; readonly sessionKey: string | null },
): SideEffect[] {
  if (result === null) return [];
  const isUnknown = result.isError && UNSURE.test(result.text);
  if (result.isError && !isUnknown) return [];
  const made = { name: part.tool, args: recordIn(part.input), isUnknown, at };
  return sideEffectsOf({ ...made, structured: recordIn(parsed(result.text)) }, { sessionKey });
}

/**
 * True when the run has sent this answer itself, to the chat that it answers: by the record that the runner read after the exit of a coding CLI, or by
 * the journaled calls. An address without an account is the account of the chat.
 */
export function isAnswerSent(entries: readonly JournalEntry[], output: string): boolean {
  const state = replay(entries);
  const address = state.started.origin?.chat?.address;
  const text = output.trim();
  if (address === undefined || text === "") return false;
  const { channel, accountId, target, threadId } = address;
  const read = entries.flatMap((entry) =>
    entry.kind === "model-responded" ? (entry.sent ?? []) : [],
  );
  const journaled = state.turns.flatMap((turn) =>
    Object.values(effectsOfTurn(turn, state)).flat().flatMap(messageOf),
  );
  return [...read, ...journaled].some(
    (sent) =>
      sent.text.trim() === text &&
      sent.provider === channel &&
      (sent.accountId ?? accountId) === accountId &&
      sent.to === `${target.kind}:${target.id}` &&
      sent.threadId === threadId,
  );
}

function messageOf(effect: SideEffect): SentMessage[] {
  return effect.type === "message_sent" && effect.status !== "unknown" ? [effect] : [];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null; // a result that was cut, or is no JSON
  }
}

function recordIn(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}
