import { z } from "zod";
import { event } from "../define.ts";
import { CallerName, RunId, Timestamp } from "../ids.ts";
import { JobRunStatus, ScheduleId } from "./schedules.ts";

/** The fields that every event of a job carries. Each is published at least once. */
const ScheduleEvent = z.object({
  jobId: ScheduleId,
  owner: CallerName,
  name: z.string(),
  at: Timestamp,
});

export const scheduleAdded = event({
  subject: "yard.evt.schedule.{owner}.{jobId}.added",
  summary: "A job was added.",
  payload: ScheduleEvent.extend({ by: CallerName }),
});

export const scheduleChanged = event({
  subject: "yard.evt.schedule.{owner}.{jobId}.changed",
  summary: "A job was changed.",
  payload: ScheduleEvent.extend({ by: CallerName, fields: z.array(z.string()) }),
});

export const scheduleRemoved = event({
  subject: "yard.evt.schedule.{owner}.{jobId}.removed",
  summary: "A job was removed, by a user or after its only run.",
  payload: ScheduleEvent.extend({ by: CallerName.nullable() }),
});

export const scheduleStarted = event({
  subject: "yard.evt.schedule.{owner}.{jobId}.started",
  summary: "A due time came, and its run is on record.",
  payload: ScheduleEvent.extend({ runId: RunId, dueAtMs: z.int() }),
});

export const scheduleFinished = event({
  subject: "yard.evt.schedule.{owner}.{jobId}.finished",
  summary: "A run of a job ended and its answer was delivered.",
  payload: ScheduleEvent.extend({
    runId: RunId,
    dueAtMs: z.int(),
    status: JobRunStatus,
    error: z.string().optional(),
  }),
});

export const scheduleSkipped = event({
  subject: "yard.evt.schedule.{owner}.{jobId}.skipped",
  summary: "One or more due times came to no run.",
  payload: ScheduleEvent.extend({
    dueAtMs: z.int(),
    missed: z.int().nonnegative(),
    reason: z.string(),
  }),
});

export const scheduleFailing = event({
  subject: "yard.evt.schedule.{owner}.{jobId}.failing",
  summary: "Several runs of a job in a row failed; a person should check it.",
  payload: ScheduleEvent.extend({ consecutiveErrors: z.int().positive(), error: z.string() }),
});

export const scheduleDisabled = event({
  subject: "yard.evt.schedule.{owner}.{jobId}.disabled",
  summary: "A job was disabled, because its schedule has no next time.",
  payload: ScheduleEvent.extend({ reason: z.string() }),
});
