import { z } from "zod";
import { ApprovalTier } from "../policy/approval-tier.ts";
import { ContentParts, MAX_INPUT_FILE_BYTES, MAX_INPUT_FILES } from "./content-parts.ts";
import { filesOf } from "./input-text.ts";
import { command, rpc } from "../define.ts";
import {
  AgentName,
  CallerName,
  Digest,
  ModelName,
  RunId,
  ServerId,
  SkillName,
  Timestamp,
} from "../ids.ts";
import { ListCursor, NextCursor } from "../list-cursor.ts";
import { Recording } from "./recording.ts";
import { RunOrigin, SaidOrigin } from "./run-context.ts";
import { RoleName } from "../policy/run-token.ts";
import { ReachedLimit, RunWait, WaitReason } from "./run-waits.ts";
import { Sampling } from "../mcp-broker/sampling.ts";
import { BusyPolicy, SessionId, SessionKey, SessionRef } from "./session-key.ts";
import { storeUnavailable } from "../store-errors.ts";
import { ThinkingLevel } from "./thinking.ts";

/** The input of a run: a text, texts and files, or a JSON object. */
export const RunInput = z.union(
  [z.string().min(1), ContentParts, z.record(z.string(), z.unknown())],
  {
    error:
      "must be a text, a JSON object, or 1-64 parts: texts, and files as POST /files returns them",
  },
);
export type RunInput = z.infer<typeof RunInput>;

/** The most characters of JSON in the input of a new run. Runs of older versions may have more, so only commands are checked. */
export const MAX_INPUT_CHARACTERS = 4 * 1024 ** 2;

/** The input of a new run. */
export const NewRunInput = RunInput.refine(
  (input) =>
    (typeof input === "string" ? input : JSON.stringify(input)).length <= MAX_INPUT_CHARACTERS,
  { error: "must have at most 4 MiB; put larger data where a tool of the agent can read it" },
)
  .refine((input) => filesOf(input).length <= MAX_INPUT_FILES, {
    error: `must have at most ${MAX_INPUT_FILES} files`,
  })
  .refine(
    (input) =>
      filesOf(input).reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) <= MAX_INPUT_FILE_BYTES,
    { error: `must have at most ${MAX_INPUT_FILE_BYTES} bytes of files` },
  );

export const OnLimit = z.enum(["pause", "fail"]);
export type OnLimit = z.infer<typeof OnLimit>;

export const RunLimits = z.strictObject({
  /** Model calls. */
  maxSteps: z.int().min(1).max(1_000).optional(),
  maxToolCalls: z.int().min(0).max(10_000).optional(),
  /** Input and output tokens of all model calls together. */
  maxTokens: z.int().min(1).max(1_000_000_000).optional(),
  /** The limit on the cost of all model calls together; a call of unknown price counts as nothing. */
  maxCostUsd: z.number().positive().max(100_000).optional(),
  /** The number of times that the same call (tool and arguments) may have the same result. */
  maxRepeatedCalls: z.int().min(1).max(10_000).optional(),
  /** Wall-clock time from the first start, in milliseconds. */
  timeoutMs: z.int().min(1_000).max(86_400_000).optional(),
  /** The effect of a reached limit: the run ends, or it waits for `run.resume` with other limits. */
  onLimit: OnLimit.optional(),
});
export type RunLimits = z.infer<typeof RunLimits>;

/**
 * Starts a run. Any client that may publish here can send it: the body is plain JSON and no header is needed. A repeated `runId` is the
 * same run. A command that does not fit the schema, an unknown field included, is answered by a `run.rejected` event.
 */
export const startRun = command({
  subject: "yard.cmd.{caller}.run.start.{agent}",
  summary: "Starts a run of an agent.",
  role: "operator",
  payload: z.strictObject({
    input: NewRunInput,
    /**
     * The run's id among the sender's own runs. Made by the runner when it is left out; the rejected and started
     * events carry it.
     */
    runId: RunId.optional(),
    /** A skill to activate before the first step. */
    skill: SkillName.optional(),
    model: ModelName.optional(),
    /** Replaces the agent's own level. */
    thinking: ThinkingLevel.optional(),
    /** In place of the agent's own temperature and the provider's own settings. */
    sampling: Sampling.optional(),
    /** The answers of the models in an earlier run, which are played in place of calling a model. */
    replay: Recording.optional(),
    limits: RunLimits.optional(),
    labels: z.record(z.string().max(64), z.string().max(256)).optional(),
    /** NATS users that may read the run besides its owner, and the runs that work for it. They may not control it. */
    readers: z.array(CallerName).max(16).optional(),
    /** The origin of the message, set by services that bring messages of others; from any other sender it is refused. */
    origin: SaidOrigin.optional(),
    /** JSON Schema (2020-12) of the answer; the run's output is then JSON text that fits it. */
    output: z.record(z.string(), z.unknown()).optional(),
    /**
     * The conversation that the message belongs to, by its key or id. The run gets the earlier messages, and no other run of the session is
     * under way at the same time. A new key begins a session.
     */
    session: SessionRef.optional(),
    /** The handling of this message while another run of the session is under way; left out, the session's setting counts. */
    onBusy: BusyPolicy.optional(),
  }),
});
export type StartRun = z.infer<typeof startRun.payload>;

