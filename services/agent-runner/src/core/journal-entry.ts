import { MessageFiles } from "@switchyard/contracts/agent-runner/content-parts";
import { AgentName, CallerName, ModelName, RunId, Timestamp } from "@switchyard/contracts/ids";
import { Decision } from "@switchyard/contracts/policy/policy";
import { StopInForce } from "@switchyard/contracts/policy/policy-budgets";
import { ReachedLimit, Answer, AnswerSchema } from "@switchyard/contracts/agent-runner/run-waits";
import {
  Cancellation,
  RunFailure,
  RunLimits,
  UnavailableServer,
  Usage,
} from "@switchyard/contracts/agent-runner/runs";
import { z } from "zod";
import { AnswerPart, CallId, FinishReason, SkillRef } from "./answer-part.ts";
import { ToolNarrowing } from "./tool-narrowing.ts";
import { StartedEntry } from "./started-entry.ts";

/** The reason that a call waits; `until` is the time from which the run continues without it. */
export const Wait = z.discriminatedUnion("reason", [
  z.object({
    reason: z.literal("approval"),
    approvalId: z.string(),
    until: Timestamp,
    /** Set when it is for the repeat of a call whose outcome is unknown. */
    again: z.boolean().optional(),
  }),
  z.object({
    reason: z.literal("question"),
    question: z.string(),
    options: z.array(z.string()),
    schema: AnswerSchema.optional(),
    until: Timestamp,
    /** Set when the question is whether to repeat a call whose outcome is unknown. */
    about: z.literal("outcome").optional(),
  }),
  z.object({ reason: z.literal("child"), childRunId: RunId, until: z.null() }),
  z.object({ reason: z.literal("timer"), until: Timestamp }),
]);
export type Wait = z.infer<typeof Wait>;

/** The event that ended a wait. `look`: something happened, and the service that was waited for has the details. */
export const Resolution = z.discriminatedUnion("type", [
  z.object({ type: z.literal("answer"), answer: Answer, by: CallerName }),
  z.object({ type: z.literal("look") }),
]);
export type Resolution = z.infer<typeof Resolution>;

/**
 * The facts of a run, one an entry, in the order in which they happened. A run consists only of its journal:
 * the conversation, the events and the position to resume from are all computed from it. Each step writes only its new facts,
 * never the conversation so far.
 */

const at = Timestamp;
const callId = CallId;

/**
 * The run is to be cancelled. The replica that receives the command writes it, not the holder of the run; after it no model or
 * tool call begins.
 */
const CancelRequestedEntry = z.object({
  kind: z.literal("cancel-requested"),
  at,
  ...Cancellation.shape,
});

/** A run that has failed or was cancelled resumes. */
const RetriedEntry = z.object({
  kind: z.literal("retried"),
  at,
  by: CallerName,
  /** Only the limits that the command names. */
  limits: RunLimits,
  streamSequence: z.int().positive(),
});

/** Written by the replica that delivers the answer or the notification, like the two below. */
const WaitResolvedEntry = z.object({
  kind: z.literal("wait-resolved"),
  at,
  callId,
  resolution: Resolution,
});

const ChildEndedEntry = z.object({
  kind: z.literal("child-ended"),
  at,
  callId,
  childRunId: RunId,
  status: z.enum(["succeeded", "failed", "cancelled", "dead"]),
  /** The child's output, or the reason of its failure. */
  text: z.string(),
});

const SteeredEntry = z.object({
  kind: z.literal("steered"),
  at,
  by: CallerName,
  message: z.string(),
  /** Position of the command in its stream; missing when it was not a command. */
  streamSequence: z.int().positive().optional(),
});

/** Usage of answers that broke off before this entry and are not part of the run; missing: none. */
const discarded = z
  .object({ usage: Usage, costUsd: z.number().nonnegative().nullable() })
  .optional();

/** The run waits for other limits, or for the time at which the limit's period restarts. */
const LimitReachedEntry = z.object({
  kind: z.literal("limit-reached"),
  at,
  ...ReachedLimit.shape,
  until: Timestamp.nullable(),
  discarded,
});

/** An administrator stopped the run: it waits until the stop is lifted, or the run is cancelled. */
const StoppedEntry = z.object({ kind: z.literal("stopped"), at, ...StopInForce.shape });

/** Written by the runner that finds the stop lifted. Another stop may be in force: the policy refuses the next request then. */
const StopLiftedEntry = z.object({ kind: z.literal("stop-lifted"), at });

/** A user resumed the run, with other limits or the same. Only the limits that the command names are here. */
const LimitsChangedEntry = z.object({
  kind: z.literal("limits-changed"),
  at,
  by: CallerName,
  limits: RunLimits,
  streamSequence: z.int().positive(),
});

