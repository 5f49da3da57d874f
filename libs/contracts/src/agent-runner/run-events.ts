import { z } from "zod";
import { event, live } from "../define.ts";
import {
  AgentName,
  CallerName,
  Digest,
  ModelName,
  RunId,
  SkillName,
  Timestamp,
  ToolName,
} from "../ids.ts";
import { Decision } from "../policy/policy.ts";
import { AnswerSchema, RunWait } from "./run-waits.ts";
import { RunFailure, Usage, Cancellation, OnLimit, UnavailableServer } from "./runs.ts";
import { SessionId, SessionKey } from "./session-key.ts";

/** A field of an event that is not complete: a long text is cut, and secrets are redacted. */
const AbridgedText = z.object({
  field: z.string(),
  /** The size of the whole text, or of its JSON when it is not text; the digest is SHA-256. */
  bytes: z.int().nonnegative(),
  digest: Digest,
});
export type AbridgedText = z.infer<typeof AbridgedText>;

/**
 * The fields that every run event carries. `seq` counts the events of one run from 1, without a gap. A text has at most 4 KiB, `output` and
 * `text` 16 KiB, a preview 1 KiB; `abridged` names the fields that are complete only in the journal (`runs.get`).
 */
const RunEvent = z.object({
  runId: RunId,
  seq: z.int().positive(),
  at: Timestamp,
  abridged: z.array(AbridgedText).max(20).optional(),
});

const Step = z.int().positive();
/** The cost of all model calls, in US dollars; null when the price of a model is unknown. */
const CostSoFar = {
  costUsd: z.number().nonnegative().nullable().optional(),
  /** Missing in events of versions that did not list it. */
  usage: Usage.optional(),
};
const CallId = z.string();

export const runStarted = event({
  subject: "yard.evt.run.{owner}.{runId}.started",
  summary: "A runner took a new run.",
  payload: RunEvent.extend({
    agent: AgentName,
    agentDigest: Digest,
    /** The digest of the policy that the run begins under. */
    policyDigest: Digest.optional(),
    requester: CallerName,
    model: ModelName,
    labels: z.record(z.string(), z.string()),
    /** Set for a run that works for another one, and for one that was copied. */
    parent: z.object({ runId: RunId, callId: CallId }).optional(),
    forkedFrom: z.object({ runId: RunId, fromStep: z.int().positive() }).optional(),
    /** True for a run that plays a recording. */
    replayed: z.boolean().optional(),
    /** The conversation that it belongs to. */
    session: z.object({ sessionId: SessionId, key: SessionKey }).optional(),
  }),
});

/** It has no `seq`: there is no run yet. */
export const runQueued = event({
  subject: "yard.evt.run.{owner}.{runId}.queued",
  summary: "A run waits until another run of its session has ended.",
  payload: z.object({
    runId: RunId,
    at: Timestamp,
    sessionId: SessionId,
    sessionKey: SessionKey,
    position: z.int().positive(),
  }),
});

/** It has no `seq`: there is no run yet. Published once, however long the service is away. */
export const runDelayed = event({
  subject: "yard.evt.run.{owner}.{runId}.delayed",
  summary: "A command cannot become a run yet, because a service that a run needs is away.",
  payload: z.object({
    runId: RunId,
    at: Timestamp,
    /** The failed action, such as the request that got no answer. */
    reason: z.string(),
  }),
});

/** It has no `seq`: there is no run under this id, and there will be none. */
export const runMerged = event({
  subject: "yard.evt.run.{owner}.{runId}.merged",
  summary: "A message became part of the run of its session that is in progress.",
  payload: z.object({
    runId: RunId,
    at: Timestamp,
    sessionId: SessionId,
    sessionKey: SessionKey,
    /** The run whose answer has the message in it. */
    into: RunId,
  }),
});

export const runResumed = event({
  subject: "yard.evt.run.{owner}.{runId}.resumed",
  summary: "A runner took over a run that another one did not finish.",
  payload: RunEvent.extend({ attempt: z.int().positive(), journalEntries: z.int().nonnegative() }),
});

export const runToolsUnavailable = event({
  subject: "yard.evt.run.{owner}.{runId}.tools-unavailable",
  summary: "Tools of MCP servers that a run may use are not available to it.",
  payload: RunEvent.extend({
    /** All unavailable servers at this time; empty when there are none any more. */
    servers: z.array(UnavailableServer),
  }),
});

export const skillActivated = event({
  subject: "yard.evt.run.{owner}.{runId}.skill-activated",
  summary: "A skill's text became part of the run.",
  payload: RunEvent.extend({ skill: SkillName, digest: Digest }),
});

