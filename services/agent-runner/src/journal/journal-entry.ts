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
import { Resolution, Wait } from "./wait.ts";

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

/** A step of another run: its answer and what came of its calls. */
const CopiedTurn = z.object({
  content: z.array(AnswerPart),
  finishReason: FinishReason,
  results: z.array(z.object({ callId, text: z.string(), isError: z.boolean() })),
});
export type CopiedTurn = z.infer<typeof CopiedTurn>;

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
    /** Of all model calls whose price is known, in US dollars; missing: no limit. */
    maxCostUsd: z.number().positive().optional(),
    /** How often the same call may have the same result; missing: no limit. */
    maxRepeatedCalls: z.int().positive().optional(),
    timeoutMs: z.int().positive(),
  }),
  /** Missing in older journals: none, and `fail`. */
  roles: z.array(RoleName).max(MAX_ROLES).optional(),
  onUnknownOutcome: UnknownOutcome.optional(),
  /** Tokens that the model's window holds, as the agent says; missing: what the models file says. */
  contextWindow: z.int().positive().optional(),
  /** JSON Schema of the answer; missing: any text. */
  output: z.record(z.string(), z.unknown()).optional(),
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
  /** How much deeper child runs may nest; missing in older journals: not at all. */
  depthLeft: z.int().nonnegative().optional(),
  /** The run that this one works for, and the call of that run. */
  parent: z.object({ runId: RunId, callId }).optional(),
  /** A run that goes on from a step of another one has that one's steps before it. */
  fork: z
    .object({ runId: RunId, fromStep: z.int().positive(), turns: z.array(CopiedTurn) })
    .optional(),
  /** A skill that stands for one tool: the call is made and no model is asked. */
  dispatch: z.object({ tool: z.string(), input: z.record(z.string(), z.unknown()) }).optional(),
});
export type StartedEntry = z.infer<typeof StartedEntry>;

/**
 * The run is to be cancelled. It is written by whoever takes the command, not by the holder of the
 * run; from here on no model or tool call begins.
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

/** Written by whoever brings the answer or the news, like the two below. */
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
  /** The child's output, or what it failed of. */
  text: z.string(),
});

const SteeredEntry = z.object({
  kind: z.literal("steered"),
  at,
  by: CallerName,
  message: z.string(),
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
    /** The model that was asked, by its name in the configuration; missing in older journals: the run's. */
    model: ModelName.optional(),
    /** In US dollars; null when the price is not known; missing in older journals. */
    costUsd: z.number().nonnegative().nullable().optional(),
    /** Models that were to answer first and could not. */
    passedOver: z.array(z.object({ model: ModelName, message: z.string() })).optional(),
    durationMs: z.number().nonnegative(),
    /** How many of the run's messages the model was given; missing: none. */
    heard: z.int().nonnegative().optional(),
  }),
  /** A summary stands for the first `upTo` answers from now on, because the model's window is nearly full. */
  z.object({
    kind: z.literal("compacted"),
    at,
    upTo: z.int().positive(),
    summary: z.string(),
    usage: Usage,
    model: ModelName,
    costUsd: z.number().nonnegative().nullable(),
  }),
  /** The call is about to be sent. From here on it may have happened. */
  z.object({ kind: z.literal("tool-dispatched"), at, callId }),
  z.object({
    kind: z.literal("tool-completed"),
    at,
    callId,
    /** Cut to what is kept of a result; a model observes a part of it at a time. */
    text: z.string(),
    /** Size of the whole text. */
    textBytes: z.int().nonnegative(),
    isError: z.boolean(),
    decision: Decision.nullable(),
    durationMs: z.number().nonnegative(),
    replayed: z.boolean(),
    /** Set when the call activated a skill. */
    skill: SkillRef.nullable(),
    /** Set when the call found tools: they are offered from the next step on. */
    found: z.array(z.string()).optional(),
  }),
  z.object({ kind: z.literal("tool-denied"), at, callId, decision: Decision }),
  z.object({ kind: z.literal("tool-failed"), at, callId, code: z.string(), message: z.string() }),
  /** The call waits, and a runner need not. */
  z.object({ kind: z.literal("tool-parked"), at, callId, wait: Wait }),
  /** Every open call waits: the run is let go until one of them need not. */
  z.object({ kind: z.literal("waiting"), at, until: Timestamp.nullable() }),
  /** A runner has taken the run again. */
  z.object({ kind: z.literal("woken"), at, attempt: z.int().positive() }),
  /** A run that works for this one is about to be started. */
  z.object({ kind: z.literal("child-started"), at, callId, childRunId: RunId, agent: AgentName }),
  /** A skill stands for a tool: this is the run's only step, and no model made it. */
  z.object({ kind: z.literal("skill-dispatched"), at, callId }),
  WaitResolvedEntry,
  ChildEndedEntry,
  SteeredEntry,
  z.object({ kind: z.literal("finished"), at, output: z.string() }),
  z.object({ kind: z.literal("failed"), at, failure: RunFailure }),
  /** Runners died of the run one after the other; a retry lets it go on. */
  z.object({ kind: z.literal("dead"), at, failure: RunFailure }),
  CancelRequestedEntry,
  /** The end of a run that was to be cancelled; every call has a result. */
  z.object({ kind: z.literal("cancelled"), at }),
  RetriedEntry,
]);
export type JournalEntry = z.infer<typeof JournalEntry>;
export type EntryOf<K extends JournalEntry["kind"]> = Extract<JournalEntry, { kind: K }>;

/** True for entries that bring a run closer to its end; the others may repeat without limit. */
export function isProgress(entry: JournalEntry): boolean {
  return !REPEATABLE.has(entry.kind);
}

const REPEATABLE: ReadonlySet<JournalEntry["kind"]> = new Set([
  "resumed",
  "woken",
  "tools-left-out",
  "tool-dispatched",
  "child-started",
]);

/** True for entries that come from others than the holder of the run. */
export function isForeign({ kind }: JournalEntry): boolean {
  return FOREIGN.has(kind);
}

const FOREIGN: ReadonlySet<JournalEntry["kind"]> = new Set([
  "cancel-requested",
  "wait-resolved",
  "child-ended",
  "steered",
]);

/** True for decisions that must be made again when something came in the meantime. */
export function isRevocable({ kind }: JournalEntry): boolean {
  return kind === "waiting" || kind === "finished";
}

/** True for entries that may follow a request to cancel: results of what was under way, and the end. */
export function mayFollowCancel({ kind }: JournalEntry): boolean {
  return AFTER_CANCEL.has(kind);
}

const AFTER_CANCEL: ReadonlySet<JournalEntry["kind"]> = new Set([
  "resumed",
  "woken",
  "tools-left-out",
  "tool-completed",
  "tool-denied",
  "tool-failed",
  "cancelled",
]);
