import type { RunState } from "../core/run-state.ts";
import type { RunControls } from "../journal/run-controls.ts";

/**
 * What the end of a run means to others: its parent is told what came of it, and the runs that worked
 * for one that did not succeed are ended. It is done before the run's message leaves the queue, so it
 * happens at least once; the parent takes it once.
 */
export async function tellOthersOfEnd(
  { started, end, children, cancellation, length, updatedAt }: RunState,
  controls: RunControls,
): Promise<void> {
  if (end === null) return;
  const { runId, parent, requester } = started;
  if (parent !== undefined) {
    const text = textOf(end);
    await tellParent(controls, {
      parent,
      childRunId: runId,
      at: updatedAt,
      status: end.status,
      text,
    });
  }
  if (end.status === "succeeded") return;
  const by = cancellation?.by ?? requester;
  for (const child of children.filter((known) => known.end === null)) {
    await controls.cancel({
      runId: child.childRunId,
      by,
      at: updatedAt,
      reason: `the run that it worked for, ${runId}, has ${end.status}`,
      // A retry of this run begins another life; what it starts then is not meant.
      command: `end:${runId}:${length}`,
    });
  }
}

/** Tells a parent how a run ended that it had started, or that could not be started. */
export async function tellParent(
  controls: RunControls,
  news: {
    readonly parent: { readonly runId: string; readonly callId: string };
    readonly childRunId: string;
    readonly at: string;
    readonly status: NonNullable<RunState["end"]>["status"];
    readonly text: string;
  },
): Promise<void> {
  const { parent, childRunId, at, status, text } = news;
  await controls.tell({
    runId: parent.runId,
    entry: { kind: "child-ended", at, callId: parent.callId, childRunId, status, text },
    by: null,
    expected: childRunId,
    command: null,
  });
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
