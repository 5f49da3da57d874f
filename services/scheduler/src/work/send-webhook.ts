import type { EgressGuard } from "@switchyard/service/network/egress-guard";
import { postWebhook } from "@switchyard/service/network/post-webhook";
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
  const url = job.delivery?.to ?? "";
  const sent = await postWebhook({
    guard,
    url,
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
    headers: {
      // A heartbeat is one run for several jobs.
      "idempotency-key": isHeartbeat(run.start.runId ?? "") ? `${run.runId}:${job.id}` : run.runId,
      "user-agent": "switchyard-scheduler",
    },
    signing: null,
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  if (sent.kind === "timeout")
    return { outcome: "unknown", error: `no answer within ${TIMEOUT_MS} ms` };
  if (sent.kind !== "answered")
    return { outcome: sent.kind === "refused" ? "refused" : "again", error: sent.error.message };
  const { status } = sent;
  if (status >= 200 && status < 300) return { outcome: "delivered" };
  const passes = status >= 500 || status === 429 || status === 408;
  const error = `${new URL(url).host} answered ${status}`;
  return { outcome: passes ? "again" : "refused", error };
}
