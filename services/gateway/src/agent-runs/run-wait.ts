import type { RunWait } from "@switchyard/contracts/agent-runner/run-waits";

/** Returns one sentence for a person: why the run waits, and what makes it continue. */
export function describeWait(runId: string, wait: RunWait): string {
  const { reason, tool, approvalId, question, limit, stop, until } = wait;
  const time = until === null ? "" : ` until ${until}`;
  switch (reason) {
    case "approval":
      return `waits${time} for an approval of ${tool}: ${howToApprove(approvalId ?? "")}`;
    case "question":
      return `asks: ${question ?? ""}`;
    case "limit":
      return `waits at its limit ${limit?.limit ?? ""}: POST /api/v1/runs/${runId}/resume gives it another one`;
    case "stopped":
      return `waits for the end of an administrator's stop${stop === undefined || stop.reason === "" ? "" : `: ${stop.reason}`}`;
    case "child":
      return "waits for a run that works for it";
    default:
      return `waits${time}`;
  }
}

export function howToApprove(approvalId: string): string {
  return `POST /api/v1/approvals/${approvalId}/approve or /deny, or yard approvals approve ${approvalId}`;
}

/** True for a wait that only people can end. */
export function needsPerson({ reason }: Pick<RunWait, "reason">): boolean {
  return reason !== "child" && reason !== "timer";
}
