import type { ScheduleJob, ScheduleJobInputInput } from "@switchyard/client/operations";

/** A job as it is edited. Fields that do not belong to `when` and `where` are kept while the form is open, and not sent. */
export interface JobFields {
  readonly name: string;
  readonly when: "cron" | "every" | "at";
  readonly where: "a run of its own" | "a session";
  readonly text: string;
  readonly overlap: ScheduleJob["overlap"];
  readonly catchUp: ScheduleJob["catchUp"];
  readonly expr?: string;
  readonly tz?: string;
  readonly minutes?: number;
  readonly at?: string;
  readonly agent?: string;
  readonly session?: string;
  readonly description?: string;
}

const MINUTE_MS = 60_000;

/** The form's initial fields. */
export function fieldsOfJob(job: ScheduleJob | undefined): JobFields {
  if (job === undefined)
    return {
      name: "",
      when: "cron",
      where: "a run of its own",
      text: "",
      overlap: "skip",
      catchUp: "once",
    };
  const { name, schedule, payload, overlap, catchUp, agentId, sessionKey, description } = job;
  const { kind, expr, tz, at, everyMs } = schedule;
  return {
    name,
    // A job of messages is declared in a file, and has no form.
    when: kind === "message" ? "cron" : kind,
    where: job.sessionTarget === "main" ? "a session" : "a run of its own",
    text: payload.message ?? payload.text ?? "",
    overlap,
    catchUp,
    ...(expr !== undefined && { expr }),
    ...(tz !== undefined && { tz }),
    ...(at !== undefined && { at }),
    ...(everyMs !== undefined && { minutes: everyMs / MINUTE_MS }),
    ...(typeof agentId === "string" && { agent: agentId }),
    ...(typeof sessionKey === "string" && { session: sessionKey }),
    ...(description !== undefined && { description }),
  };
}

/** The job of the fields; other members are copied from the job that is changed. */
export function jobOfFields(fields: JobFields, old?: ScheduleJob): ScheduleJobInputInput {
  const { name, where, text, overlap, catchUp, agent, session, description } = fields;
  const isOwn = where === "a run of its own";
  const kind = isOwn ? "agentTurn" : "systemEvent";
  const { message: _message, text: _text, ...rest } = old?.payload ?? {};
  return {
    name,
    schedule: scheduleOf(fields, old?.schedule),
    agentId: agent ?? null,
    sessionTarget: isOwn ? "isolated" : "main",
    sessionKey: isOwn ? null : (session ?? null),
    payload: isOwn
      ? { ...(old?.payload.kind === kind && rest), kind, message: text }
      : { kind, text },
    overlap,
    catchUp,
    description: description ?? "",
  };
}

function scheduleOf(
  { when, expr = "", tz, minutes = 0, at = "" }: JobFields,
  old?: ScheduleJob["schedule"],
): ScheduleJobInputInput["schedule"] {
  const { anchorMs, staggerMs } = old?.kind === when ? old : {};
  if (when === "at") return { kind: when, at };
  if (when === "every") {
    const everyMs = Math.round(minutes * MINUTE_MS);
    return { kind: when, everyMs, ...(anchorMs !== undefined && { anchorMs }) };
  }
  return {
    kind: when,
    expr,
    ...(tz !== undefined && { tz }),
    ...(staggerMs !== undefined && { staggerMs }),
  };
}
