import type { Rejection, RunCommand, MessageFacts } from "../commands/run-command.ts";
import type { StartedEntry } from "../core/started-entry.ts";
import type { RunState } from "../core/run-state.ts";
import { findSession } from "./session-store.ts";
import { placeMessage, type Placement } from "./place-message.ts";
import { contextOf, linesOf, previewOf } from "./session-lines.ts";
import { FIRST_LOOK_MS, flush, proceed, RECHECK_MS, type SessionParts } from "./session-parts.ts";
import type { SessionCommand, SessionState } from "./session-record.ts";
import { slotOfId } from "./session-slot.ts";
import { begin, isEnding, release, settle, recordedPartOf, type Beginning } from "./transitions.ts";

/** The outcome for a command in the session that it names. */
export type Entering =
  | { readonly next: "go"; readonly command: RunCommand }
  /** Another run has the message, or it waits: there is nothing to do for the command now. */
  | { readonly next: "done" }
  | { readonly next: "reject"; readonly rejection: Rejection };

/** Places a command in its session, if it names one. The session's settings and history are read when the command has its turn. */
export async function enterSession(
  parts: SessionParts,
  command: RunCommand,
  message: MessageFacts,
): Promise<Entering> {
  const { session: ref, onBusy } = command.payload;
  if (ref === undefined) return { next: "go", command };
  const caller = command.requester;
  const found = await findSession(parts.store, { ref, caller });
  let session = found?.session;
  if (!hasTurn(session, command)) {
    const kept = keptCommand(command, message);
    const placement = await placeMessage(parts, {
      ref,
      caller,
      found,
      command: kept,
      onBusy,
      isHere: true,
    });
    if (placement.outcome === "queued" || placement.outcome === "steered") return { next: "done" };
    if (placement.outcome !== "go")
      return { next: "reject", rejection: rejectionOf(parts, ref, placement) };
    ({ session } = placement);
  }
  const { sessionId, key, model, skillsOff } = session;
  const slot = slotOfId(sessionId) ?? "";
  const before = contextOf(await parts.store.history(slot), parts.contextBytes);
  const { payload } = command;
  const answering = payload.model ?? model ?? undefined;
  const adapted = answering === undefined ? payload : { ...payload, model: answering };
  const place = { sessionId, key };
  return {
    next: "go",
    command: { ...command, payload: adapted, session: place, before, skillsOff },
  };
}

/** True when the run has its turn: the runner that gave it the turn has also handled the rest of the message. */
function hasTurn(
  session: SessionState | undefined,
  { runId, digest }: Pick<RunCommand, "runId" | "digest">,
): session is SessionState {
  return session?.active?.runId === runId && session.active.digest === digest;
}

/** The command of a run that has its turn in a session, and whether the run exists already; null when it has no turn, or no longer. */
export async function commandInTurn(
  { store }: Pick<SessionParts, "store">,
  { sessionId, runId }: { readonly sessionId: string; readonly runId: string },
): Promise<{ readonly command: SessionCommand; readonly isBegun: boolean } | null> {
  const slot = slotOfId(sessionId);
  if (slot === null) return null;
  const [{ record }, [command]] = await Promise.all([
    store.read(slot),
    store.commands(slot, [runId]),
  ]);
  const { session } = record;
  if (session?.sessionId !== sessionId || session.active?.runId !== runId) return null;
  return command === undefined ? null : { command, isBegun: session.active.begun };
}

/** Takes the session for a run that is to work, and returns whether it may. A run without a session always may. */
export async function beginInSession(
  parts: SessionParts,
  { session, runId, requester }: StartedEntry,
): Promise<Beginning> {
  const slot = session === undefined ? null : slotOfId(session.sessionId);
  if (session === undefined || slot === null) return "ok";
  const { sessionId } = session;
  // An existing run is identified by its id alone.
  const placed = { runId, requester, digest: "" };
  return parts.store.change(slot, ({ record }) => {
    const next = begin(record, { sessionId, placed });
    return { record: next.record, result: next.beginning };
  });
}

/** Releases the turn of a message whose run could not be made. */
export async function leaveSession(
  parts: SessionParts,
  { sessionId, runId }: { readonly sessionId: string; readonly runId: string },
  { code, message }: Rejection,
): Promise<void> {
  const slot = slotOfId(sessionId);
  if (slot === null) return;
  const next = await parts.store.change(slot, ({ record }) => {
    const room = release(record, { sessionId, runId, code, message });
    return { record: room.record, result: room.next };
  });
  await proceed(parts, next);
}

/**
 * Writes the end of a run into its session and gives the next message its turn. The runner does it before it acknowledges the
 * run's message, so at least once, and only the first time changes anything.
 */
export async function settleInSession(parts: SessionParts, state: RunState): Promise<void> {
  const { started, end, usage, messages, turns, updatedAt } = state;
  const { session, runId, model, thinking, contextWindow, sender } = started;
  const slot = session === undefined ? null : slotOfId(session.sessionId);
  if (session === undefined || slot === null || end === null) return;
  const { sessionId } = session;
  const ending = {
    sessionId,
    runId,
    status: end.status,
    at: updatedAt,
    tokens: usage.inputTokens + usage.outputTokens,
    messages: messages.length,
    turns: turns.length,
    preview: previewOf(state),
    model,
    ...(thinking !== undefined && { thinking }),
    ...(contextWindow !== undefined && { contextWindow }),
    isFromElsewhere: sender !== undefined,
  };
  const outcome = await parts.store.change(slot, ({ record }) => {
    const lines = isEnding(record, ending) ? linesOf(state, recordedPartOf(record, runId)) : [];
    const { next, isNews, record: after } = settle(record, ending, lines.length);
    const owner = record.session?.owner ?? null;
    return { record: after, result: { next, isNews, owner }, lines };
  });
  const { next, isNews, owner } = outcome;
  await proceed(parts, next);
  await flush(parts, { slot });
  if (!isNews || owner === null) return;
  const nowMs = parts.now();
  const lookMs = nowMs + (next === null ? RECHECK_MS : FIRST_LOOK_MS);
  await parts.index.touch({ slot, owner }, { usedMs: nowMs, lookMs });
}

function keptCommand(
  { runId, agent, requester, payload, digest }: RunCommand,
  message: MessageFacts,
): SessionCommand {
  const { subject, caller, streamSequence, messageId, publishedAt } = message;
  const facts = { subject, caller, streamSequence, messageId };
  const from = { ...facts, publishedAt: publishedAt.toISOString() };
  return { runId, agent, requester, payload, digest, message: from };
}

/** The rejection for the sender, in the form of a `run.rejected` event. */
export function rejectionOf(
  { limits }: Pick<SessionParts, "limits">,
  ref: string,
  placement: Extract<Placement, { outcome: "unknown" | "too_many" | "busy" | "full" | "taken" }>,
): Rejection {
  switch (placement.outcome) {
    case "unknown":
      return said("unknown_session", `there is no session ${ref}; a key of your own begins one`);
    case "too_many":
      return said(
        "too_many_sessions",
        "you have too many sessions; delete one that you do not use",
      );
    case "busy": {
      const { activeRun } = placement;
      return said(
        "session_busy",
        `run ${activeRun} of session ${ref} is under way; try again later`,
      );
    }
    case "full": {
      const most = `${limits.maxQueued} messages wait in session ${ref}`;
      return said("session_queue_full", `${most}, and no more may; try again later`);
    }
    case "taken":
      return said("run_id_taken", `the run id belongs to another message of session ${ref}`);
    default:
      return placement satisfies never;
  }
}

function said(code: string, message: string): Rejection {
  return { code, message, problems: [] };
}
