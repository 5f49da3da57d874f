import type { EgressGuard } from "@switchyard/service/network/egress-guard";
import { EgressError } from "@switchyard/service/network/egress-guard";
import { Agent, fetch } from "undici";
import type { ActiveRun, RunEnd } from "@switchyard/project/jobs/job-record";
import { isHeartbeat } from "../domain/heartbeat.ts";
import type { DeliveryOutcome } from "./delivery-outcome.ts";
import type { ScheduleJob } from "@switchyard/contracts/scheduler/schedules";

const TIMEOUT_MS = 10_000;

/** Sends the result of a run to a webhook. Never rejects. A repeat has the same `Idempotency-Key`. */
export async function sendWebhook(
  guard: EgressGuard,
  { job, run }: { readonly job: ScheduleJob; readonly run: ActiveRun & { readonly end: RunEnd } },
): Promise<DeliveryOutcome> {
  const { end } = run;
  const agent = new Agent({ connect: { lookup: guard.lookup } });
  try {
    const url = new URL(job.delivery?.to ?? "");
    guard.checkUrl(url);
    const response = await fetch(url, {
      method: "POST",
      dispatcher: agent,
      redirect: "manual",
      signal: AbortSignal.timeout(TIMEOUT_MS),
      headers: {
        "content-type": "application/json",
        // A heartbeat is one run for several jobs.
        "idempotency-key": isHeartbeat(run.start.runId ?? "")
          ? `${run.runId}:${job.id}`
          : run.runId,
        "user-agent": "switchyard-scheduler",
      },
      body: JSON.stringify({
        action: "finished",
        jobId: job.id,
        jobName: job.name,
        runId: run.runId,
        status: end.status,
        ...(end.output !== undefined && { output: end.output }),
        ...(end.error !== undefined && { error: end.error }),
        dueAtMs: run.dueAtMs,
        runAtMs: run.runAtMs,
        durationMs: Math.max(0, end.endedAtMs - run.runAtMs),
      }),
    });
    await response.body?.cancel();
    if (response.ok) return { outcome: "delivered" };
    const error = `${url.host} answered ${response.status}`;
    const passes = response.status >= 500 || response.status === 429 || response.status === 408;
    return { outcome: passes ? "again" : "refused", error };
  } catch (error) {
    return failure(error);
  } finally {
    void agent.destroy();
  }
}

function failure(error: unknown): DeliveryOutcome {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const text = cause instanceof Error ? cause.message : String(cause);
  if (cause instanceof EgressError) return { outcome: "refused", error: text };
  const isUnknown = error instanceof Error && error.name === "TimeoutError";
  return isUnknown
    ? { outcome: "unknown", error: `no answer within ${TIMEOUT_MS} ms` }
    : { outcome: "again", error: text };
}