export const modelResponded = event({
  subject: "yard.evt.run.{owner}.{runId}.model-responded",
  summary: "One model call ended.",
  payload: RunEvent.extend({
    step: Step,
    /** The model that was called; its name shows when it is the scripted one. */
    model: ModelName,
    text: z.string(),
    toolCalls: z.int().nonnegative(),
    usage: Usage,
    durationMs: z.number().nonnegative(),
    /** In US dollars; null when the price of the model is unknown. */
    costUsd: z.number().nonnegative().nullable().optional(),
    /** Models of higher preference that could not answer; missing: none. */
    passedOver: z.array(z.object({ model: ModelName, message: z.string() })).optional(),
  }),
});

export const toolRequested = event({
  subject: "yard.evt.run.{owner}.{runId}.tool-requested",
  summary: "The model asked for a tool call.",
  payload: RunEvent.extend({
    step: Step,
    callId: CallId,
    tool: z.string(),
    /** JSON of the arguments with secrets redacted, cut to 1 KiB. */
    argsPreview: z.string(),
    argsDigest: Digest,
  }),
});

export const toolCompleted = event({
  subject: "yard.evt.run.{owner}.{runId}.tool-completed",
  summary: "A tool call was allowed and has a result; `isError` is the tool's own verdict.",
  payload: RunEvent.extend({
    step: Step,
    callId: CallId,
    tool: ToolName,
    isError: z.boolean(),
    /** Null for tools of the runner itself, which touch nothing outside the run. */
    decision: Decision.nullable(),
    /** First part of the result's text, cut to 1 KiB. */
    preview: z.string(),
    textBytes: z.int().nonnegative(),
    durationMs: z.number().nonnegative(),
    replayed: z.boolean(),
  }),
});

export const toolDenied = event({
  subject: "yard.evt.run.{owner}.{runId}.tool-denied",
  summary: "The policy denied a tool call; nothing was executed.",
  payload: RunEvent.extend({ step: Step, callId: CallId, tool: z.string(), decision: Decision }),
});

export const toolFailed = event({
  subject: "yard.evt.run.{owner}.{runId}.tool-failed",
  summary: "A tool call ended without a result; the model gets the error.",
  payload: RunEvent.extend({
    step: Step,
    callId: CallId,
    tool: z.string(),
    code: z.string(),
    message: z.string(),
  }),
});

export const runFinished = event({
  subject: "yard.evt.run.{owner}.{runId}.finished",
  summary: "A run succeeded.",
  payload: RunEvent.extend({
    output: z.string(),
    model: ModelName,
    steps: z.int().nonnegative(),
    toolCalls: z.int().nonnegative(),
    /** Counts the calls that the policy, or a person, denied; it is absent when none was. */
    deniedCalls: z.int().positive().optional(),
    usage: Usage,
    durationMs: z.number().nonnegative(),
    costUsd: z.number().nonnegative().nullable().optional(),
  }),
});

export const runFailed = event({
  subject: "yard.evt.run.{owner}.{runId}.failed",
  summary: "A run ended without an answer.",
  payload: RunEvent.extend({
    failure: RunFailure,
    steps: z.int().nonnegative(),
    ...CostSoFar,
  }),
});

export const runCancelled = event({
  subject: "yard.evt.run.{owner}.{runId}.cancelled",
  summary: "A run ended because it was cancelled.",
  payload: RunEvent.extend({
    ...Cancellation.shape,
    steps: z.int().nonnegative(),
    ...CostSoFar,
  }),
});

/** The limits that a run has from now on. */
const LimitsInForce = z.object({
  maxSteps: z.int(),
  maxToolCalls: z.int().nullable(),
  maxTokens: z.int().optional(),
  maxCostUsd: z.number().optional(),
  maxRepeatedCalls: z.int().optional(),
  timeoutMs: z.int(),
  onLimit: OnLimit.optional(),
});

export const runRetried = event({
  subject: "yard.evt.run.{owner}.{runId}.retried",
  summary: "A failed, cancelled or dead run continues.",
  payload: RunEvent.extend({
    by: CallerName,
    limits: LimitsInForce,
    /** Position of the command in its stream, as the publisher received it. */
    streamSequence: z.int().positive(),
  }),
});

export const runLimitsChanged = event({
  subject: "yard.evt.run.{owner}.{runId}.limits-changed",
  summary: "A run has other limits; one that waited at a limit continues.",
  payload: RunEvent.extend({
    by: CallerName,
    limits: LimitsInForce,
    /** Position of the command in its stream, as the publisher received it. */
    streamSequence: z.int().positive(),
  }),
});

