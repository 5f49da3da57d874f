import type { BusyPolicy, SessionKind } from "@switchyard/contracts/agent-runner/session-key";
import {
  sessionCreated,
  sessionEnded,
  sessionMessageAdded,
  sessionMessageSteered,
  sessionPatched,
  sessionReset,
} from "@switchyard/contracts/agent-runner/session-events";
import { runMerged } from "@switchyard/contracts/agent-runner/run-events";
import type { ThinkingLevel } from "@switchyard/contracts/agent-runner/thinking";
import { withFact, withRefusal, withRunFact } from "./session-facts.ts";
import type { Placed, SessionCommand, SessionRecord, SessionState } from "./session-record.ts";
import { bornAt, sessionIdOf } from "./session-slot.ts";

/** The number of runs that ended without success and that the record retains, for the case that they are retried. */
const MAX_UNRECORDED = 50;
const KNOWN_REFUSED = 20;

/** The result for a run that is about to work. */
export type Beginning =
  /** It may: no other run of the session is under way, and none will be before its end. */
  | "ok"
  /** Another run has the session; this one must wait. */
  | "busy"
  /** The session that it belonged to has ended. */
  | "gone";

/** Gives the session to a run that exists and is to work. A retried run takes the session again when it is free. */
export function begin(
  record: SessionRecord,
  { sessionId, placed }: { readonly sessionId: string; readonly placed: Placed },
): { readonly record: SessionRecord; readonly beginning: Beginning } {
  const { session } = record;
  if (session === null || session.sessionId !== sessionId) return { record, beginning: "gone" };
  const { active } = session;
  if (active !== null && active.runId !== placed.runId) return { record, beginning: "busy" };
  if (active?.begun === true) return { record, beginning: "ok" };
  const begun = { ...session, active: { ...(active ?? placed), begun: true } };
  return { record: { ...record, session: begun }, beginning: "ok" };
}

/** The run that may begin now, if there is one, after its predecessor has released the turn. */
export interface Handover {
  readonly record: SessionRecord;
  readonly next: { readonly sessionId: string; readonly runId: string } | null;
}

/** Releases the turn of a message whose run could not be made; does nothing for a run that exists. */
export function release(
  record: SessionRecord,
  refused: {
    readonly sessionId: string;
    readonly runId: string;
    readonly code: string;
    readonly message: string;
  },
): Handover {
  const { sessionId, runId, code, message } = refused;
  const { session } = record;
  if (session?.sessionId !== sessionId) return { record, next: null };
  const { active } = session;
  if (active?.runId !== runId || active.begun) return { record, next: waitingFor(session) };
  const known = [...session.refused, { runId, code, message }].slice(-KNOWN_REFUSED);
  return handOver(record, { ...session, refused: known });
}

/** The end of a run of a session, and the numbers from which its new lines follow. */
export interface Ending {
  readonly sessionId: string;
  readonly runId: string;
  readonly status: "succeeded" | "failed" | "cancelled" | "dead";
  readonly at: string;
  /** Tokens that it used, messages that it received and answers that its model gave, in all its lives. */
  readonly tokens: number;
  readonly messages: number;
  readonly turns: number;
  readonly preview: string;
  readonly model?: string;
  readonly thinking?: ThinkingLevel;
  /** In tokens; missing when unknown. */
  readonly contextWindow?: number;
  /** Set when a run of another session sent its message. */
  readonly isFromElsewhere?: boolean;
}

/** The part of a run's earlier lives, ended without success, that the history already has. */
export interface RecordedPart {
  readonly tokens: number;
  readonly messages: number;
  readonly turns: number;
}

/**
 * Ends a run: its lines go into the history and the next message gets its turn, in one write. Only the run that has the session
 * can do so, and it loses the session with it, so it happens once.
 */
export function settle(
  record: SessionRecord,
  ending: Ending,
  added: number,
): Handover & { readonly isNews: boolean } {
  const { session } = record;
  if (session === null || session.sessionId !== ending.sessionId)
    return { record, next: null, isNews: false };
  if (!isEnding(record, ending)) return { record, next: waitingFor(session), isNews: false };
  const { runId, status, at, tokens, messages, turns, preview } = ending;
  const { model, thinking, contextWindow } = ending;
  const known = recordedPartOf(record, runId);
  const others = session.untold.filter((other) => other.runId !== runId);
  const untold =
    status === "succeeded"
      ? others
      : [...others, { runId, tokens, messages, turns }].slice(-MAX_UNRECORDED);
  const ended: SessionState = {
    ...session,
    updatedAt: at,
    totalTokens: session.totalTokens + tokens - (known?.tokens ?? 0),
    ...(ending.isFromElsewhere !== true && { ownRun: runId }),
    lastRun: {
      runId,
      status,
      ...(model !== undefined && { model }),
      ...(thinking !== undefined && { thinking }),
      ...(contextWindow !== undefined && { contextWindow }),
    },
    untold,
  };
  const fields = { runId, status, added, preview };
  const noted = withFact(record, ended, { contract: sessionMessageAdded, at, fields });
  return { ...handOver(noted, ended), isNews: true };
}

