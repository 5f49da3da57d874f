import {
  sessionCreated,
  sessionEnded,
  sessionMessageAdded,
  sessionMessageQueued,
  sessionMessageSteered,
  sessionPatched,
  sessionReset,
} from "@switchyard/contracts/agent-runner/session-events";
import { runMerged, runQueued, runRejected } from "@switchyard/contracts/agent-runner/run-events";
import type {
  PendingEvent,
  SessionCommand,
  SessionRecord,
  SessionState,
} from "./session-record.ts";

/** The events that a session's record may hold until they are published, by name. */
export const OUTBOX_EVENTS = new Map(
  [
    sessionCreated,
    sessionPatched,
    sessionMessageQueued,
    sessionMessageSteered,
    sessionMessageAdded,
    sessionReset,
    sessionEnded,
    runQueued,
    runMerged,
    runRejected,
  ].map((contract) => [contract.name, contract] as const),
);

type SessionFact =
  | typeof sessionCreated
  | typeof sessionPatched
  | typeof sessionMessageQueued
  | typeof sessionMessageSteered
  | typeof sessionMessageAdded
  | typeof sessionReset
  | typeof sessionEnded;

/** Adds an event of a session to the record, to be published. */
export function withFact(
  record: SessionRecord,
  session: SessionState,
  fact: {
    readonly contract: SessionFact;
    readonly at: string;
    readonly fields: Record<string, unknown>;
  },
): SessionRecord {
  const { sessionId, key, owner } = session;
  const seq = record.seq + 1;
  const payload = { sessionId, key, owner, seq, at: fact.at, ...fact.fields };
  const event: PendingEvent = {
    event: fact.contract.name,
    token: sessionId,
    messageId: `${sessionId}:${seq}`,
    payload,
  };
  return { ...record, seq, outbox: [...record.outbox, event] };
}

/** Adds an event about the run of a message that has no run yet, or never will. */
export function withRunFact(
  record: SessionRecord,
  session: SessionState,
  fact: {
    readonly contract: typeof runQueued | typeof runMerged;
    readonly runId: string;
    readonly at: string;
    readonly fields: Record<string, unknown>;
  },
): SessionRecord {
  const { contract, runId, at, fields } = fact;
  const { sessionId, key } = session;
  const payload = { runId, at, sessionId, sessionKey: key, ...fields };
  const messageId = `${contract.name}:${runId}:${sessionId}`;
  return {
    ...record,
    outbox: [...record.outbox, { event: contract.name, token: runId, messageId, payload }],
  };
}

/** Adds the refusal of a message that was waiting when its session ended. */
export function withRefusal(
  record: SessionRecord,
  session: SessionState,
  refused: { readonly command: SessionCommand; readonly at: string; readonly why: string },
): SessionRecord {
  const { command, at, why } = refused;
  const { runId, message } = command;
  const { subject, caller, streamSequence, messageId } = message;
  const payload = {
    runId,
    subject,
    caller,
    code: "session_ended",
    message: `session ${session.key} ${why} before the turn of this message came; send it again`,
    problems: [],
    streamSequence,
    messageId,
    at,
  };
  const event = {
    event: runRejected.name,
    token: runId,
    messageId: `rejected:${runId}:${session.sessionId}`,
    payload,
  };
  return { ...record, outbox: [...record.outbox, event] };
}
