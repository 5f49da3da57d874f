import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import {
  listSchedules,
  ScheduleId,
  scheduleRuns,
  type JobSource,
  type ScheduleJob,
  type ScheduleRun,
} from "@switchyard/contracts/scheduler/schedules";
import { findBus, withBus } from "../bus-session.ts";
import { CliError } from "../cli-error.ts";
import { fieldLines } from "../field-lines.ts";
import { printableLine } from "../printable.ts";
import { isWhole, noteMore, pageOf, type PageOptions } from "../list-pages.ts";
import { formatDuration } from "../quantities.ts";
import { isNamed } from "../shown-name.ts";
import { tableLines } from "../table.ts";
import { writeJson, type Terminal } from "../terminal.ts";
import { ownerOf, type OwnerOption } from "./sessions.ts";

export async function list(
  terminal: Terminal,
  options: {
    search?: string;
    state: "all" | "enabled" | "disabled";
    all?: true;
  } & PageOptions &
    OwnerOption,
): Promise<void> {
  const { search, state: enabled, owner, all } = options;
  const reply = await withBus(await findBus(terminal.env), (bus) =>
    client(bus, { listSchedules }).listSchedules({
      enabled,
      ...pageOf(options),
      ...(search === undefined ? {} : { query: search }),
      ...ownerOf(owner),
      ...(all === true ? { all } : {}),
    }),
  );
  if (options.json) return writeJson(terminal, reply);
  if (reply.jobs.length === 0 && isWhole(options, reply.next)) {
    terminal.note('no jobs; add one with: ./yard schedules add NAME --every 1h --message "…"');
    return;
  }
  const lines = tableLines<ScheduleJob>(
    [
      { title: "JOB", value: ({ id }) => id },
      { title: "NAME", value: ({ name }) => printableLine(name), maxWidth: 32 },
      { title: "WHEN", value: ({ schedule }) => whenText(schedule), maxWidth: 40 },
      { title: "AGENT", value: ({ agentId }) => agentId ?? "" },
      { title: "NEXT", value: nextText },
      { title: "LAST", value: ({ state }) => state.lastRunStatus ?? "" },
      ...(all === true ? [{ title: "OWNER", value: (job: ScheduleJob) => job.owner }] : []),
    ],
    reply.jobs,
  );
  for (const line of lines) terminal.out(line);
  noteMore(terminal, reply.next);
}

export async function show(
  terminal: Terminal,
  named: string,
  { owner, json }: OwnerOption,
): Promise<void> {
  const job = await withBus(await findBus(terminal.env), (bus) => findJob(bus, named, owner));
  if (json) return writeJson(terminal, { job });
  for (const line of fieldLines(describeJob(job))) terminal.out(line);
}

export async function history(
  terminal: Terminal,
  named: string | undefined,
  options: { status?: ScheduleRun["status"][]; limit: number } & OwnerOption,
): Promise<void> {
  const { status, limit, owner } = options;
  const reply = await withBus(await findBus(terminal.env), async (bus) =>
    client(bus, { scheduleRuns }).scheduleRuns({
      limit,
      ...(named === undefined ? {} : { jobId: await jobIdOf(bus, named, owner) }),
      ...(status === undefined ? {} : { statuses: status }),
      ...ownerOf(owner),
    }),
  );
  if (options.json) return writeJson(terminal, reply);
  if (reply.entries.length === 0) return terminal.note("no due time has come yet");
  const lines = tableLines<ScheduleRun>(
    [
      { title: "DUE", value: ({ dueAtMs }) => timeText(dueAtMs) },
      { title: "JOB", value: ({ jobName }) => printableLine(jobName), maxWidth: 24 },
      { title: "STATUS", value: statusText },
      {
        title: "TOOK",
        value: ({ durationMs: ms }) => (ms === undefined ? "" : formatDuration(ms)),
      },
      {
        title: "TOLD",
        value: ({ deliveryStatus = "" }) => deliveryStatus.replace("not-requested", ""),
      },
      { title: "RUN", value: ({ runId = "" }) => runId },
      {
        title: "WHAT CAME OF IT",
        value: ({ error, summary = "" }) => printableLine(error ?? summary),
        maxWidth: 60,
      },
    ],
    reply.entries,
  );
  for (const line of lines) terminal.out(line);
}

