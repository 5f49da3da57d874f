import { ListCursor, NextCursor } from "../list-cursor.ts";
import { z } from "zod";
import { SendId } from "../channels/channels.ts";
import { MessageFiles } from "./content-parts.ts";
import { command, rpc } from "../define.ts";
import { AgentName, CallerName, ModelName, RunId, SkillName, Timestamp } from "../ids.ts";
import { IfVersion, versionChanged } from "../if-version.ts";
import { SteerMessage } from "./run-commands.ts";
import { RunFollowUp } from "./run-follow-up.ts";
import { RunSender } from "./run-sender.ts";
import { RunFailure, RunLimits } from "./runs.ts";
import { BusyPolicy, SessionId, SessionKey, SessionKind, SessionRef } from "./session-key.ts";
import { storeUnavailable, storeUnsure } from "../store-errors.ts";
import { ThinkingLevel } from "./thinking.ts";

/** Skills that are switched off for the runs of the session: they are in no list for a model, and cannot be activated. */
const SkillsOff = z.array(SkillName).max(100);

/**
 * A session is a conversation of which each message is a run. It belongs to the NATS user that began it; for all others but `cli` and
 * `admin` it does not exist.
 */
export const Session = z.object({
  sessionId: SessionId,
  key: SessionKey,
  owner: CallerName,
  kind: SessionKind,
  label: z.string().nullable(),
  /**
   * The first words of its first message in a line, with credentials redacted: the name for people where there is no label. Missing before
   * the first message, and from an older runner.
   */
  title: z.string().optional(),
  /** The agent that answers messages without an agent: the one that answered last. */
  agent: AgentName,
  /** The model that replaces the agent's own; null: none does. */
  model: ModelName.nullable(),
  /** Skills that are switched off for its runs. */
  skillsOff: SkillsOff.default([]),
  /** The setting for messages without one of their own. */
  onBusy: BusyPolicy,
  /**
   * The version of the fields that `sessions.patch` changes, for its `ifVersion` and that of `sessions.delete`; messages do not count. An
   * older runner does not send it.
   */
  version: z.string().optional(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
  /** The time at which it ends unless it is used before. */
  endsAt: Timestamp,
  /** Messages in the history, and those that it has no room for any more. */
  messages: z.int().nonnegative(),
  droppedMessages: z.int().nonnegative(),
  bytes: z.int().nonnegative(),
  /** The run that is under way; a session has one at a time. */
  activeRun: RunId.nullable(),
  /** Messages that wait for it to end. */
  queued: z.int().nonnegative(),
  lastRun: z
    .object({
      runId: RunId,
      status: z.enum(["succeeded", "failed", "cancelled", "dead"]),
      /** The model that it worked with, and that model's context window, where it is known. An older runner does not send them. */
      model: ModelName.optional(),
      contextWindow: z.int().positive().optional(),
      /** Missing: no level was set. */
      thinking: ThinkingLevel.optional(),
    })
    .nullable(),
  /** Input and output tokens of all its runs. */
  totalTokens: z.int().nonnegative(),
});
export type Session = z.infer<typeof Session>;

/** One line of a conversation. Credentials are redacted. */
export const SessionMessage = z.object({
  at: Timestamp,
  /**
   * `notice`: a run ended without an answer, or a message was sent to the chat from elsewhere. `tool`: the answer of a tool; models do not
   * get it again.
   */
  role: z.enum(["user", "assistant", "tool", "notice"]),
  text: z.string(),
  /** The run that it belongs to. */
  runId: RunId,
  /**
   * The id of a message that was sent to the chat from elsewhere; then `runId` is the run that sent it, or made of this id where none did.
   */
  sendId: SendId.optional(),
  /** The author of a user's message. */
  by: CallerName.optional(),
  /** The agent whose run wrote an answer or ended without one. An older runner does not record it. */
  agent: AgentName.optional(),
  tool: z.string().optional(),
  isError: z.boolean().optional(),
  /** True when the text is cut, and when a part of it was redacted. */
  truncated: z.boolean().optional(),
  redacted: z.boolean().optional(),
  /** Those of a user's message, of which the text has the labels. */
  files: MessageFiles.optional(),
});
export type SessionMessage = z.infer<typeof SessionMessage>;

/** Only `cli` and `admin` may name another owner than themselves; left out it is the caller. */
const Owner = CallerName.optional();
const SessionLabel = z.string().trim().min(1).max(128);

const UnknownSession = { data: z.object({ session: z.string() }) };

export const listSessions = rpc({
  subject: "yard.rpc.{caller}.sessions.list",
  summary: "Lists the caller's sessions, the one used last first.",
  role: "viewer",
  request: z.strictObject({
    kinds: z.array(SessionKind).min(1).optional(),
    /** Part of the key, the label or the title, in any case. */
    search: z.string().min(1).max(128).optional(),
    /** Returns only sessions that were used within so many minutes. */
    activeMinutes: z.int().min(1).optional(),
    limit: z.int().min(1).max(200).default(50),
    /** The number of the last messages of each session in the reply, without those of tools. */
    messageLimit: z.int().min(0).max(20).default(0),
    cursor: ListCursor.optional(),
    owner: Owner,
    /** Includes the sessions of every owner; for `cli` and `admin`, for others only their own. */
    all: z.boolean().default(false),
  }),
  reply: z.object({
    count: z.int().nonnegative(),
    sessions: z.array(Session.extend({ history: z.array(SessionMessage).optional() })),
    next: NextCursor,
  }),
  errors: { store_unavailable: storeUnavailable },
});

export const getSession = rpc({
  subject: "yard.rpc.{caller}.sessions.get",
  summary: "Returns one session: its settings, its cost and its run in progress.",
  role: "viewer",
  request: z.strictObject({ session: SessionRef, owner: Owner }),
  reply: z.object({ session: Session }),
  errors: { unknown_session: UnknownSession, store_unavailable: storeUnavailable },
});

export const sessionHistory = rpc({
  subject: "yard.rpc.{caller}.sessions.history",
  summary: "Returns the last messages of a session.",
  role: "viewer",
  request: z.strictObject({
    session: SessionRef,
    owner: Owner,
    limit: z.int().min(1).max(1_000).default(200),
    includeTools: z.boolean().default(false),
  }),
  reply: z.object({
    sessionId: SessionId,
    sessionKey: SessionKey,
    messages: z.array(SessionMessage),
    /** True when messages are missing that the session has or had. */
    truncated: z.boolean(),
    droppedMessages: z.int().nonnegative(),
    contentTruncated: z.boolean(),
    contentRedacted: z.boolean(),
    /** The size of the messages as JSON; at most 81,920. */
    bytes: z.int().nonnegative(),
  }),
  errors: { unknown_session: UnknownSession, store_unavailable: storeUnavailable },
});

/**
 * Sends a message to a session. The session is made when the key is new and an agent is named. With `timeoutSeconds` above 0 the reply has
 * the answer, when it comes in time; the run continues in any case.
 */
export const sendToSession = rpc({
  subject: "yard.rpc.{caller}.sessions.send",
  summary: "Sends a message to a session, and may wait for the answer.",
  role: "operator",
  request: z
    .strictObject({
      session: SessionRef.optional(),
      label: SessionLabel.optional(),
      owner: Owner,
      /** May be empty where there are files. */
      message: SteerMessage.or(z.literal("")),
      /** As `files.put` returned them. With files it is a run of its own, too. */
      files: MessageFiles.optional(),
      /** Left out: the session's. */
      agent: AgentName.optional(),
      /** With a model, as with `skill`, it is a run of its own. */
      model: ModelName.optional(),
      thinking: ThinkingLevel.optional(),
      /**
       * A skill to activate, with the message as its argument line; blanks are none. It is a run of its own: where a message would be added
       * to the run that is under way, this one waits.
       */
      skill: SkillName.optional(),
      /** The limits of the run; with them it is one of its own, too. */
      limits: RunLimits.optional(),
      /** All skills that the session switches off from now on; left out: unchanged. */
      skillsOff: SkillsOff.optional(),
      onBusy: BusyPolicy.optional(),
      timeoutSeconds: z.int().min(0).max(300).default(0),
      /** The id of the run; the same id again is the same message. */
      runId: RunId.optional(),
      /** Accepted from the toolbox alone; with it the run is one of its own, too. */
      followUp: RunFollowUp.optional(),
      /** The run that sends the message. Accepted from the toolbox alone; with it the run is one of its own, too. */
      sender: RunSender.optional(),
    })
    .refine(({ session, label }) => session === undefined || label === undefined, {
      error: "Provide either session or label (not both).",
    })
    .refine(({ session, label }) => session !== undefined || label !== undefined, {
      error: "Either session or label is required",
    })
    .refine(({ message, files }) => message !== "" || files !== undefined, {
      path: ["message"],
      error: "must not be empty, unless there are files",
    }),
  reply: z.object({
    /** `accepted`: it was not waited for. `timeout`: the run continues. `error`: it ended without an answer. */
    status: z.enum(["accepted", "ok", "timeout", "error"]),
    sessionId: SessionId,
    sessionKey: SessionKey,
    /** The run that answers: for a message that became part of another run, that one. */
    runId: RunId,
    placed: z.enum(["started", "queued", "steered"]),
    reply: z.string().optional(),
    error: RunFailure.optional(),
  }),
  errors: {
    unknown_session: UnknownSession,
    /** A new session needs an agent. */
    agent_required: UnknownSession,
    /** A run is under way, and the message asked to be rejected then. */
    session_busy: { data: z.object({ session: z.string(), activeRun: RunId }), retryable: true },
    session_queue_full: {
      data: z.object({ session: z.string(), limit: z.int() }),
      retryable: true,
    },
    too_many_sessions: { data: z.object({ limit: z.int() }) },
    /** The run id belongs to something else. */
    run_id_taken: { data: z.object({ runId: z.string() }) },
    /** Only the toolbox may set the action after a run. */
    not_allowed: { data: z.object({ field: z.string() }) },
    /** With a `runId`, the same message again is no other one. */
    store_unavailable: storeUnsure,
  },
  timeoutMs: 40_000,
});

export const patchSession = rpc({
  subject: "yard.rpc.{caller}.sessions.patch",
  summary: "Changes the label and the settings of a session.",
  role: "operator",
  request: z.strictObject({
    session: SessionRef,
    owner: Owner,
    /** Null removes it. */
    label: SessionLabel.nullable().optional(),
    kind: SessionKind.optional(),
    onBusy: BusyPolicy.optional(),
    agent: AgentName.optional(),
    /** Null: the agent's own again. */
    model: ModelName.nullable().optional(),
    /** All of them; with an empty list every skill is on again. Runs that are under way keep the setting with which they began. */
    skillsOff: SkillsOff.optional(),
    /** The session's `version`. */
    ifVersion: IfVersion,
  }),
  reply: z.object({ session: Session }),
  errors: {
    unknown_session: UnknownSession,
    version_changed: versionChanged,
    /** Another session of the owner has the label. */
    label_taken: { data: z.object({ label: z.string(), session: z.string() }) },
    /** No configured provider has it. */
    unknown_model: { data: z.object({ model: ModelName }) },
    store_unavailable: storeUnavailable,
  },
});

export const resetSession = rpc({
  subject: "yard.rpc.{caller}.sessions.reset",
  summary: "Deletes the history of a session and cancels its run; name and settings stay.",
  role: "operator",
  request: z.strictObject({ session: SessionRef, owner: Owner }),
  reply: z.object({
    session: Session,
    endedSessionId: SessionId,
    cancelledRun: RunId.nullable(),
    droppedRuns: z.array(RunId),
  }),
  errors: { unknown_session: UnknownSession, store_unavailable: storeUnsure },
});

export const deleteSession = rpc({
  subject: "yard.rpc.{caller}.sessions.delete",
  summary: "Ends and deletes a session; its run is cancelled.",
  role: "operator",
  request: z.strictObject({
    session: SessionRef,
    owner: Owner,
    /** The session's `version`. */
    ifVersion: IfVersion,
  }),
  reply: z.object({
    sessionId: SessionId,
    sessionKey: SessionKey,
    cancelledRun: RunId.nullable(),
    droppedRuns: z.array(RunId),
  }),
  errors: {
    unknown_session: UnknownSession,
    version_changed: versionChanged,
    store_unavailable: storeUnavailable,
  },
});

/**
 * Notifies the runners that a run has its turn in a session. The message and its author are in the session's own record, so one too many
 * changes nothing.
 */
export const proceedSession = command({
  subject: "yard.cmd.{caller}.run.proceed.{sessionId}",
  summary: "Requests work on the next run of a session.",
  payload: z.strictObject({ runId: RunId }),
});