/** The reason why a run is to be cancelled, in the words of the requester. */
const CancelReason = z.string().min(1).max(512);

/**
 * Cancels a run. Its requester may, and the users `cli` and `admin`; anyone else is answered by a `run.rejected` event. A run that has not
 * begun is cancelled when it does, if that is within a day. For a run that has ended nothing happens.
 */
export const cancelRun = command({
  subject: "yard.cmd.{caller}.run.cancel.{runId}",
  summary: "Cancels a run.",
  role: "operator",
  payload: z.strictObject({ reason: CancelReason.optional() }),
});

/**
 * Continues a failed, cancelled or dead run from its journal, at the first step without a result. The same users may send it as
 * `run.cancel`. `limits` replace those of the run; its time begins anew.
 */
export const retryRun = command({
  subject: "yard.cmd.{caller}.run.retry.{runId}",
  summary: "Continues a failed, cancelled or dead run.",
  role: "operator",
  payload: z.strictObject({ limits: RunLimits.optional() }),
});

/** `waiting`: no runner holds it. `dead`: it killed its runners; a retry continues it. */
export const RunStatus = z.enum(["running", "waiting", "succeeded", "failed", "cancelled", "dead"]);
export type RunStatus = z.infer<typeof RunStatus>;

/** `queued`: its command is stored, and no runner has begun it. `rejected`: its command was refused; `failure` has the reason. */
export const RunState = z.enum([...RunStatus.options, "queued", "rejected"]);
export type RunState = z.infer<typeof RunState>;

export const Usage = z.object({
  inputTokens: z.int().nonnegative(),
  outputTokens: z.int().nonnegative(),
  /** Input tokens that the provider had in its cache or put there; missing: none. */
  cacheReadTokens: z.int().nonnegative().optional(),
  cacheWriteTokens: z.int().nonnegative().optional(),
  /** Output tokens that the model used to think; missing: none, or the provider does not count them. */
  reasoningTokens: z.int().nonnegative().optional(),
  /** Input and output tokens that are estimated: those of answers that broke off, which no provider counted; missing: none. */
  estimatedTokens: z.int().nonnegative().optional(),
});
export type Usage = z.infer<typeof Usage>;

export const RunFailure = z.object({
  /** `unknown_agent`, `model_error`, `limit_exceeded`, `internal`, … */
  code: z.string(),
  message: z.string(),
  /** With `limit_exceeded`: the limit, so that a client can retry with a higher one; missing in runs of earlier versions. */
  limit: ReachedLimit.optional(),
});
export type RunFailure = z.infer<typeof RunFailure>;

/** The user that cancelled a run, and the reason. */
export const Cancellation = z.object({ by: CallerName, reason: CancelReason.nullable() });
export type Cancellation = z.infer<typeof Cancellation>;

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
  /** The number of times that a runner picked the run up. */
  attempts: z.int().positive(),
  labels: z.record(z.string(), z.string()),
  /** The usage of all model calls so far; missing for runs of versions that did not list it. */
  usage: Usage.optional(),
  /** Cost of all model calls in US dollars; null when the price of a model is unknown. */
  costUsd: z.number().nonnegative().nullable().optional(),
  /** With `waiting`: the reasons, each once; `waits` of the whole run has the details. */
  waitsFor: z.array(WaitReason).optional(),
  /** With `running`: the cause that keeps it from continuing, such as a service that is away. The runner retries. */
  suspended: z.string().optional(),
  /** The first characters of the input as text; missing for runs of versions that did not list it. */
  inputStart: z.string().optional(),
  /** With `failed` and `dead`: the code of the failure; missing for runs of versions that did not list it. */
  errorCode: z.string().optional(),
});
export type RunSummary = z.infer<typeof RunSummary>;

/** `status` is null until the child's end has reached its parent. */
export const RunChild = z.object({
  runId: RunId,
  callId: z.string(),
  agent: AgentName,
  status: z.enum(["succeeded", "failed", "cancelled", "dead"]).nullable(),
});
export type RunChild = z.infer<typeof RunChild>;

export const MemoryInPrompt = z.object({
  /** All memories of the agent, with those that are not in the prompt. */
  kept: z.int().nonnegative(),
  /** In the prompt with their text. */
  given: z.int().nonnegative(),
  /** In the prompt by name alone. */
  named: z.int().nonnegative(),
  /** The reason why the run may not read them; missing when it may. */
  refused: z.string().optional(),
});
export type MemoryInPrompt = z.infer<typeof MemoryInPrompt>;

