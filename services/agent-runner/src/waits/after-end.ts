import type { RunState } from "../core/run-state.ts";
import type { InspectAnswer } from "./inspect-answer.ts";
import type { RunControls } from "../journal/run-controls.ts";

/**
 * Applies the end of a run to the runs that it concerns: its parent receives the result, and if the run did not succeed, its
 * children are ended. The runner does it before it acknowledges the run's message, so it happens at least once; the parent
 * records it once.
 */
export async function announceEnd(
  { started, end, children, cancellation, length, updatedAt }: RunState,
  {
    controls,
    inspectAnswer,
  }: { readonly controls: RunControls; readonly inspectAnswer: InspectAnswer },
): Promise<void> {
  if (end === null) return;
  const { runId, parent, requester } = started;
  if (parent !== undefined) {
    const answer = { parent, childRunId: runId, requester, text: textOf(end) };
    const { text, isWithheld, record } = await inspectAnswer(answer);
    const isNew = await notifyParent(controls, {
      parent,
      childRunId: runId,
      at: updatedAt,
      status: isWithheld ? "failed" : end.status,
      text,
    });
    if (isNew) record();
  }
  if (end.status === "succeeded") return;
  const by = cancellation?.by ?? requester;
  for (const child of children.filter((known) => known.end === null)) {
    await controls.cancel({
      runId: child.childRunId,
      by,
      at: updatedAt,
      reason: `the run that it worked for, ${runId}, has ${end.status}`,
      // A retry of this run begins another life; the command does not cancel children that it starts then.
      command: `end:${runId}:${length}`,
    });
  }
}

/** Delivers to the parent the end of a child that it started, or of one that could not be started. Returns true for the first time. */
export async function notifyParent(
  controls: RunControls,
  news: {
    readonly parent: { readonly runId: string; readonly callId: string };
    readonly childRunId: string;
    readonly at: string;
    readonly status: NonNullable<RunState["end"]>["status"];
    readonly text: string;
  },
): Promise<boolean> {
  const { parent, childRunId, at, status, text } = news;
  const outcome = await controls.append({
    runId: parent.runId,
    entry: { kind: "child-ended", at, callId: parent.callId, childRunId, status, text },
    by: null,
    expected: childRunId,
    command: null,
  });
  return outcome === "taken";
}

function textOf(end: NonNullable<RunState["end"]>): string {
  switch (end.status) {
    case "succeeded":
      return end.output;
    case "failed":
    case "dead":
      return `${end.failure.code}: ${end.failure.message}`;
    case "cancelled":
      return "it was cancelled";
    default:
      return end satisfies never;
  }
}
