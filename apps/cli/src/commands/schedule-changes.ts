import { client } from "@switchyard/bus/call";
import {
  addSchedule,
  removeSchedule,
  runSchedule,
  updateSchedule,
  type JobDelivery,
  type JobPayload,
  type JobSchedule,
  type JobSource,
  type ScheduleJob,
  type ScheduleJobPatch,
} from "@switchyard/contracts/scheduler/schedules";
import type { ThinkingLevel } from "@switchyard/contracts/agent-runner/thinking";
import { findBus, withBus } from "../bus-session.ts";
import { CliError } from "../cli-error.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { fieldLines } from "../field-lines.ts";
import { writeJson, type Terminal } from "../terminal.ts";
import { accountOf } from "./channels.ts";
import { describeJob, findJob, jobIdOf } from "./schedules.ts";
import { ownerOf, type OwnerOption } from "./sessions.ts";

/** The options of `schedules add` and `schedules edit`; spans are in milliseconds, times in seconds. */
export interface JobOptions {
  readonly at?: string;
  readonly every?: number;
  readonly cron?: string;
  readonly tz?: string;
  readonly stagger?: number;
  readonly message?: string;
  readonly text?: string;
  readonly agent?: string;
  readonly session?: string;
  readonly model?: string;
  readonly thinking?: ThinkingLevel;
  readonly maxTime?: number;
  readonly webhook?: string;
  readonly announce?: string;
  readonly to?: string;
  readonly bestEffort?: true;
  readonly description?: string;
  readonly wake?: "now" | "next-heartbeat";
  readonly overlap?: "skip" | "queue" | "parallel";
  readonly catchUp?: "once" | "skip";
  readonly keep?: true;
}

export async function add(
  terminal: Terminal,
  name: string,
  options: JobOptions & { paused?: true; key?: string; json?: true },
): Promise<void> {
  const { schedule, payload, ...fields } = fieldsOf(options, null);
  if (schedule === undefined) throw usage("give one of --at, --every and --cron");
  if (payload === undefined) throw usage("give one of --message and --text");
  const sessionTarget = payload.kind === "systemEvent" ? "main" : "isolated";
  const enabled = options.paused !== true;
  const job = { ...fields, name, schedule, payload, sessionTarget, enabled } as const;
  const reply = await withBus(await findBus(terminal.env), (bus) =>
    client(bus, { addSchedule }).addSchedule({
      job,
      ...(options.key === undefined ? {} : { idempotencyKey: options.key }),
    }),
  );
  printJob(terminal, reply.job, options);
}

export async function edit(
  terminal: Terminal,
  named: string,
  options: JobOptions & { name?: string; delivery: boolean } & OwnerOption,
): Promise<void> {
  const { name, owner } = options;
  const job = await withBus(await findBus(terminal.env), async (bus) => {
    const current = await findJob(bus, named, owner);
    const patch: ScheduleJobPatch = {
      ...fieldsOf(options, current),
      ...(name !== undefined && { name }),
      ...(!options.delivery && { delivery: null }),
    };
    if (patch.payload !== undefined && patch.payload.kind !== current.payload.kind)
      patch.sessionTarget = patch.payload.kind === "systemEvent" ? "main" : "isolated";
    if (Object.keys(patch).length === 0)
      throw usage("name what is to change", "see it with: ./yard schedules edit --help");
    const request = { jobId: current.id, patch, ...ownerOf(owner) };
    return (await client(bus, { updateSchedule }).updateSchedule(request)).job;
  });
  printJob(terminal, job, options);
}

export function pause(terminal: Terminal, named: string, options: OwnerOption): Promise<void> {
  return switchTo(terminal, named, { ...options, enabled: false });
}

export function resume(terminal: Terminal, named: string, options: OwnerOption): Promise<void> {
  return switchTo(terminal, named, { ...options, enabled: true });
}

async function switchTo(
  terminal: Terminal,
  named: string,
  { enabled, owner, json }: OwnerOption & { enabled: boolean },
): Promise<void> {
  const reply = await withBus(await findBus(terminal.env), async (bus) =>
    client(bus, { updateSchedule }).updateSchedule({
      jobId: await jobIdOf(bus, named, owner),
      patch: { enabled },
      ...ownerOf(owner),
    }),
  );
  if (json) return writeJson(terminal, reply);
  terminal.out(`${reply.job.id} ${reply.job.name}: ${enabled ? "resumed" : "paused"}`);
}

export async function run(
  terminal: Terminal,
  named: string,
  { due, owner, json }: { due?: true } & OwnerOption,
): Promise<ExitCode> {
  const reply = await withBus(await findBus(terminal.env), async (bus) =>
    client(bus, { runSchedule }).runSchedule({
      jobId: await jobIdOf(bus, named, owner),
      mode: due === true ? "due" : "force",
      ...ownerOf(owner),
    }),
  );
  if (json) writeJson(terminal, reply);
  else if (reply.ran) {
    terminal.out(reply.runId ?? "it is due, and begins now");
    if (reply.runId !== undefined) terminal.note(`follow it: ./yard runs tail ${reply.runId}`);
  } else terminal.note(`nothing was begun: ${REASON[reply.reason ?? "not-due"]}`);
  return reply.ran ? EXIT.ok : EXIT.failed;
}

