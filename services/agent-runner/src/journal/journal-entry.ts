import {
  AgentName,
  CallerName,
  Digest,
  ModelName,
  RunId,
  SkillName,
  Timestamp,
} from "@switchyard/contracts/ids";
import { UnknownOutcome } from "@switchyard/contracts/agents";
import { MAX_ROLES, RoleName } from "@switchyard/contracts/run-token";
import { Plan } from "@switchyard/contracts/plan";
import { Decision } from "@switchyard/contracts/policy";
import { Cancellation, RunFailure, RunInput, RunLimits, Usage } from "@switchyard/contracts/runs";
import { z } from "zod";

/**
 * What a run did, one fact an entry, in the order it happened. A run is nothing but its journal:
 * the conversation, the events, the position to go on from are all computed from it. Only what is
 * new in a step is written, never the conversation so far.
 */

const at = Timestamp;
/** `runId:step:index`, minted once with the model's answer; providers know the call by it for ever. */
const callId = z.string();

export const SkillRef = z.object({ name: SkillName, digest: Digest });
export type SkillRef = z.infer<typeof SkillRef>;

/** Everything that a run is pinned to, so that another runner goes on with the same definition. */
export const StartedEntry = z.object({
  kind: z.literal("started"),
  at,
  runId: RunId,
  agent: AgentName,
  agentDigest: Digest,
  requester: CallerName,
  input: RunInput,
  labels: z.record(z.string(), z.string()),
  model: ModelName,
  temperature: z.number().nullable(),
  /** The system prompt, with preloaded skills and the skill catalogue. */
  instructions: z.string(),
  /** The first user message. */
  prompt: z.string(),
  limits: z.object({
    maxSteps: z.int().positive(),
    maxToolCalls: z.int().nonnegative().nullable(),
    /** Input and output tokens; missing: no limit. */
    maxTokens: z.int().positive().optional(),
    timeoutMs: z.int().positive(),
  }),
  /** Missing in older journals: none, and `fail`. */
  roles: z.array(RoleName).max(MAX_ROLES).optional(),
  onUnknownOutcome: UnknownOutcome.optional(),
  /** Layers of tool patterns for the run token: a tool must pass each of them. */
  toolLayers: z.array(z.array(z.string())),
  /** Skills whose text is in the first messages. */
  skills: z.array(SkillRef),
  /** Skills that the model may activate. */
  catalogue: z.array(SkillRef),
  /** What the list of skills had no room for; missing when all of it fitted. */
  catalogueCut: z.object({ shortened: z.array(SkillName), dropped: z.array(SkillName) }).optional(),
  plan: Plan.nullable(),
  policyDigest: Digest,
});
export type StartedEntry = z.infer<typeof StartedEntry>;

const ProviderOptions = z.record(z.string(), z.record(z.string(), z.unknown()));

/** A part of a model's answer. Provider options carry signatures that the provider wants back. */
export const AnswerPart = z.discriminatedUnion("type", [
  z.object({
    type: z.enum(["text", "reasoning"]),
    text: z.string(),
    providerOptions: ProviderOptions.optional(),
  }),
  z.object({
    type: z.literal("tool-call"),
    callId,
    /** The id by which the conversation joins call and result. */
    toolCallId: z.string(),
    /** The name that the model wrote. */
    tool: z.string(),
    input: z.unknown(),
    providerOptions: ProviderOptions.optional(),
  }),
]);
export type AnswerPart = z.infer<typeof AnswerPart>;
export type ToolCallPart = Extract<AnswerPart, { type: "tool-call" }>;

export const FinishReason = z.enum([
  "stop",
  "length",
  "content-filter",
  "tool-calls",
  "error",
  "other",
]);
export type FinishReason = z.infer<typeof FinishReason>;

/**
 * The run is to be cancelled. The one entry that is written by whoever takes the command, not by
 * the holder of the run; from here on no model or tool call begins.
 */
const CancelRequestedEntry = z.object({
  kind: z.literal("cancel-requested"),
  at,
  ...Cancellation.shape,
});

/** A run that has failed or was cancelled goes on. */
const RetriedEntry = z.object({
  kind: z.literal("retried"),
  at,
  by: CallerName,
  /** Only those that the command names. */
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
  z.object({
    kind: z.literal("model-responded"),
    at,
    step: z.int().positive(),
    content: z.array(AnswerPart),
    usage: Usage,
    finishReason: FinishReason,
    /** The model that answered, as the provider names it. */
    servedModel: z.string(),
    durationMs: z.number().nonnegative(),
  }),
  /** The call is about to be sent. From here on it may have happened. */
  z.object({ kind: z.literal("tool-dispatched"), at, callId }),
  z.object({
    kind: z.literal("tool-completed"),
    at,
    callId,
    /** What the model observes, cut to the observation limit. */
    text: z.string(),
    /** Size of the whole text. */
    textBytes: z.int().nonnegative(),
    isError: z.boolean(),
    decision: Decision.nullable(),
    durationMs: z.number().nonnegative(),
    replayed: z.boolean(),
    /** Set when the call activated a skill. */
    skill: SkillRef.nullable(),
  }),
  z.object({ kind: z.literal("tool-denied"), at, callId, decision: Decision }),
  z.object({ kind: z.literal("tool-failed"), at, callId, code: z.string(), message: z.string() }),
  z.object({ kind: z.literal("finished"), at, output: z.string() }),
  z.object({ kind: z.literal("failed"), at, failure: RunFailure }),
  CancelRequestedEntry,
  /** The end of a run that was to be cancelled; every call has a result. */
  z.object({ kind: z.literal("cancelled"), at }),
  RetriedEntry,
]);
export type JournalEntry = z.infer<typeof JournalEntry>;
export type EntryOf<K extends JournalEntry["kind"]> = Extract<JournalEntry, { kind: K }>;

/** True for entries that bring a run closer to its end; the others may repeat without limit. */
export function isProgress(entry: JournalEntry): boolean {
  return (
    entry.kind !== "resumed" && entry.kind !== "tools-left-out" && entry.kind !== "tool-dispatched"
  );
}

/** True for entries that may follow a request to cancel: results of what was under way, and the end. */
export function mayFollowCancel({ kind }: JournalEntry): boolean {
  return AFTER_CANCEL.has(kind);
}

const AFTER_CANCEL: ReadonlySet<JournalEntry["kind"]> = new Set([
  "resumed",
  "tools-left-out",
  "tool-completed",
  "tool-denied",
  "tool-failed",
  "cancelled",
]);
