import { cutText } from "@switchyard/contracts/cut-text";
import {
  addSchedule,
  listSchedules,
  removeSchedule,
  runSchedule,
  ScheduleJobInput,
  ScheduleJobPatch,
  scheduleRuns,
  scheduleStatus,
  updateSchedule,
} from "@switchyard/contracts/scheduler/schedules";
import { z } from "zod";
import { defineTool, type Tool, type ToolContext } from "../tool.ts";
import { ToolError } from "../tool-error.ts";
import { asToolError, type AsCaller } from "./as-caller.ts";
import { jsonResult } from "./json-result.ts";
import { withoutLegacyFields } from "./legacy-job.ts";
import { withRecentChat } from "./recent-chat.ts";
import { announceOfKey } from "./session-names.ts";
import { CallerSession } from "./session-tools.ts";

/** A job as models write it: without unions, which model providers refuse. The scheduler's own schema reads it then. */
const Job = z
  .looseObject({})
  .describe(
    "name; schedule {kind: at, at: ISO time} or {kind: every, everyMs: 1000 or more} or {kind: cron, expr, tz}; sessionTarget main with payload {kind: systemEvent, text}, or isolated with payload {kind: agentTurn, message, model, thinking, timeoutSeconds}; agentId, sessionKey, description, enabled, deleteAfterRun, wakeMode (now, next-heartbeat), overlap (skip, queue, parallel), catchUp (once, skip), delivery {mode: none, announce or webhook, channel, to, accountId, bestEffort}; what an isolated job answers is announced in this chat unless delivery says something else",
  );
const JobId = z.string().max(128).optional();
const idShape = { jobId: JobId, id: JobId.describe("The same as jobId") };
const pageShape = { limit: z.int().min(1).max(200).default(50), offset: z.int().min(0).default(0) };
const NO_ID = "jobId required (id accepted for backward compatibility)";

/** The tools that schedule runs of agents [F23-F29]; for owners alone. */
export function createCronTools(asCaller: AsCaller): readonly Tool[] {
  return [...readTools(asCaller), addTool(asCaller), ...changeTools(asCaller)];
}

function readTools(asCaller: AsCaller): readonly Tool[] {
  const cron_status = defineTool({
    name: "cron_status",
    description: "Returns the number of jobs and when the next one is due.",
    input: z.strictObject({}),
    run: async (_args, context) =>
      jsonResult(await asCaller(context, scheduleStatus, {}).catch(asToolError)),
  });
  const cron_list = defineTool({
    name: "cron_list",
    description: "Lists your jobs, disabled ones among them.",
    input: z.strictObject({
      filter: z.string().max(128).optional().describe("Part of a name or description"),
      query: z.string().max(128).optional().describe("The same as filter"),
      includeDisabled: z.boolean().default(true),
      enabled: z.enum(["all", "enabled", "disabled"]).optional(),
      sortBy: z.enum(["nextRunAtMs", "updatedAtMs", "name"]).default("nextRunAtMs"),
      sortDir: z.enum(["asc", "desc"]).default("asc"),
      ...pageShape,
    }),
    async run({ filter, query = filter, ...rest }, context) {
      const request = { ...rest, ...(query !== undefined && { query }) };
      return jsonResult(await asCaller(context, listSchedules, request).catch(asToolError));
    },
  });
  const runFilters = scheduleRuns.request.pick({
    scope: true,
    statuses: true,
    deliveryStatuses: true,
    query: true,
    sortDir: true,
  });
  const cron_runs = defineTool({
    name: "cron_runs",
    description: "Lists what became of the due times of a job, or of all, the latest first.",
    input: z.strictObject({
      ...idShape,
      ...runFilters.shape,
      ...pageShape,
    }),
    async run({ id, jobId = id, ...rest }, context) {
      if (jobId !== undefined && /[/\\]/.test(jobId))
        throw new ToolError("jobId must not contain slashes");
      const request = { ...rest, ...(jobId !== undefined && { jobId }) };
      return jsonResult(await asCaller(context, scheduleRuns, request).catch(asToolError));
    },
  });
  return [cron_status, cron_list, cron_runs] as readonly Tool[]; // each is a Tool of its own arguments
}

