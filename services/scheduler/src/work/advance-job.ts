import type { Bus } from "@switchyard/bus/bus";
import { publishCommand } from "@switchyard/bus/publish";
import { beginRun } from "@switchyard/contracts/agent-runner/run-commands";
import type { ScheduleJob } from "@switchyard/contracts/scheduler/schedules";
import type { EgressGuard } from "@switchyard/service/network/egress-guard";
import { closeRun, endRun } from "../domain/end-run.ts";
import { heartbeatTurn, isHeartbeat, waitOn, type HeartbeatTurn } from "../domain/heartbeat.ts";
import {
  wakeTime,
  withRun,
  type ActiveRun,
  type Change,
  type RunEnd,
} from "@switchyard/project/jobs/job-record";
import { LAST_CHANNEL } from "@switchyard/project/jobs/make-job";
import { FIRST_LOOK_MS, takeDue, type DueSettings } from "../domain/take-due.ts";
import type { JobStore, Stored } from "../store/job-store.ts";
import { announce, findLastAddress } from "./announce.ts";
import type { DeliveryOutcome } from "./delivery-outcome.ts";
import { checkRun } from "./check-run.ts";
import { sendWebhook } from "./send-webhook.ts";

export interface AdvanceParts extends DueSettings {
  readonly bus: Bus;
  readonly store: JobStore;
  readonly guard: EgressGuard;
  readonly alertAfter: number;
  readonly now: () => number;
}

/** The intervals between checks of a run, unless an event reports its end earlier. */
const CHECK_MS = { first: FIRST_LOOK_MS, most: 60_000 };
/** A run that has been recorded for this long is abandoned, whatever its state. */
const MARKER_MS = 2 * 3_600_000;
const RETRY_MS = [5_000, 30_000, 120_000, 600_000];
/** Longer than a webhook or a message may take: a replica holds a delivery for this long. */
const DELIVERING_MS = 30_000;

/** The change that a check of one run makes to the current record. */
type Step = (stored: Stored, run: ActiveRun) => Change | null;

/**
 * Processes the due work of a job: begins due runs, sends commands, checks runs, delivers results. Each step is written before or
 * after its effect such that a crash between the two repeats only the sending of one command or message. Rejects when Redis or
 * NATS does not answer; the job is then processed again later.
 */
export async function advanceJob(id: string, parts: AdvanceParts): Promise<void> {
  const { store, now } = parts;
  let begun: ActiveRun | undefined;
  const stored = await update(id, parts, ({ record }) => {
    const change = takeDue(record, now(), parts);
    begun = change?.record?.active.find((run) => !record.active.includes(run));
    return change;
  });
  if (stored === null) return;
  if (begun?.phase === "running") await begin(id, begun, parts);
  // The write has set when the job has to be processed next.
  if (begun !== undefined && (wakeTime(stored.record) ?? 0) > now()) return;
  for (const run of stored.record.active)
    if (run.checkAtMs <= now()) await careForRun(id, run, parts);
  const last = await store.load(id);
  if (last !== null) await store.giveBack(id, last);
}

/** Handles an event that reports the end of a run of the job. `refusal`: it never began. */
export async function runHasEnded(
  id: string,
  { runId, refusal }: { readonly runId: string; readonly refusal?: string },
  parts: AdvanceParts,
): Promise<void> {
  const { bus, now, alertAfter } = parts;
  const stored = await parts.store.load(id);
  const run = stored?.record.active.find((one) => one.runId === runId);
  if (run === undefined || run.phase === "delivering") return;
  const end: RunEnd | string =
    refusal === undefined
      ? await checkRun(bus, runId, now)
      : { status: "error", error: refusal, endedAtMs: now() };
  if (typeof end === "string") return;
  await updateRun(id, runId, parts, ({ record }, current) =>
    current.phase === "delivering" ? null : endRun(record, current, end, alertAfter),
  );
  await advanceJob(id, parts);
}

async function careForRun(id: string, run: ActiveRun, parts: AdvanceParts): Promise<void> {
  if (run.phase === "delivering") return deliver(id, run, parts);
  const { bus, now, alertAfter } = parts;
  if (now() - Math.max(run.runAtMs, run.dueAtMs) > MARKER_MS + (run.start.limits?.timeoutMs ?? 0)) {
    const error = `no event of the run arrived for 2 h; see it with: yard runs show ${run.runId}`;
    const end: RunEnd = { status: "error", error, endedAtMs: now() };
    await updateRun(id, run.runId, parts, ({ record }, current) =>
      endRun(record, current, end, alertAfter),
    );
    return;
  }
  if (run.phase === "starting") {
    const isBegun = await begin(id, run, parts);
    await updateRun(id, run.runId, parts, ({ record }, current) => {
      if (current.phase !== "starting") return null;
      if (!isBegun) return waitOn(record, current, parts.heartbeatMs, now());
      return next(
        withRun(record, { ...current, phase: "running", checkAtMs: now() + CHECK_MS.first }),
      );
    });
    return;
  }
  const found = await checkRun(bus, run.runId, now);
  // Its command may be lost, or wait in the queue: the same one again is the same run.
  if (found === "unknown") await begin(id, run, parts);
  await updateRun(id, run.runId, parts, ({ record }, current) => {
    if (current.phase !== "running") return null;
    if (typeof found !== "string") return endRun(record, current, found, alertAfter);
    const waitMs = Math.min(Math.max(now() - current.runAtMs, CHECK_MS.first), CHECK_MS.most);
    return next(withRun(record, { ...current, checkAtMs: now() + waitMs }));
  });
}

