import { z } from "zod";
import { rpc } from "../define.ts";
import { AgentName, CallerName, ModelName, RunId } from "../ids.ts";
import { IfVersion, versionChanged } from "../if-version.ts";
import { SessionId, SessionKey } from "../agent-runner/session-key.ts";
import { NextCursor } from "../list-cursor.ts";
import { storeUnavailable, storeUnsure } from "../store-errors.ts";
import { ThinkingLevel } from "../agent-runner/thinking.ts";

// The objects are flat, with all fields of all kinds: model providers refuse nested unions. The scheduler reports fields that exclude each
// other. Times are milliseconds since 1970.

/** A job, made by the scheduler. */
export const ScheduleId = z.string().regex(/^job-[0-9a-f]{16}$/, "must look like job-…");
/** The id of a job in a request: a malformed id is an unknown job. */
const NamedJob = z.string().min(1).max(128);
const Millis = z.int().nonnegative();
const SMALL_TEXT = 1_024;
const LARGE_TEXT = 32_768;

export const JobSchedule = z.strictObject({
  kind: z.enum(["at", "every", "cron"]),
  /** For `at`: ISO 8601; without a zone it is UTC. */
  at: z.string().min(1).max(64).optional(),
  /** For `every`: the interval, which is 1,000 or more where it is set, and where it is counted from; left out: the creation. */
  everyMs: z.int().min(1).optional(),
  anchorMs: Millis.optional(),
  /** For `cron`: five or six fields, an IANA time zone (left out: UTC), and a stable offset below so much, by the job's id. */
  expr: z.string().min(1).max(256).optional(),
  tz: z.string().min(1).max(64).optional(),
  staggerMs: z.int().min(0).max(86_400_000).optional(),
});
export type JobSchedule = z.infer<typeof JobSchedule>;

/** The cause of a job's runs: its times, or messages. Only `triggers.yaml` makes a job of messages. */
export const JobSource = JobSchedule.extend({
  kind: z.enum(["at", "every", "cron", "message"]),
  /** For `message`: the subject, which may have wildcards, and the JetStream stream that it is read from, if it is one. */
  subject: z.string().min(1).max(256).optional(),
  stream: z.string().min(1).max(64).optional(),
});
export type JobSource = z.infer<typeof JobSource>;

export const JobPayload = z.strictObject({
  kind: z.enum(["systemEvent", "agentTurn"]),
  /** For `systemEvent`: the text that is posted in the main session. */
  text: z.string().min(1).max(LARGE_TEXT).optional(),
  /** For `agentTurn`: the input of a run of its own. */
  message: z.string().min(1).max(LARGE_TEXT).optional(),
  model: ModelName.optional(),
  thinking: ThinkingLevel.optional(),
  /** 0: the agent's own. */
  timeoutSeconds: z.int().min(0).max(86_400).optional(),
});
export type JobPayload = z.infer<typeof JobPayload>;

export const JobDelivery = z.strictObject({
  mode: z.enum(["none", "announce", "webhook"]),
  /** For `announce`: the channel, such as `telegram`; or `last`, which is where an owner wrote last. */
  channel: z.string().min(1).max(128).optional(),
  /** The target in the channel, such as `user:42`; for a webhook its URL. */
  to: z.string().min(1).max(2_048).optional(),
  accountId: z.string().min(1).max(128).optional(),
  /** True: the job succeeds even when its result cannot be delivered. */
  bestEffort: z.boolean().optional(),
});
export type JobDelivery = z.infer<typeof JobDelivery>;

const JobFields = {
  name: z.string().trim().min(1).max(128),
  description: z.string().max(SMALL_TEXT).optional(),
  /** Left out or null: the installation's agent for jobs. */
  agentId: AgentName.nullable().optional(),
  /** The session of a main job; left out or null: `main`. */
  sessionKey: SessionKey.nullable().optional(),
  schedule: JobSchedule,
  sessionTarget: z.enum(["main", "isolated"]),
  payload: JobPayload,
  delivery: JobDelivery.optional(),
};
/** `next-heartbeat`: due work waits for the next heartbeat; `now`: it does not. */
export const WakeMode = z.enum(["next-heartbeat", "now"]);
/** The handling of a due time while an earlier run of the job is under way. */
export const JobOverlap = z.enum(["skip", "queue", "parallel"]);
/** The handling of missed due times: one run for all of them, or none. */
export const JobCatchUp = z.enum(["once", "skip"]);

export const ScheduleJobInput = z.strictObject({
  ...JobFields,
  enabled: z.boolean().default(true),
  /** Left out: true for `at`. */
  deleteAfterRun: z.boolean().optional(),
  wakeMode: WakeMode.default("now"),
  overlap: JobOverlap.default("skip"),
  catchUp: JobCatchUp.default("once"),
});
export type ScheduleJobInput = z.infer<typeof ScheduleJobInput>;

export const ScheduleJobPatch = z
  .strictObject({
    ...JobFields,
    enabled: z.boolean(),
    deleteAfterRun: z.boolean(),
    wakeMode: WakeMode,
    overlap: JobOverlap,
    catchUp: JobCatchUp,
    delivery: JobDelivery.nullable(),
  })
  .partial();
