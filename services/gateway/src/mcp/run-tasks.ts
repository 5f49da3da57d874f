import { fullRunId } from "@switchyard/contracts/ids";
import { getRun, requestCancel, type RunDetail } from "@switchyard/contracts/agent-runner/runs";
import { describeWait, needsPerson } from "../agent-runs/run-wait.ts";
import type { Requester } from "../identity/requester.ts";

/** Runs as tasks of the extension `io.modelcontextprotocol/tasks`: the task's id is the run's name, so any gateway can find it. */

const POLL_MS = 1_000;

type TaskStatus = "working" | "input_required" | "completed" | "failed" | "cancelled";

export interface TaskResult {
  readonly [field: string]: unknown;
  readonly resultType: "task";
}

export function taskOfNewRun(runId: string): TaskResult {
  const now = new Date().toISOString();
  return {
    resultType: "task" as const,
    ...task(runId, { status: "working", createdAt: now, updatedAt: now }),
  };
}

export async function getTask(
  requester: Requester,
  taskId: string,
): Promise<Record<string, unknown>> {
  const runId = fullRunId(requester.caller, taskId);
  const { run } = await requester.ask(getRun, { runId });
  const { createdAt, updatedAt } = run;
  const status = statusOf(run);
  const said = messageOf(run);
  return {
    resultType: "complete",
    ...task(runId, { status, createdAt, updatedAt }),
    ...(said !== "" && { statusMessage: said }),
    ...(status === "completed" && { result: resultOf(run) }),
    ...(status === "failed" && { error: { code: -32_603, message: said } }),
  };
}

export async function cancelTask(
  requester: Requester,
  taskId: string,
): Promise<Record<string, unknown>> {
  await requester.ask(requestCancel, { runId: fullRunId(requester.caller, taskId) });
  return { resultType: "complete" };
}

function task(
  runId: string,
  facts: { status: TaskStatus; createdAt: string; updatedAt: string },
): Record<string, unknown> {
  return {
    taskId: runId.slice(runId.indexOf("~") + 1),
    status: facts.status,
    createdAt: facts.createdAt,
    lastUpdatedAt: facts.updatedAt,
    ttlMs: null,
    pollIntervalMs: POLL_MS,
  };
}

/** A run that waits for a person counts as working: its waits are listed, and decided under addresses of their own. */
function statusOf({ status }: RunDetail): TaskStatus {
  switch (status) {
    case "succeeded":
      return "completed";
    case "failed":
    case "dead":
      return "failed";
    case "cancelled":
      return "cancelled";
    default:
      return "working";
  }
}

function messageOf(run: RunDetail): string {
  if (run.failure !== null) return `${run.failure.code}: ${run.failure.message}`;
  const waits = (run.waits ?? []).filter(needsPerson);
  return waits.map((wait) => describeWait(run.runId, wait)).join("; ");
}

function resultOf({ runId, output, usage }: RunDetail): Record<string, unknown> {
  return {
    resultType: "complete",
    content: [{ type: "text", text: output ?? "" }],
    structuredContent: { runId, status: "succeeded", usage },
    isError: false,
  };
}