export const runWaiting = event({
  subject: "yard.evt.run.{owner}.{runId}.waiting",
  summary: "A run waits and no runner holds it.",
  payload: RunEvent.extend({
    waits: z.array(RunWait),
    /** The time at which it continues without a command; null: never. */
    until: Timestamp.nullable(),
  }),
});

export const runWoken = event({
  subject: "yard.evt.run.{owner}.{runId}.woken",
  summary: "A runner took a run that had waited.",
  payload: RunEvent.extend({ attempt: z.int().positive() }),
});

export const questionRequested = event({
  subject: "yard.evt.run.{owner}.{runId}.question-requested",
  summary: "A run asks people a question and waits for `runs.answer`.",
  payload: RunEvent.extend({
    callId: CallId,
    question: z.string(),
    options: z.array(z.string()),
    schema: AnswerSchema.optional(),
    until: Timestamp,
  }),
});

export const questionAnswered = event({
  subject: "yard.evt.run.{owner}.{runId}.question-answered",
  summary: "A question of a run was answered; the answer is not in the event.",
  payload: RunEvent.extend({ callId: CallId, by: CallerName }),
});

export const childStarted = event({
  subject: "yard.evt.run.{owner}.{runId}.child-started",
  summary: "A run started a child run.",
  payload: RunEvent.extend({ callId: CallId, childRunId: RunId, agent: AgentName }),
});

export const childEnded = event({
  subject: "yard.evt.run.{owner}.{runId}.child-ended",
  summary: "The end of a child run reached its parent.",
  payload: RunEvent.extend({ callId: CallId, childRunId: RunId, status: z.string() }),
});

export const runSteered = event({
  subject: "yard.evt.run.{owner}.{runId}.steered",
  summary: "A message was added to the next step of a run.",
  payload: RunEvent.extend({
    by: CallerName,
    /** First part of the message, cut to 1 KiB. */
    preview: z.string(),
    /** Position of the command in its stream, as the publisher received it; missing when it was not a command. */
    streamSequence: z.int().positive().optional(),
  }),
});

export const runDead = event({
  subject: "yard.evt.run.{owner}.{runId}.dead",
  summary: "A run killed its runners and was stopped; it can be retried.",
  payload: RunEvent.extend({
    failure: RunFailure,
    steps: z.int().nonnegative(),
    ...CostSoFar,
  }),
});

/** A command that cannot become a run. It has no `seq`: there is no run. */
export const runRejected = event({
  subject: "yard.evt.run.{owner}.{runId}.rejected",
  summary: "A run command was refused; it will not be tried again.",
  payload: z.object({
    runId: RunId,
    /** The subject that the command was published on. */
    subject: z.string(),
    caller: z.string(),
    /** `malformed_json`, `invalid_command`, `unknown_command`, `unknown_agent`, `unknown_skill`, `unknown_model`, `run_id_taken`, `not_allowed`, `unknown_run`, `run_succeeded`, `run_not_ended`, … */
    code: z.string(),
    message: z.string(),
    /** One line per problem: the path in the payload and the problem. */
    problems: z.array(z.string()).max(20),
    /** Sequence of the command in its stream, 0 for a request; and its `Nats-Msg-Id` when it had one. */
    streamSequence: z.int().nonnegative(),
    messageId: z.string().nullable(),
    at: Timestamp,
  }),
});

/**
 * Text as the model writes it, at most 16 KiB of a step and with secrets redacted, for which the last words are held back a little. Lossy:
 * every fact here is repeated by an event.
 */
export const runLive = live({
  subject: "yard.live.run.{owner}.{runId}",
  summary: "Text deltas of a running model call.",
  payload: z.object({
    runId: RunId,
    step: Step,
    delta: z.string(),
    /** `reset-step`: the call is made again, and the text of this step so far is void. */
    kind: z.enum(["delta", "reset-step"]).optional(),
  }),
});

/** Every event of a run, in the order in which they can occur. */
export const runEvents = [
  runRejected,
  runQueued,
  runDelayed,
  runMerged,
  runStarted,
  runResumed,
  runToolsUnavailable,
  skillActivated,
  modelResponded,
  toolRequested,
  toolCompleted,
  toolDenied,
  toolFailed,
  runFinished,
  runFailed,
  runCancelled,
  runRetried,
  runLimitsChanged,
  runWaiting,
  runWoken,
  questionRequested,
  questionAnswered,
  childStarted,
  childEnded,
  runSteered,
  runDead,
] as const;

/** The events after which a run does nothing more, unless it is retried. */
export const runEnds = [runFinished, runFailed, runCancelled, runDead] as const;