/** Returns false when the run is a heartbeat that began without this job's text. */
async function begin(id: string, run: ActiveRun, parts: AdvanceParts): Promise<boolean> {
  const { agent, runId } = run;
  const owner = runId.slice(0, runId.indexOf("~"));
  let { start } = run;
  if (isHeartbeat(start.runId ?? "")) {
    const turn = await turnOf(owner, runId, parts);
    if (turn === null || !turn.jobs.includes(id)) return false;
    start = turn.start;
  }
  await publishCommand(parts.bus, beginRun, { agent }, { owner, start }, { correlationId: runId });
  return true;
}

async function turnOf(
  owner: string,
  runId: string,
  { store }: AdvanceParts,
): Promise<HeartbeatTurn | null> {
  const known = await store.heartbeat(runId);
  if (known !== null) return known;
  const jobs = await store.list(owner);
  const turn = heartbeatTurn(
    runId,
    jobs.map(({ record }) => record),
  );
  return turn === null ? null : store.beginHeartbeat(runId, turn);
}

async function deliver(id: string, run: ActiveRun, parts: AdvanceParts): Promise<void> {
  const { now, alertAfter, guard } = parts;
  // The replica that writes this holds the delivery, so that no two replicas send it at the same time.
  const claimed = await updateRun(id, run.runId, parts, ({ record }, current) => {
    if (current.checkAtMs !== run.checkAtMs) return null;
    const attempts = (current.attempts ?? 0) + 1;
    return next(withRun(record, { ...current, attempts, checkAtMs: now() + DELIVERING_MS }));
  });
  const mine = claimed?.record.active.find(({ runId }) => runId === run.runId);
  if (claimed === null || mine?.end === undefined) return;
  const { end, attempts = 1 } = mine;
  const { job } = claimed.record;
  const outcome = await (job.delivery?.mode === "announce"
    ? announceAt(id, { job, run: { ...mine, end } }, parts)
    : sendWebhook(guard, { job, run: { ...mine, end } }));
  const retryMs = RETRY_MS[attempts - 1];
  await updateRun(id, run.runId, parts, ({ record }, current) => {
    if (outcome.outcome === "delivered")
      return closeRun(
        record,
        { ...current, end },
        { delivered: { status: "delivered" }, now: now(), alertAfter },
      );
    const { isFinal = outcome.outcome === "refused", isUnsent = false } = outcome;
    if (!isFinal && retryMs !== undefined) {
      const round = (current.round ?? 0) + (isUnsent ? 1 : 0);
      return next(withRun(record, { ...current, round, checkAtMs: now() + retryMs }));
    }
    const status = outcome.outcome === "unknown" ? "unknown" : "not-delivered";
    return closeRun(
      record,
      { ...current, end },
      { delivered: { status, error: outcome.error }, now: now(), alertAfter },
    );
  });
}

/** Announces at the job's address; an address of `last` is stored first. */
async function announceAt(
  id: string,
  { job, run }: { job: ScheduleJob; run: ActiveRun & { end: RunEnd } },
  parts: AdvanceParts,
): Promise<DeliveryOutcome> {
  const { bus } = parts;
  if (job.delivery?.channel !== LAST_CHANNEL || run.place !== undefined)
    return announce(bus, { job, run });
  const place = await findLastAddress(bus, job.owner);
  if (place === undefined) return { outcome: "again", error: "channels does not answer" };
  if (place === null)
    return {
      outcome: "refused",
      error: `no owner of an account of ${job.owner} has written in private yet, so there is no last address; see docs/schedules.md`,
    };
  const stored = await updateRun(id, run.runId, parts, ({ record }, current) =>
    next(withRun(record, { ...current, place })),
  );
  if (stored === null) return { outcome: "again", error: "the job was removed" };
  return announce(bus, { job, run: { ...run, place } });
}

function next(record: Stored["record"]): Change {
  return { record, entries: [], events: [] };
}

async function updateRun(
  id: string,
  runId: string,
  parts: AdvanceParts,
  step: Step,
): Promise<Stored | null> {
  let isChanged = false;
  const stored = await update(id, parts, (current) => {
    const run = current.record.active.find((one) => one.runId === runId);
    const change = run === undefined ? null : step(current, run);
    isChanged = change !== null;
    return change;
  });
  return isChanged ? stored : null;
}

/** Changes a job as `decide` determines from its record, and retries after concurrent writes. Null: the job does not exist, or was removed. */
async function update(
  id: string,
  { store, now }: AdvanceParts,
  decide: (stored: Stored) => Change | null,
): Promise<Stored | null> {
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
    const stored = await store.load(id);
    const change = stored === null ? null : decide(stored);
    if (stored === null || change === null) return stored;
    if ((await store.write(id, stored, change, { now: now() })) !== "ok") continue;
    return change.record === null ? null : { record: change.record, revision: stored.revision + 1 };
  }
  throw new Error(`job ${id} was changed by others ${MOST_ATTEMPTS} times in a row`);
}

const MOST_ATTEMPTS = 20;
