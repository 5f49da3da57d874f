import { z } from "zod";
import { MAX_MESSAGE_TEXT, SendId } from "../channels/channels.ts";
import { MessageFiles } from "./content-parts.ts";
import { rpc } from "../define.ts";
import { AgentName, CallerName, RunId, Timestamp } from "../ids.ts";
import { SaidOrigin } from "./run-context.ts";
import { RunFailure } from "./runs.ts";
import { sendToSession } from "./sessions.ts";
import { BusyPolicy, SessionId, SessionKey } from "./session-key.ts";
import { storeUnavailable } from "../store-errors.ts";

/**
 * Called by services that bring messages of others, such as channels and schedules. The run belongs to `owner`, as if the owner had sent
 * the message, and its claimed origin is trusted. No client may call it.
 */
export const deliverToSession = rpc({
  subject: "yard.rpc.{caller}.sessions.deliver",
  summary: "Between services: sends a message to a session of the named owner.",
  request: z.strictObject({
    owner: CallerName,
    /** The session begins when the key is new. */
    session: SessionKey,
    agent: AgentName,
    message: z.string().min(1).max(32_768),
    /** The parts that `files.deliver` returned for this owner. With files the message is always a run of its own. */
    files: MessageFiles.optional(),
    /** Without an owner's part: the same id again is the same message. */
    runId: RunId,
    origin: SaidOrigin.optional(),
    onBusy: BusyPolicy.optional(),
  }),
  reply: z.object({
    sessionId: SessionId,
    sessionKey: SessionKey,
    /** The run that answers: for a message that became part of another run, that one. */
    runId: RunId,
    placed: z.enum(["started", "queued", "steered"]),
  }),
  errors: {
    session_busy: sendToSession.errors.session_busy,
    session_queue_full: sendToSession.errors.session_queue_full,
    too_many_sessions: sendToSession.errors.too_many_sessions,
    run_id_taken: sendToSession.errors.run_id_taken,
    /** With the same `runId` it is no other message. */
    store_unavailable: storeUnavailable,
  },
  timeoutMs: 10_000,
});

export const sessionOutcome = rpc({
  subject: "yard.rpc.{caller}.sessions.outcome",
  summary: "Between services: what became of a message that was delivered to a session.",
  request: z.strictObject({ sessionId: SessionId, runId: RunId }),
  reply: z.object({
    status: z.enum(["pending", "ok", "error"]),
    /** The whole answer. */
    output: z.string().optional(),
    /** The run has sent this very text to its chat itself; missing: it has not, by its own record. */
    isSent: z.literal(true).optional(),
    failure: RunFailure.optional(),
  }),
  errors: { store_unavailable: storeUnavailable },
});

/**
 * Called by the channels: a message that an agent or a job has sent to the chat of a session from elsewhere, so that the agent of that chat
 * has it in its history. It starts no run.
 */
export const noteInSession = rpc({
  subject: "yard.rpc.{caller}.sessions.note",
  summary: "Between services: notes in a session what was sent to its chat from elsewhere.",
  request: z.strictObject({
    owner: CallerName,
    /** The session begins when the key is new, with the agent that answers in it. */
    session: SessionKey,
    agent: AgentName,
    /** The same id again is the same note. */
    sendId: SendId,
    at: Timestamp,
    text: z.string().min(1).max(MAX_MESSAGE_TEXT),
    tool: z.string().min(1).max(64).optional(),
    /** The run and session of the sender, as far as they are known. */
    runId: RunId.optional(),
    from: SessionKey.optional(),
  }),
  reply: z.object({
    /** `own`: a run of this very session has sent it. `full`: there is no session, and the owner has many. */
    outcome: z.enum(["noted", "known", "own", "full"]),
  }),
  errors: { store_unavailable: storeUnavailable },
});