const REASON = {
  "not-due": "it is not due",
  "already-running": "a run of it is under way",
  disabled: "it is paused",
} as const;

export async function remove(
  terminal: Terminal,
  named: string,
  { owner, json }: OwnerOption,
): Promise<void> {
  const reply = await withBus(await findBus(terminal.env), async (bus) =>
    client(bus, { removeSchedule }).removeSchedule({
      jobId: await jobIdOf(bus, named, owner),
      ...ownerOf(owner),
    }),
  );
  if (json) return writeJson(terminal, reply);
  terminal.out(`${reply.jobId} is removed`);
}

function printJob(terminal: Terminal, job: ScheduleJob, { json }: { json?: true }): void {
  if (json) return writeJson(terminal, { job });
  for (const line of fieldLines(describeJob(job))) terminal.out(line);
}

/** The fields that the options are about; what they leave out of one is as it was. */
function fieldsOf(options: JobOptions, current: ScheduleJob | null) {
  const { agent: agentId, session: sessionKey, description, wake: wakeMode } = options;
  const { overlap, catchUp, keep } = options;
  const schedule = scheduleOf(options, current?.schedule);
  const payload = payloadOf(options, current?.payload);
  const delivery = deliveryOf(options, current?.delivery);
  return {
    ...(schedule !== undefined && { schedule }),
    ...(payload !== undefined && { payload }),
    ...(delivery !== undefined && { delivery }),
    ...(agentId !== undefined && { agentId }),
    ...(sessionKey !== undefined && { sessionKey }),
    ...(description !== undefined && { description }),
    ...(wakeMode !== undefined && { wakeMode }),
    ...(overlap !== undefined && { overlap }),
    ...(catchUp !== undefined && { catchUp }),
    ...(keep === true && { deleteAfterRun: false }),
  };
}

function scheduleOf(
  { at, every: everyMs, cron, tz, stagger: staggerMs }: JobOptions,
  current: JobSource | undefined,
): JobSchedule | undefined {
  if ([at, everyMs, cron].filter((given) => given !== undefined).length > 1)
    throw usage("give one of --at, --every and --cron");
  if (at !== undefined) return { kind: "at", at };
  if (everyMs !== undefined) return { kind: "every", everyMs };
  const expr = cron ?? current?.expr;
  const more = { ...(tz !== undefined && { tz }), ...(staggerMs !== undefined && { staggerMs }) };
  if (cron === undefined && Object.keys(more).length === 0) return undefined;
  if (expr === undefined) throw usage("--tz and --stagger belong to --cron");
  const { subject: _subject, stream: _stream, ...before } = current ?? {};
  return { ...before, kind: "cron", expr, ...more };
}

function payloadOf(
  { message, text, model, thinking, maxTime: timeoutSeconds }: JobOptions,
  current: JobPayload | undefined,
): JobPayload | undefined {
  if (message !== undefined && text !== undefined) throw usage("give one of --message and --text");
  const more = {
    ...(model !== undefined && { model }),
    ...(thinking !== undefined && { thinking }),
    ...(timeoutSeconds !== undefined && { timeoutSeconds }),
  };
  const hasMore = Object.keys(more).length > 0;
  const isSaid = text !== undefined || (message === undefined && current?.text !== undefined);
  if (hasMore && isSaid) throw usage("--model, --thinking and --max-time belong to --message");
  if (text !== undefined) return { kind: "systemEvent", text };
  const before = current?.kind === "agentTurn" ? current : undefined;
  const input = message ?? before?.message;
  if (message === undefined && !hasMore) return undefined;
  if (input === undefined) throw usage("give one of --message and --text");
  return { ...before, kind: "agentTurn", message: input, ...more };
}

function deliveryOf(
  { webhook, announce, to, bestEffort }: JobOptions,
  current: JobDelivery | undefined,
): JobDelivery | undefined {
  const more = bestEffort === undefined ? {} : { bestEffort };
  if (webhook !== undefined && announce !== undefined)
    throw usage("give one of --webhook and --announce");
  if (webhook !== undefined) return { mode: "webhook", to: webhook, ...more };
  if (announce === "last") {
    if (to !== undefined) throw usage("--announce last is where you wrote last, and takes no --to");
    return { mode: "announce", channel: announce, ...more };
  }
  if (announce !== undefined) {
    if (to === undefined) throw usage("--announce needs --to, such as user:42");
    return { mode: "announce", ...accountOf(announce), to, ...more };
  }
  if (to !== undefined) throw usage("--to belongs to --announce");
  if (bestEffort === undefined) return undefined;
  if (current === undefined) throw usage("--best-effort belongs to --webhook or --announce");
  return { ...current, ...more };
}

function usage(message: string, hint = "see ./yard help schedules"): CliError {
  return new CliError("usage", message, { hint });
}