/** True when the end of this run is still to be written into its session. */
export function isEnding(
  { session }: SessionRecord,
  { sessionId, runId }: Pick<Ending, "sessionId" | "runId">,
): boolean {
  return session?.sessionId === sessionId && session.active?.runId === runId;
}

/** The part of a run that the history has already. */
export function recordedPartOf({ session }: SessionRecord, runId: string): RecordedPart | null {
  return session?.untold.find((known) => known.runId === runId) ?? null;
}

/** Records that a run has received a message that was meant for it. */
export function confirmSteer(
  record: SessionRecord,
  { runId, at }: { readonly runId: string; readonly at: string },
): SessionRecord {
  const { session } = record;
  const given = session?.steered.find((message) => message.runId === runId);
  if (session === null || given === undefined || given.isTold) return record;
  const { into } = given;
  const steered = session.steered.map((message) =>
    message === given ? { ...given, isTold: true } : message,
  );
  const known = { ...session, steered };
  const fields = { runId, into };
  const noted = withFact({ ...record, session: known }, known, {
    contract: sessionMessageSteered,
    at,
    fields,
  });
  return withRunFact(noted, known, { contract: runMerged, runId, at, fields: { into } });
}

/** Removes a message whose run ended without receiving it: the message is to arrive anew. */
export function undoSteer(record: SessionRecord, runId: string): SessionRecord {
  const { session } = record;
  if (session === null) return record;
  const steered = session.steered.filter((message) => message.runId !== runId);
  return { ...record, session: { ...session, steered } };
}

export interface SessionChanges {
  readonly label?: string | null | undefined;
  readonly kind?: SessionKind | undefined;
  readonly onBusy?: BusyPolicy | undefined;
  readonly agent?: string | undefined;
  readonly model?: string | null | undefined;
  readonly skillsOff?: readonly string[] | undefined;
}

/** Changes the label and the settings of a session. */
export function patch(
  record: SessionRecord,
  session: SessionState,
  {
    changes,
    by,
    at,
  }: { readonly changes: SessionChanges; readonly by: string; readonly at: string },
): SessionRecord {
  const given = Object.entries(changes).filter(([, value]) => value !== undefined);
  const changed = { ...session, ...Object.fromEntries(given), updatedAt: at };
  const fields = { by, fields: given.map(([name]) => name) };
  return withFact({ ...record, session: changed }, changed, {
    contract: sessionPatched,
    at,
    fields,
  });
}

/** Ends a session. The waiting messages are refused, each by itself. */
export function end(
  record: SessionRecord,
  session: SessionState,
  ending: {
    readonly reason: "idle" | "deleted" | "reset";
    readonly at: string;
    readonly waiting: readonly SessionCommand[];
  },
): SessionRecord {
  const { reason, at, waiting } = ending;
  const why = reason === "reset" ? "was reset" : "was deleted";
  let next: SessionRecord = { ...record, session: null };
  for (const command of waiting) next = withRefusal(next, session, { command, at, why });
  return withFact(next, session, { contract: sessionEnded, at, fields: { reason } });
}

/** Begins a session anew under its name; label and settings stay. */
export function reset(
  record: SessionRecord,
  session: SessionState,
  options: {
    readonly slot: string;
    readonly by: string;
    readonly nowMs: number;
    readonly waiting: readonly SessionCommand[];
  },
): { readonly record: SessionRecord; readonly session: SessionState } {
  const { slot, by, nowMs, waiting } = options;
  const at = new Date(nowMs).toISOString();
  const born = Math.max(nowMs, bornAt(session.sessionId) + 1);
  const { key, owner, kind, label, agent, model, skillsOff, onBusy } = session;
  const fresh: SessionState = {
    key,
    owner,
    kind,
    label,
    agent,
    model,
    skillsOff,
    onBusy,
    sessionId: sessionIdOf(slot, born),
    createdAt: at,
    updatedAt: at,
    totalTokens: 0,
    lastRun: null,
    active: null,
    queue: [],
    steered: [],
    refused: [],
    untold: [],
  };
  const said = withFact(record, session, {
    contract: sessionReset,
    at,
    fields: { by, next: fresh.sessionId },
  });
  const over = end(said, session, { reason: "reset", at, waiting });
  const begun = withFact({ ...over, session: fresh }, fresh, {
    contract: sessionCreated,
    at,
    fields: { kind, agent },
  });
  return { record: begun, session: fresh };
}

/** The run that has its turn and whose message to the queue may not have been sent; sending it twice changes nothing. */
export function waitingFor({ sessionId, active }: SessionState): Handover["next"] {
  return active === null || active.begun ? null : { sessionId, runId: active.runId };
}

function handOver(record: SessionRecord, session: SessionState): Handover {
  const [first, ...queue] = session.queue;
  const active = first === undefined ? null : { ...first, begun: false };
  const next = first === undefined ? null : { sessionId: session.sessionId, runId: first.runId };
  return { record: { ...record, session: { ...session, active, queue } }, next };
}