export type ScheduleJobPatch = z.infer<typeof ScheduleJobPatch>;

export const JobRunStatus = z.enum(["ok", "error", "skipped"]);
export const DeliveryStatus = z.enum(["delivered", "not-delivered", "unknown", "not-requested"]);

export const JobState = z.object({
  nextRunAtMs: Millis.optional(),
  runningAtMs: Millis.optional(),
  lastRunAtMs: Millis.optional(),
  lastRunStatus: JobRunStatus.optional(),
  lastError: z.string().optional(),
  lastDurationMs: Millis.optional(),
  consecutiveErrors: z.int().nonnegative().default(0),
  scheduleErrorCount: z.int().nonnegative().default(0),
  lastDelivered: z.boolean().optional(),
  lastDeliveryStatus: DeliveryStatus.optional(),
  lastDeliveryError: z.string().optional(),
});
export type JobState = z.infer<typeof JobState>;

export const ScheduleJob = ScheduleJobInput.extend({
  schedule: JobSource,
  /** Its id in `triggers.yaml`, for a job that is declared there. */
  declaredAs: z.string().optional(),
  id: ScheduleId,
  owner: CallerName,
  deleteAfterRun: z.boolean(),
  createdAtMs: Millis,
  updatedAtMs: Millis,
  state: JobState,
});
export type ScheduleJob = z.infer<typeof ScheduleJob>;

/** The outcome of one due time, or of several that were skipped together. */
export const ScheduleRun = z.object({
  /** The time of the end. */
  ts: Millis,
  jobId: ScheduleId,
  jobName: z.string(),
  action: z.literal("finished"),
  status: JobRunStatus,
  /** The due time; for a forced run the time of the request. */
  dueAtMs: Millis,
  /** The number of further due times that this entry represents. */
  missed: z.int().nonnegative().optional(),
  error: z.string().optional(),
  /** First part of the answer. */
  summary: z.string().optional(),
  delivered: z.boolean().optional(),
  deliveryStatus: DeliveryStatus.optional(),
  deliveryError: z.string().optional(),
  runId: RunId.optional(),
  sessionKey: z.string().optional(),
  sessionId: SessionId.optional(),
  runAtMs: Millis.optional(),
  durationMs: Millis.optional(),
  nextRunAtMs: Millis.optional(),
  model: z.string().optional(),
  /** The part of `model` up to its first slash. */
  provider: z.string().optional(),
  usage: z
    .object({
      input: z.int().nonnegative(),
      output: z.int().nonnegative(),
      total: z.int(),
      /** Input tokens that the provider had in its cache, or put there. */
      cacheRead: z.int().nonnegative().optional(),
      cacheWrite: z.int().nonnegative().optional(),
    })
    .optional(),
});
export type ScheduleRun = z.infer<typeof ScheduleRun>;

/** Only `cli` and `admin` may name another owner than themselves; left out it is the caller. */
const Owner = CallerName.optional();
const unknownJob = { data: z.object({ jobId: z.string() }) };
/** Fields of a job exclude each other; the message names them. */
const invalidJob = { data: z.object({ problem: z.string() }) };

const changeErrors = {
  invalid_job: invalidJob,
  unknown_job: unknownJob,
  version_changed: versionChanged,
  store_unavailable: storeUnavailable,
} as const;

export const scheduleStatus = rpc({
  subject: "yard.rpc.{caller}.schedules.status",
  summary: "Returns how many jobs the caller has, and when the next one is due.",
  role: "viewer",
  request: z.strictObject({ owner: Owner }),
  reply: z.object({
    enabled: z.boolean(),
    jobs: z.int().nonnegative(),
    limit: z.int().nonnegative(),
    nextWakeAtMs: Millis.nullable(),
    heartbeatMs: Millis,
  }),
  errors: { store_unavailable: storeUnavailable },
});

/** `next` of the page before, with the same filters and order: a job and its sort value. */
const JobCursor = z
  .string()
  .regex(/^job-[0-9a-f]{16}:[\s\S]{1,128}$/, "must be next of the page before");

export const listSchedules = rpc({
  subject: "yard.rpc.{caller}.schedules.list",
  summary: "Lists the caller's jobs.",
  role: "viewer",
  request: z.strictObject({
    /** False leaves out the disabled ones, unless `enabled` selects them. */
    includeDisabled: z.boolean().default(false),
    enabled: z.enum(["all", "enabled", "disabled"]).optional(),
    /** Part of the name or the description, in any case. */
    query: z.string().max(128).optional(),
    sortBy: z.enum(["nextRunAtMs", "updatedAtMs", "name"]).default("nextRunAtMs"),
    sortDir: z.enum(["asc", "desc"]).default("asc"),
    limit: z.int().min(1).max(200).default(50),
    /** Counts from the cursor, where there is one. */
    offset: z.int().min(0).default(0),
    cursor: JobCursor.optional(),
    owner: Owner,
    /** Includes the jobs of every owner; for `cli` and `admin`, for others only their own. */
    all: z.boolean().default(false),
  }),
  reply: z.object({
    jobs: z.array(ScheduleJob),
    total: z.int().nonnegative(),
    offset: z.int().nonnegative(),
    limit: z.int().positive(),
    hasMore: z.boolean(),
    nextOffset: z.int().nonnegative().nullable(),
    next: NextCursor,
  }),
  errors: { store_unavailable: storeUnavailable },
});