export const JournalEntry = z.discriminatedUnion("kind", [
  StartedEntry,
  /** A runner took the run over from one that did not finish it. */
  z.object({
    kind: z.literal("resumed"),
    at,
    attempt: z.int().positive(),
    journalEntries: z.int(),
  }),
  /** More tools were allowed than a model is shown. */
  z.object({
    kind: z.literal("tools-left-out"),
    at,
    offered: z.int(),
    leftOut: z.array(z.string()),
  }),
  /** Tools that the run may use could not be had; none any more when there is no server. */
  z.object({ kind: z.literal("tools-unavailable"), at, servers: z.array(UnavailableServer) }),
  z.object({
    kind: z.literal("model-responded"),
    at,
    step: z.int().positive(),
    content: z.array(AnswerPart),
    usage: Usage,
    finishReason: FinishReason,
    /** The model that answered, as the provider names it. */
    servedModel: z.string(),
    /** The model that was called, by its name in the configuration; missing in older journals: the run's. */
    model: ModelName.optional(),
    /** In US dollars; null when the price is not known; missing in older journals. */
    costUsd: z.number().nonnegative().nullable().optional(),
    /** Models that were to answer first and could not. */
    passedOver: z.array(z.object({ model: ModelName, message: z.string() })).optional(),
    durationMs: z.number().nonnegative(),
    /** Messages that a coding CLI sent with the run's tools, as its file of side effects lists them at its exit; missing: none. */
    sent: z
      .array(
        z.object({
          text: z.string(),
          provider: z.string(),
          accountId: z.string().optional(),
          to: z.string().optional(),
          threadId: z.string().optional(),
        }),
      )
      .optional(),
    /** The number of the run's messages that the model had received; missing: none. */
    heard: z.int().nonnegative().optional(),
    /** Digests of the tools that were new or changed in the model's request, by name. */
    shown: z.record(z.string(), z.string()).optional(),
    discarded,
  }),
  /** A summary replaces the first `upTo` answers from here on, because the model's window is nearly full. */
  z.object({
    kind: z.literal("compacted"),
    at,
    upTo: z.int().nonnegative(),
    /** True when it also replaces the messages of its session before the run; missing: it does not. */
    isOfSession: z.boolean().optional(),
    summary: z.string(),
    usage: Usage,
    model: ModelName,
    costUsd: z.number().nonnegative().nullable(),
    discarded,
  }),
  /** The call is about to be sent. From here on it may have happened. */
  z.object({ kind: z.literal("tool-dispatched"), at, callId }),
  /** It was not sent after all: the runner that was about to do so left the run before. */
  z.object({ kind: z.literal("tool-unsent"), at, callId }),
  z.object({
    kind: z.literal("tool-completed"),
    at,
    callId,
    /** Cut to the stored size of a result; a model observes a part of it at a time. */
    text: z.string(),
    /** Size of the whole text. */
    textBytes: z.int().nonnegative(),
    isError: z.boolean(),
    decision: Decision.nullable(),
    durationMs: z.number().nonnegative(),
    replayed: z.boolean(),
    /** Set when the call activated a skill. */
    skill: SkillRef.nullable(),
    /** The tools that the run may call from then on, when that skill removes tools. */
    narrowing: ToolNarrowing.optional(),
    /** Set when the call found tools, which can be called from then on, with the digests of their descriptions in the result. */
    found: z.array(z.string()).optional(),
    shown: z.record(z.string(), z.string()).optional(),
    /** Images, sounds and other files of the result. */
    files: MessageFiles.optional(),
  }),
  z.object({ kind: z.literal("tool-denied"), at, callId, decision: Decision }),
  z.object({ kind: z.literal("tool-failed"), at, callId, code: z.string(), message: z.string() }),
  /** The call waits, and a runner need not. */
  z.object({ kind: z.literal("tool-parked"), at, callId, wait: Wait }),
  /** Every open call waits: the run is released until one of them need not. */
  z.object({ kind: z.literal("waiting"), at, until: Timestamp.nullable() }),
  /** A runner has taken the run again. */
  z.object({ kind: z.literal("woken"), at, attempt: z.int().positive() }),
  /** A run that works for this one is about to be started. */
  z.object({
    kind: z.literal("child-started"),
    at,
    callId,
    childRunId: RunId,
    agent: AgentName,
    /** The policy's, for a child of the tool `agent`; missing in older journals. */
    decision: Decision.optional(),
  }),
  /** A skill maps directly to a tool: this is the run's only step, and no model made it. */
  z.object({ kind: z.literal("skill-dispatched"), at, callId }),
  WaitResolvedEntry,
  ChildEndedEntry,
  SteeredEntry,
  StoppedEntry,
  StopLiftedEntry,
  LimitReachedEntry,
  LimitsChangedEntry,
  z.object({ kind: z.literal("finished"), at, output: z.string() }),
  z.object({ kind: z.literal("failed"), at, failure: RunFailure, discarded }),
  /** Several runners in a row died while they worked on the run; a retry resumes it. */
  z.object({ kind: z.literal("dead"), at, failure: RunFailure }),
  CancelRequestedEntry,
  /** The end of a run that was to be cancelled; every call has a result. */
  z.object({ kind: z.literal("cancelled"), at, discarded }),
  RetriedEntry,
]);

export type JournalEntry = z.infer<typeof JournalEntry>;

export type EntryOf<K extends JournalEntry["kind"]> = Extract<JournalEntry, { kind: K }>;
/** An entry whose time is set when it is written. */
export type WithoutTime<E> = E extends unknown ? Omit<E, "at"> : never;