/** The id of a job that is named by it or by its name. */
export async function jobIdOf(bus: Bus, named: string, owner: string | undefined): Promise<string> {
  // A removed job still has a history, but is in no list.
  if (ScheduleId.safeParse(named).success) return named;
  return (await findJob(bus, named, owner)).id;
}

/** A job by its id or its name. Throws `unknown_job`, and a usage error for a name that several jobs have. */
export async function findJob(
  bus: Bus,
  named: string,
  owner: string | undefined,
): Promise<ScheduleJob> {
  const found: ScheduleJob[] = [];
  const { listSchedules: page } = client(bus, { listSchedules });
  for (let offset: number | null = 0; offset !== null;) {
    const wanted = { enabled: "all", sortBy: "name", limit: 200, offset } as const;
    const { jobs, nextOffset }: Awaited<ReturnType<typeof page>> = await page({
      ...wanted,
      ...ownerOf(owner),
    });
    found.push(...jobs.filter(({ id, name }) => isNamed(id, named) || isNamed(name, named)));
    offset = nextOffset;
  }
  const job = found.find(({ id }) => id === named) ?? found[0];
  if (job === undefined)
    throw new CliError("unknown_job", `there is no job ${named}`, { hint: HINT });
  if (job.id === named || found.length === 1) return job;
  throw new CliError("usage", `${found.length} jobs are called ${named}`, {
    hint: `name one by its id: ${found.map(({ id }) => id).join(", ")}`,
  });
}

const HINT = "see the jobs with: ./yard schedules list";

/** Describes a job, line by line. */
export function describeJob(job: ScheduleJob): [string, string][] {
  const { payload, delivery, state } = job;
  return [
    ["job", `${job.id}  ${job.name}`],
    ["description", job.description ?? ""],
    ["owner", job.owner],
    ["declared", job.declaredAs === undefined ? "" : `${job.declaredAs} in triggers.yaml`],
    ["agent", job.agentId ?? "the installation's"],
    ["when", whenText(job.schedule)],
    ["next", nextText(job)],
    ["says", payload.message ?? payload.text ?? ""],
    [
      "where",
      job.sessionTarget === "main" ? `session ${job.sessionKey ?? "main"}` : "a run of its own",
    ],
    ["model", payload.model ?? ""],
    ["thinking", payload.thinking ?? ""],
    ["tells", delivery === undefined ? "nobody" : deliveryText(delivery)],
    ["rules", `overlap ${job.overlap}, catch up ${job.catchUp}, wake ${job.wakeMode}`],
    ["last run", state.lastRunAtMs === undefined ? "" : timeText(state.lastRunAtMs)],
    [
      "ended",
      [state.lastRunStatus, state.lastError].filter((text) => text !== undefined).join(": "),
    ],
    ["errors in a row", state.consecutiveErrors === 0 ? "" : String(state.consecutiveErrors)],
  ];
}

function deliveryText({
  mode,
  channel,
  accountId,
  to,
}: NonNullable<ScheduleJob["delivery"]>): string {
  if (mode === "none") return "nobody";
  const place = [channel, accountId, to].filter((part) => part !== undefined).join(" ");
  return `${mode} ${place}`.trim();
}

function whenText(source: JobSource): string {
  const { kind, at, everyMs = 0, expr, tz = "UTC", subject, stream } = source;
  if (kind === "message") return `on ${subject}${stream === undefined ? "" : ` of ${stream}`}`;
  if (kind === "at") return `at ${at}`;
  return kind === "every" ? `every ${spanText(everyMs)}` : `${expr} ${tz}`;
}

function spanText(ms: number): string {
  const [unit, name] =
    (
      [
        [86_400_000, "d"],
        [3_600_000, "h"],
        [60_000, "min"],
        [1_000, "s"],
      ] as const
    ).find(([length]) => ms % length === 0) ?? ([1, "ms"] as const);
  return `${ms / unit} ${name}`;
}

function nextText({ enabled, state }: ScheduleJob): string {
  if (!enabled) return "paused";
  return state.nextRunAtMs === undefined ? "" : timeText(state.nextRunAtMs);
}

function statusText({ status, missed = 0 }: ScheduleRun): string {
  return missed === 0 ? status : `${status}, and ${missed} more`;
}

function timeText(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}
