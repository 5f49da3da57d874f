import type { Bus } from "@switchyard/bus/bus";
import { call } from "@switchyard/bus/call";
import { isError } from "@switchyard/contracts/errors";
import { getRun, type RunDetail } from "@switchyard/contracts/agent-runner/runs";
import type { RunEnd } from "@switchyard/project/jobs/job-record";

/** Returns how a run ended; `unknown`: no runner has it. Rejects with a ServiceError when that cannot be determined. */
export async function checkRun(
  bus: Bus,
  runId: string,
  now: () => number,
): Promise<RunEnd | "under way" | "unknown"> {
  let run: RunDetail;
  try {
    ({ run } = await call(bus, getRun, { runId }));
  } catch (error) {
    if (isError(error, getRun, "unknown_run")) return "unknown";
    throw error;
  }
  if (UNDER_WAY.has(run.status)) return "under way";
  const { inputTokens: input, outputTokens: output, ...cached } = run.usage;
  const { cacheReadTokens: cacheRead, cacheWriteTokens: cacheWrite } = cached;
  return {
    status: run.status === "succeeded" ? "ok" : "error",
    ...(run.output !== null && { output: run.output }),
    ...(run.status !== "succeeded" && { error: reasonOf(run) }),
    ...(run.model !== null && { model: run.model, provider: run.model.split("/", 1)[0] }),
    ...(run.session !== undefined && { sessionId: run.session.sessionId }),
    usage: {
      input,
      output,
      total: input + output,
      ...(cacheRead !== undefined && { cacheRead }),
      ...(cacheWrite !== undefined && { cacheWrite }),
    },
    endedAtMs: Math.min(now(), Date.parse(run.updatedAt)),
  };
}

const UNDER_WAY: ReadonlySet<string> = new Set(["queued", "running", "waiting"]);

function reasonOf({ status, failure, cancellation }: RunDetail): string {
  if (failure !== null) return `${failure.code}: ${failure.message}`;
  return cancellation === null ? `the run is ${status}` : `cancelled by ${cancellation.by}`;
}