function addTool(asCaller: AsCaller): Tool {
  return defineTool({
    name: "cron_add",
    description:
      "Adds a job that runs an agent at a time, every so often, or by a cron expression.",
    // Some models write the fields of the job beside it, or instead of it.
    input: z.looseObject({
      job: Job.optional(),
      contextMessages: z
        .int()
        .min(0)
        .max(10)
        .default(0)
        .describe("Adds so many of the last messages of this chat to the text of a systemEvent"),
      callerSession: CallerSession,
    }),
    async run({ job, contextMessages, callerSession, ...flat }, context) {
      const given = job ?? (Object.keys(flat).length === 0 ? undefined : flat);
      if (given === undefined) throw new ToolError("job required");
      const read = parsedAs(ScheduleJobInput, given, "job");
      const ownSession = context.session ?? callerSession;
      const recent = { session: ownSession, messages: contextMessages };
      const payload = await withRecentChat(asCaller, context, { payload: read.payload, recent });
      const { callId: idempotencyKey } = context;
      const request = {
        job: { ...withDelivery(read, chatOf(context, callerSession)), payload },
        ...(idempotencyKey !== undefined && { idempotencyKey }),
      };
      const { job: added } = await asCaller(context, addSchedule, request).catch(asToolError);
      return jsonResult(added);
    },
  }) as Tool; // a Tool of its own arguments
}

function changeTools(asCaller: AsCaller): readonly Tool[] {
  const cron_update = defineTool({
    name: "cron_update",
    aliases: { updates: "patch" },
    description: "Changes a job: patch has the fields that are to be others.",
    input: z.strictObject({ ...idShape, patch: Job.optional() }),
    async run({ id, jobId = id, patch }, context) {
      const named = namedJob(jobId);
      if (patch === undefined) throw new ToolError("patch required");
      const request = { jobId: named, patch: parsedAs(ScheduleJobPatch, patch, "patch") };
      const { job } = await asCaller(context, updateSchedule, request).catch(asToolError);
      return jsonResult(job);
    },
  });
  const cron_remove = defineTool({
    name: "cron_remove",
    description: "Removes a job; a run of it that is under way continues.",
    input: z.strictObject(idShape),
    async run({ id, jobId = id }, context) {
      const request = { jobId: namedJob(jobId) };
      return jsonResult(await asCaller(context, removeSchedule, request).catch(asToolError));
    },
  });
  const cron_run = defineTool({
    name: "cron_run",
    description: "Runs a job now (force), or only when it is due.",
    input: z.strictObject({ ...idShape, mode: z.enum(["due", "force"]).default("force") }),
    async run({ id, jobId = id, mode }, context) {
      const request = { jobId: namedJob(jobId), mode };
      return jsonResult(await asCaller(context, runSchedule, request).catch(asToolError));
    },
  });
  return [cron_update, cron_remove, cron_run] as readonly Tool[]; // as above
}

/** Returns the chat that the caller works in: that of its run, or the one that the key of its session names. */
function chatOf({ runId, chat }: ToolContext, session: string | undefined): Chat | null {
  if (chat === null) return runId !== null || session === undefined ? null : announceOfKey(session);
  const { channel, accountId, target } = chat.address;
  return { channel, accountId, to: `${target.kind}:${target.id}` };
}

type Chat = NonNullable<ReturnType<typeof announceOfKey>>;

/** The answer of an isolated job is announced in the chat in which it was created, unless its delivery has another target. */
function withDelivery(job: ScheduleJobInput, chat: Chat | null): ScheduleJobInput {
  if (job.sessionTarget !== "isolated" || chat === null) return job;
  const { mode = "announce", channel = "last", to, bestEffort } = job.delivery ?? {};
  if (mode !== "announce" || channel !== "last" || to !== undefined) return job;
  const delivery = { mode, ...chat, ...(bestEffort !== undefined && { bestEffort }) };
  return { ...job, delivery };
}

function namedJob(jobId: string | undefined): string {
  if (jobId === undefined || jobId === "") throw new ToolError(NO_ID);
  return jobId;
}

function parsedAs<T extends z.ZodType>(schema: T, value: unknown, what: string): z.output<T> {
  const parsed = schema.safeParse(withoutLegacyFields(value));
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues
    .slice(0, 5)
    .map(({ path, message }) => cutText(`${[what, ...path].join(".")}: ${message}`, 300));
  throw new ToolError(problems.join("; "));
}
