import { z } from "zod";
import { command, event, live, rpc } from "./define.ts";
import {
  AgentName,
  CallerName,
  Digest,
  ModelName,
  RunId,
  SkillName,
  Timestamp,
  ToolName,
} from "./ids.ts";
import { Decision } from "./policy.ts";

/** The text or the JSON object that a run works on. */
export const RunInput = z.union([z.string().min(1), z.record(z.string(), z.unknown())]);
export type RunInput = z.infer<typeof RunInput>;

export const RunLimits = z.strictObject({
  /** Model calls. */
  maxSteps: z.int().min(1).max(1_000).optional(),
  maxToolCalls: z.int().min(0).max(10_000).optional(),
  /** Wall-clock time from the first start, in milliseconds. */
  timeoutMs: z.int().min(1_000).max(86_400_000).optional(),
});
export type RunLimits = z.infer<typeof RunLimits>;

/**
 * Starts a run. Any client that may publish here can send it: the body is plain JSON and no header
 * is needed. A repeated `runId` is the same run. What does not fit the schema, an unknown field
 * included, is answered by a `run.rejected` event.
 */
export const startRun = command({
  subject: "yard.cmd.{caller}.run.start.{agent}",
  summary: "Starts a run of an agent.",
  payload: z.strictObject({
    input: RunInput,
    /** Made by the runner when it is left out; the rejected and started events carry it. */
    runId: RunId.optional(),
    /** A skill to activate before the first step. */
    skill: SkillName.optional(),
    model: ModelName.optional(),
    limits: RunLimits.optional(),
    labels: z.record(z.string().max(64), z.string().max(256)).optional(),
  }),
});
export type StartRun = z.infer<typeof startRun.payload>;

export const RunStatus = z.enum(["queued", "running", "succeeded", "failed"]);
export type RunStatus = z.infer<typeof RunStatus>;

export const Usage = z.object({
  inputTokens: z.int().nonnegative(),
  outputTokens: z.int().nonnegative(),
});
export type Usage = z.infer<typeof Usage>;

export const RunFailure = z.object({
  /** `unknown_agent`, `model_error`, `limit_exceeded`, `internal`, … */
  code: z.string(),
  message: z.string(),
});
export type RunFailure = z.infer<typeof RunFailure>;