/** An MCP server whose tools are unavailable to a run at the moment, all or some of them, and the reason. */
export const UnavailableServer = z.object({ server: ServerId, reason: z.string() });
export type UnavailableServer = z.infer<typeof UnavailableServer>;

/** The claims of a run's token beside its agent and requester: `policy.explain` needs them to explain a call of the run. */
export const RunAuthority = z.object({
  roles: z.array(RoleName),
  /** The least approval that each call needs from people; missing: the rules alone decide. */
  approval: ApprovalTier.optional(),
  /** Without the runs above it, whose tools and limits count for its calls, too. */
  context: RunOrigin,
  toolLayers: z.array(z.array(z.string())),
});
export type RunAuthority = z.infer<typeof RunAuthority>;

export const RunDetail = RunSummary.extend({
  /** Over HTTP also of a run that no runner has begun. */
  status: RunState,
  /** Null until a runner has begun it. */
  model: ModelName.nullable(),
  /** 0 until a runner has begun it. */
  attempts: z.int().nonnegative(),
  input: RunInput,
  output: z.string().nullable(),
  failure: RunFailure.nullable(),
  /** Set as soon as the run is to be cancelled; `status` shows when it has ended. */
  cancellation: Cancellation.nullable(),
  usage: Usage,
  /** Missing: the provider's default. */
  thinking: ThinkingLevel.optional(),
  /** The users that may read it besides its owner; missing: none. */
  readers: z.array(CallerName).optional(),
  /** Null until a runner has begun it. */
  agentDigest: Digest.nullable(),
  /** The digest of the policy that the run began under; each call is decided by the policy in force at that moment. */
  policyDigest: Digest.optional(),
  skills: z.array(z.object({ name: SkillName, digest: Digest })),
  /** The skills that are cut or missing in the model's list, for want of room; missing when there are none. */
  skillsCut: z.object({ shortened: z.array(SkillName), dropped: z.array(SkillName) }).optional(),
  /** The number of the agent's memories in its system prompt; missing when the agent requests none. */
  memory: MemoryInPrompt.optional(),
  /** Servers whose tools the run may use and lacked at its last listing; missing when there are none. */
  toolsUnavailable: z.array(UnavailableServer).optional(),
  /** The events that it waits for; missing when it does not wait. */
  waits: z.array(RunWait).optional(),
  /** The run that it works for, and the call of that run. */
  parent: z.object({ runId: RunId, callId: z.string() }).optional(),
  /** The runs that work for it. */
  children: z.array(RunChild).optional(),
  /** The run and the step that it was copied from. */
  forkedFrom: z.object({ runId: RunId, fromStep: z.int().positive() }).optional(),
  /** The conversation that it belongs to. */
  session: z.object({ sessionId: SessionId, key: SessionKey }).optional(),
  /** Missing from runners of earlier versions. */
  authority: RunAuthority.optional(),
});
export type RunDetail = z.infer<typeof RunDetail>;

/** The filters of lists and totals of runs; a run has to pass all that are set. */
export const runFilters = {
  /** Selects runs of this user. */
  owner: CallerName.optional(),
  agent: AgentName.optional(),
  model: ModelName.optional(),
  status: RunStatus.optional(),
  /** Selects runs in any of these statuses. */
  statuses: z.array(RunStatus).min(1).max(6).optional(),
  /** The code of the failure of a failed or dead run, such as `limit_exceeded`. */
  errorCode: z.string().min(1).max(128).optional(),
  /** Selects runs that have all of these labels, as `key=value`; `key` alone is a label of any value. */
  labels: z.array(z.string().min(1).max(321)).max(16).optional(),
  /** A text in the run's id, agent, model, labels or the start of its input, in small or capital letters. */
  text: z.string().min(1).max(200).optional(),
  /** Selects runs that began at this time or later. */
  from: Timestamp.optional(),
  /** Selects runs that began before this time. */
  to: Timestamp.optional(),
};

/** `longest`: by the time between a run's begin and its end, or now. `dearest`: by known cost. */
export const RunOrder = z.enum(["newest", "oldest", "longest", "dearest"]);
export type RunOrder = z.infer<typeof RunOrder>;

/**
 * The begin of the oldest run that was looked at, where older ones were not: totals, and the orders `longest` and `dearest`, look at the
 * newest 100,000 runs. Null when all were looked at.
 */
export const SearchedFrom = Timestamp.nullable();

