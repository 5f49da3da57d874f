import type { RunDetail, RunSummary } from "@switchyard/client/operations";
import { useState } from "preact/hooks";
import { textsOf } from "../core/form.ts";
import { durationText, usdText } from "../core/format.ts";
import { firstWords, runText } from "../core/names.ts";
import { act, useResource } from "../core/resource.ts";
import { navigate } from "../core/router.ts";
import { client, may } from "../core/session.ts";
import { ask, Dialog } from "../ui/dialog.tsx";
import { ResourceView } from "../ui/resource-view.tsx";
import { Status } from "../ui/status.tsx";
import { Time } from "../ui/time.tsx";
import { DeleteRun } from "./delete-run.tsx";
import { isOver } from "./is-over.ts";
import type { StorySoFar } from "./run-story.ts";

interface Props {
  readonly run: RunDetail;
  readonly status: string;
  readonly story: StorySoFar;
  /** Reads the run again. */
  readonly reload: () => void;
}

/** The actions that the viewer may take on the run in its current state. */
export function RunActions({ run, status, story, reload }: Props) {
  const [isForking, setForking] = useState(false);
  const [isComparing, setComparing] = useState(false);
  const { runId } = run;
  const path = { runId };
  const name = [run.agent, firstWords(run.input, 30)].filter((part) => part !== "").join(": ");
  const cancel = async (): Promise<void> => {
    const reason = await ask({
      title: `Cancel ${name}?`,
      text: "Calls under way are not waited for. A cancelled run can be retried.",
      action: "Cancel the run",
      isDangerous: true,
      input: { label: "Why (optional)" },
    });
    if (reason === null) return;
    const body = reason === "" ? {} : { reason };
    await act(`${name} is being cancelled`, () =>
      client.request("POST /runs/{runId}/cancel", { path, body }),
    );
  };
  const steer = async (): Promise<void> => {
    const message = await ask({
      title: `A message for ${name}`,
      text: "The run reads it before its next model call.",
      action: "Send",
      input: { label: "Message", isLong: true },
    });
    if (message === null || message.trim() === "") return;
    await act("The message is on its way", () =>
      client.request("POST /runs/{runId}/steer", { path, body: { message } }),
    );
  };
  const isEnded = isOver(status);
  // A command that was rejected, or waits in the queue, has no run to delete.
  const hasBegun = run.status !== "rejected" && run.status !== "queued";
  return (
    <>
      {!isEnded && may("POST /runs/{runId}/steer") && (
        <button type="button" class="button" onClick={() => void steer()} data-testid="steer">
          Send a message
        </button>
      )}
      {may("POST /runs/{runId}/fork") && Math.max(run.steps, story.steps) > 0 && (
        <button type="button" class="button" onClick={() => setForking(true)} data-testid="fork">
          Fork
        </button>
      )}
      {!isEnded && may("POST /runs/{runId}/cancel") && (
        <button
          type="button"
          class="button danger"
          onClick={() => void cancel()}
          data-testid="cancel"
        >
          Cancel
        </button>
      )}
      {may("GET /runs") && (
        <button
          type="button"
          class="button"
          onClick={() => setComparing(true)}
          data-testid="compare"
        >
          Compare
        </button>
      )}
      {isEnded && hasBegun && <DeleteRun runId={runId} name={name} reload={reload} />}
      {isComparing && <CompareWith run={run} onClose={() => setComparing(false)} />}
      {isForking && <ForkRun run={run} steps={story.steps} onClose={() => setForking(false)} />}
    </>
  );
}

/** The run that it was copied from and the latest ones of its agent, to put one beside it. */
function CompareWith({ run, onClose }: { run: RunDetail; onClose: () => void }) {
  const latest = useResource("GET /runs", { query: { agent: run.agent, limit: 50 } });
  const hrefOf = (other: string): string =>
    `/compare/${encodeURIComponent(run.runId)}/${encodeURIComponent(other)}`;
  return (
    <Dialog title="Compare with another run" onClose={onClose} testId="compare-dialog">
      {run.forkedFrom !== undefined && (
        <a class="button primary" href={hrefOf(run.forkedFrom.runId)}>
          The one that it was copied from
        </a>
      )}
      <ResourceView of={latest}>
        {({ runs }) => (
          <ul class="lines" data-testid="comparable">
            {runs
              .filter(({ runId }) => runId !== run.runId)
              .map((other) => (
                <li key={other.runId}>
                  <Status is={other.status} />
                  <a href={hrefOf(other.runId)}>{runText(other)}</a>
                  <span class="quiet">
                    {summaryText(other)} · <Time at={other.createdAt} />
                  </span>
                </li>
              ))}
            {runs.length <= 1 && (
              <li>
                {run.agent} has no other run yet: retry, fork or start one, and compare them then.
              </li>
            )}
          </ul>
        )}
      </ResourceView>
      <div class="actions end">
        <button type="button" class="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  );
}

/** Duration and cost. */
function summaryText({ createdAt, updatedAt, costUsd }: RunSummary): string {
  const took = durationText(Date.parse(updatedAt) - Date.parse(createdAt));
  return typeof costUsd === "number" ? `${took} · ${usdText(costUsd)}` : took;
}

function ForkRun(props: { run: RunDetail; steps: number; onClose: () => void }) {
  const { run, steps, onClose } = props;
  const before = typeof run.input === "string" ? run.input : JSON.stringify(run.input, null, 2);
  const submit = async (event: SubmitEvent): Promise<void> => {
    const text = textsOf(event);
    const given = text("input");
    await act("", async () => {
      const isText = typeof run.input === "string";
      const input = isText ? given : (JSON.parse(given) as Record<string, unknown>);
      const newRunId = `fork-${crypto.randomUUID()}`;
      const body = {
        newRunId,
        fromStep: Number(text("fromStep")),
        ...(given === before ? {} : { input }),
      };
      await client.request("POST /runs/{runId}/fork", { path: { runId: run.runId }, body });
      onClose();
      navigate(`/runs/${newRunId}`);
    });
  };
  return (
    <Dialog title="Fork from a step" onClose={onClose} testId="fork-dialog">
      <form onSubmit={(event) => void submit(event)}>
        <p>
          The new run keeps answers and results of the steps before, and continues from there by
          itself. Nothing of them is called or paid again.
        </p>
        <label class="field">
          <span>First step that is made anew, 1 to {steps}</span>
          <input
            type="number"
            name="fromStep"
            min={1}
            max={Math.max(1, steps)}
            defaultValue={String(steps)}
            required
          />
        </label>
        <label class="field">
          <span>Input</span>
          <textarea name="input" rows={6} defaultValue={before} required />
        </label>
        <div class="actions end">
          <button type="button" class="button" onClick={onClose}>
            Keep as it is
          </button>
          <button class="button primary">Fork</button>
        </div>
      </form>
    </Dialog>
  );
}