export const RunSummary = z.object({
  runId: RunId,
  agent: AgentName,
  requester: CallerName,
  model: ModelName,
  status: RunStatus,
  steps: z.int().nonnegative(),
  toolCalls: z.int().nonnegative(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
  /** How often a runner picked the run up. */
  attempts: z.int().positive(),
  labels: z.record(z.string(), z.string()),
});
export type RunSummary = z.infer<typeof RunSummary>;

export const RunDetail = RunSummary.extend({
  input: RunInput,
  output: z.string().nullable(),
  failure: RunFailure.nullable(),
  usage: Usage,
  agentDigest: Digest,
  skills: z.array(z.object({ name: SkillName, digest: Digest })),
});
export type RunDetail = z.infer<typeof RunDetail>;

export const listRuns = rpc({
  subject: "yard.rpc.{caller}.runs.list",
  summary: "Lists runs, newest first.",
  request: z.strictObject({
    limit: z.int().min(1).max(200).default(20),
    agent: AgentName.optional(),
    status: RunStatus.optional(),
  }),
  reply: z.object({ runs: z.array(RunSummary) }),
});

export const getRun = rpc({
  subject: "yard.rpc.{caller}.runs.get",
  summary: "Returns one run with its input, output and cost.",
  request: z.strictObject({ runId: RunId }),
  reply: z.object({ run: RunDetail }),
  errors: { unknown_run: { data: z.object({ runId: z.string() }) } },
});

/** What every run event carries. `seq` counts the events of one run from 1, without a gap. */
const RunEvent = z.object({ runId: RunId, seq: z.int().positive(), at: Timestamp });

const Step = z.int().positive();
const CallId = z.string();

export const runStarted = event({
  subject: "yard.evt.run.{runId}.started",
  summary: "A runner took a new run.",
  payload: RunEvent.extend({
    agent: AgentName,
    agentDigest: Digest,
    requester: CallerName,
    model: ModelName,
    labels: z.record(z.string(), z.string()),
  }),
});

export const runResumed = event({
  subject: "yard.evt.run.{runId}.resumed",
  summary: "A runner took over a run that another one did not finish.",
  payload: RunEvent.extend({ attempt: z.int().positive(), journalEntries: z.int().nonnegative() }),
});

export const skillActivated = event({
  subject: "yard.evt.run.{runId}.skill-activated",
  summary: "A skill's text became part of the run.",
  payload: RunEvent.extend({ skill: SkillName, digest: Digest }),
});

export const modelResponded = event({
  subject: "yard.evt.run.{runId}.model-responded",
  summary: "One model call ended.",
  payload: RunEvent.extend({
    step: Step,
    /** The model that was asked, and says plainly when it is the scripted one. */
    model: ModelName,
    text: z.string(),
    toolCalls: z.int().nonnegative(),
    usage: Usage,
    durationMs: z.number().nonnegative(),
  }),
});

export const toolRequested = event({
  subject: "yard.evt.run.{runId}.tool-requested",
  summary: "The model asked for a tool call.",
  payload: RunEvent.extend({
    step: Step,
    callId: CallId,
    tool: z.string(),
    /** JSON of the arguments, cut to 1 KiB. */
    argsPreview: z.string(),
    argsDigest: Digest,
  }),
});

export const toolCompleted = event({
  subject: "yard.evt.run.{runId}.tool-completed",
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
  subject: "yard.evt.run.{runId}.tool-denied",
  summary: "The policy denied a tool call; nothing was executed.",
  payload: RunEvent.extend({ step: Step, callId: CallId, tool: z.string(), decision: Decision }),
});

export const toolFailed = event({
  subject: "yard.evt.run.{runId}.tool-failed",
  summary: "A tool call ended without a result; the model is told the error.",
  payload: RunEvent.extend({
    step: Step,
    callId: CallId,
    tool: z.string(),
    code: z.string(),
    message: z.string(),
  }),
});

export const runFinished = event({
  subject: "yard.evt.run.{runId}.finished",
  summary: "A run succeeded.",
  payload: RunEvent.extend({
    output: z.string(),
    model: ModelName,
    steps: z.int().nonnegative(),
    toolCalls: z.int().nonnegative(),
    usage: Usage,
    durationMs: z.number().nonnegative(),
  }),
});

export const runFailed = event({
  subject: "yard.evt.run.{runId}.failed",
  summary: "A run ended without an answer.",
  payload: RunEvent.extend({ failure: RunFailure, steps: z.int().nonnegative() }),
});

/** A command that cannot become a run. It has no `seq`: there is no run. */
export const runRejected = event({
  subject: "yard.evt.run.{runId}.rejected",
  summary: "A run command was refused; it will not be tried again.",
  payload: z.object({
    runId: RunId,
    /** The subject that the command was published on. */
    subject: z.string(),
    caller: z.string(),
    /** `malformed_json`, `invalid_command`, `unknown_command`, `unknown_agent`, `unknown_skill`, `unknown_model`, `run_id_taken`, … */
    code: z.string(),
    message: z.string(),
    /** One line per problem: path in the payload and what is wrong there. */
    problems: z.array(z.string()).max(20),
    /** Sequence of the command in its stream, and its `Nats-Msg-Id` when it had one. */
    streamSequence: z.int().positive(),
    messageId: z.string().nullable(),
    at: Timestamp,
  }),
});

/** Text as the model writes it. Lossy: every fact here is repeated by an event. */
export const runLive = live({
  subject: "yard.live.run.{runId}",
  summary: "Text deltas of a running model call.",
  payload: z.object({ runId: RunId, step: Step, delta: z.string() }),
});

/** Every event of a run, in the order a run can meet them. */
export const runEvents = [
  runRejected,
  runStarted,
  runResumed,
  skillActivated,
  modelResponded,
  toolRequested,
  toolCompleted,
  toolDenied,
  toolFailed,
  runFinished,
  runFailed,
] as const;