export const listRuns = rpc({
  subject: "yard.rpc.{caller}.runs.list",
  summary: "Lists the caller's runs, newest first; for cli and admin the runs of all users.",
  role: "viewer",
  request: z.strictObject({
    limit: z.int().min(1).max(200).default(20),
    ...runFilters,
    /** Selects among these runs, such as the changed ones of a list that is shown. */
    ids: z.array(RunId).min(1).max(200).optional(),
    sort: RunOrder.optional(),
    cursor: ListCursor.optional(),
  }),
  reply: z.object({
    runs: z.array(RunSummary),
    next: NextCursor,
    /** Missing from runners of earlier versions, and in the orders that look at every run. */
    searchedFrom: SearchedFrom.optional(),
  }),
  errors: { store_unavailable: storeUnavailable },
});

export const getRun = rpc({
  subject: "yard.rpc.{caller}.runs.get",
  summary: "Returns one run with its input, output and cost.",
  role: "viewer",
  request: z.strictObject({ runId: RunId }),
  reply: z.object({ run: RunDetail }),
  errors: {
    /** `isDeleted`: the caller had this run, and it was deleted by request. */
    unknown_run: { data: z.object({ runId: z.string(), isDeleted: z.boolean().optional() }) },
    /** The run's journal cannot be read; `runs.dead` lists it once a runner has found it. */
    journal_corrupt: { data: z.object({ runId: z.string() }) },
    store_unavailable: storeUnavailable,
  },
});

/** A run that is `dead` was taken off the queue; `run.retry` continues it. */
export const DeadRun = RunSummary.extend({ failure: RunFailure });
export type DeadRun = z.infer<typeof DeadRun>;

/** The id of a command that was given up: its run, and when it was sent in milliseconds since 1970. */
export const LetterId = z
  .string()
  .max(200)
  .regex(/^[^:]+:\d+$/, "is not the id of a command that was given up");

/** A command that was taken off the queue before it became a run, because it killed its runners. */
export const DeadLetter = z.object({
  /** The run that it names, or that it would have become. */
  runId: RunId,
  subject: z.string(),
  caller: z.string(),
  /** Position of the command in its stream; 0 for a message that came to a session by a request. */
  streamSequence: z.int().nonnegative(),
  sentAt: Timestamp,
  failure: RunFailure,
  /** The id for `runs.redrive`; missing where an older version gave it up. */
  id: LetterId.optional(),
  /** True when its text was stored, so that it can be sent again from here. */
  canRedrive: z.boolean().optional(),
});
export type DeadLetter = z.infer<typeof DeadLetter>;

export const listDeadRuns = rpc({
  subject: "yard.rpc.{caller}.runs.dead",
  summary: "Lists the runs and commands that killed their runners and were stopped, latest first.",
  role: "viewer",
  request: z.strictObject({
    /** The limit for runs and commands together. */
    limit: z.int().min(1).max(200).default(50),
    cursor: ListCursor.optional(),
  }),
  reply: z.object({
    runs: z.array(DeadRun),
    /** `runs.redrive` sends such a command again after the cause is fixed. */
    letters: z.array(DeadLetter).optional(),
    next: NextCursor,
  }),
  errors: { store_unavailable: storeUnavailable },
});

/**
 * Sends a command again unchanged, in the name of its sender, after the cause is fixed. The same users may as for `run.cancel`. It is off
 * the list then; a second request does not send it twice.
 */
export const redriveCommand = rpc({
  subject: "yard.rpc.{caller}.runs.redrive",
  summary: "Sends a command again that was stopped because it killed its runners.",
  role: "operator",
  request: z.strictObject({ letterId: LetterId }),
  reply: z.object({
    /** The run that it becomes. */
    runId: RunId,
    /** `repeated`: it had been sent again before, and nothing happens. */
    outcome: z.enum(["sent", "repeated"]),
  }),
  errors: {
    /** Returned also for a command of another user. */
    unknown_letter: { data: z.object({ letterId: z.string() }) },
    /** Its text was not stored: it was too large, was about a run that exists, or worked for a run that was notified of its end. */
    not_kept: { data: z.object({ letterId: z.string() }) },
    /** Another command with its run id waits to be begun, or too many do. */
    not_accepted: { data: z.object({ letterId: z.string() }) },
    /** An action that cannot be recorded is not done. */
    audit_unavailable: { data: z.object({}), retryable: true },
    store_unavailable: storeUnavailable,
  },
});

/** Needs no free slot of a runner, as the command does, and returns the outcome of the request. */
export const requestCancel = rpc({
  subject: "yard.rpc.{caller}.runs.cancel",
  summary: "Cancels a run, even when every runner is busy.",
  role: "operator",
  request: z.strictObject({ runId: RunId, reason: CancelReason.optional() }),
  reply: z.object({
    /** `remembered`: no runner has the run yet. `ended`: it was over before, and nothing happens. */
    outcome: z.enum(["requested", "remembered", "ended"]),
  }),
  errors: {
    not_allowed: { data: z.object({ runId: z.string() }) },
    store_unavailable: storeUnavailable,
  },
});
