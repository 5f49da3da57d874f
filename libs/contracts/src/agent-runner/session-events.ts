import { z } from "zod";
import { event } from "../define.ts";
import { AgentName, CallerName, RunId, Timestamp } from "../ids.ts";
import { SessionId, SessionKey, SessionKind } from "./session-key.ts";

/** The fields that every event of a session carries. Each is published at least once, in the order of `seq`. */
const SessionEvent = z.object({
  sessionId: SessionId,
  key: SessionKey,
  owner: CallerName,
  /** Grows with each event of the owner's key, also over a reset. */
  seq: z.int().positive(),
  at: Timestamp,
});

export const sessionCreated = event({
  subject: "yard.evt.session.{owner}.{sessionId}.created",
  summary: "A session began, new or after a reset.",
  payload: SessionEvent.extend({ kind: SessionKind, agent: AgentName }),
});

export const sessionPatched = event({
  subject: "yard.evt.session.{owner}.{sessionId}.patched",
  summary: "What a session is called, or how it works, was changed.",
  payload: SessionEvent.extend({ by: CallerName, fields: z.array(z.string()) }),
});

export const sessionMessageQueued = event({
  subject: "yard.evt.session.{owner}.{sessionId}.message-queued",
  summary: "A message waits until the session's run has ended.",
  payload: SessionEvent.extend({ runId: RunId, position: z.int().positive() }),
});

export const sessionMessageSteered = event({
  subject: "yard.evt.session.{owner}.{sessionId}.message-steered",
  summary: "A message was added to the session's run in progress.",
  payload: SessionEvent.extend({ runId: RunId, into: RunId }),
});

export const sessionMessageAdded = event({
  subject: "yard.evt.session.{owner}.{sessionId}.message-added",
  summary: "A run of a session ended, and what was said is in the history.",
  payload: SessionEvent.extend({
    runId: RunId,
    status: z.enum(["succeeded", "failed", "cancelled", "dead"]),
    /** The number of lines that were added to the history. */
    added: z.int().nonnegative(),
    /** First part of the answer or of the reason why there is none, cut to 1 KiB, without credentials. */
    preview: z.string(),
  }),
});

export const sessionReset = event({
  subject: "yard.evt.session.{owner}.{sessionId}.reset",
  summary: "A session was reset; `next` is its id from now on.",
  payload: SessionEvent.extend({ by: CallerName, next: SessionId }),
});

/** The last event of a session: everything that was stored for it can be deleted. */
export const sessionEnded = event({
  subject: "yard.evt.session.{owner}.{sessionId}.ended",
  summary: "A session ended: it was unused for too long, deleted or reset.",
  payload: SessionEvent.extend({ reason: z.enum(["idle", "deleted", "reset"]) }),
});

export const sessionEvents = [
  sessionCreated,
  sessionPatched,
  sessionMessageQueued,
  sessionMessageSteered,
  sessionMessageAdded,
  sessionReset,
  sessionEnded,
] as const;