export const getSchedule = rpc({
  subject: "yard.rpc.{caller}.schedules.get",
  summary: "Returns one job.",
  role: "viewer",
  request: z.strictObject({ jobId: NamedJob, owner: Owner }),
  reply: z.object({ job: ScheduleJob }),
  errors: { unknown_job: unknownJob, store_unavailable: storeUnavailable },
});

export const addSchedule = rpc({
  subject: "yard.rpc.{caller}.schedules.add",
  summary: "Adds a job; its runs are the caller's.",
  role: "operator",
  request: z.strictObject({
    job: ScheduleJobInput.optional(),
    /** For a day, the same key of the same caller adds nothing more and returns the job as the first request added it. */
    idempotencyKey: z.string().min(1).max(200).optional(),
  }),
  reply: z.object({ job: ScheduleJob }),
  errors: {
    invalid_job: invalidJob,
    /** The key was used for another job. */
    idempotency_conflict: { data: z.object({ jobId: ScheduleId }) },
    too_many_jobs: { data: z.object({ limit: z.int() }) },
    store_unavailable: storeUnsure,
  },
});

export const updateSchedule = rpc({
  subject: "yard.rpc.{caller}.schedules.update",
  summary:
    "Changes a job. A due time that has come is kept unless the schedule is changed. A declared one can be paused alone.",
  role: "operator",
  request: z.strictObject({
    jobId: NamedJob.optional(),
    patch: ScheduleJobPatch.optional(),
    owner: Owner,
    /** The job's `updatedAtMs`. */
    ifVersion: IfVersion,
  }),
  reply: z.object({ job: ScheduleJob }),
  errors: changeErrors,
});

export const removeSchedule = rpc({
  subject: "yard.rpc.{caller}.schedules.remove",
  summary: "Removes a job, unless it is declared. A run in progress continues.",
  role: "operator",
  request: z.strictObject({ jobId: NamedJob.optional(), owner: Owner, ifVersion: IfVersion }),
  reply: z.object({ jobId: ScheduleId, removed: z.boolean() }),
  errors: changeErrors,
});

export const runSchedule = rpc({
  subject: "yard.rpc.{caller}.schedules.run",
  summary: "Runs a job now, or only when it is due.",
  role: "operator",
  request: z.strictObject({
    jobId: NamedJob.optional(),
    mode: z.enum(["due", "force"]).default("force"),
    owner: Owner,
  }),
  reply: z.object({
    ran: z.boolean(),
    reason: z.enum(["not-due", "already-running", "disabled"]).optional(),
    runId: RunId.optional(),
  }),
  errors: { invalid_job: invalidJob, unknown_job: unknownJob, store_unavailable: storeUnsure },
});

export const scheduleRuns = rpc({
  subject: "yard.rpc.{caller}.schedules.runs",
  summary: "Lists the outcomes of the due times of a job, or of all jobs, the latest first.",
  role: "viewer",
  request: z.strictObject({
    /** Left out: `job` with a `jobId`, else `all`. */
    scope: z.enum(["job", "all"]).optional(),
    jobId: NamedJob.optional(),
    limit: z.int().min(1).max(200).default(50),
    offset: z.int().min(0).default(0),
    statuses: z.array(JobRunStatus).min(1).max(3).optional(),
    deliveryStatuses: z.array(DeliveryStatus).min(1).max(4).optional(),
    /** Part of the name, the answer or the error, in any case. */
    query: z.string().max(128).optional(),
    sortDir: z.enum(["asc", "desc"]).default("desc"),
    owner: Owner,
  }),
  reply: z.object({
    entries: z.array(ScheduleRun),
    total: z.int().nonnegative(),
    offset: z.int().nonnegative(),
    limit: z.int().positive(),
    hasMore: z.boolean(),
    nextOffset: z.int().nonnegative().nullable(),
  }),
  errors: { invalid_job: invalidJob, unknown_job: unknownJob, store_unavailable: storeUnavailable },
});

export const wakeSchedules = rpc({
  subject: "yard.rpc.{caller}.schedules.wake",
  summary: "Posts a text in the caller's main session, now or at the next heartbeat.",
  role: "operator",
  request: z.strictObject({
    text: z.string().trim().min(1).max(LARGE_TEXT),
    mode: WakeMode.default("next-heartbeat"),
    agentId: AgentName.optional(),
    sessionKey: SessionKey.optional(),
  }),
  reply: z.object({ ok: z.literal(true), jobId: ScheduleId }),
  errors: {
    invalid_job: invalidJob,
    too_many_jobs: { data: z.object({ limit: z.int() }) },
    store_unavailable: storeUnsure,
  },
});
