import type { ScheduleJob, ScheduleRun } from "@switchyard/client/operations";
import { useState } from "preact/hooks";
import { durationText } from "../core/format.ts";
import { act, useResource } from "../core/resource.ts";
import { navigate } from "../core/router.ts";
import { client, may } from "../core/session.ts";
import { toast } from "../core/toasts.ts";
import { Fact } from "../run/run-facts.tsx";
import { CopyMenu, Snippet } from "../ui/copy.tsx";
import { ask } from "../ui/dialog.tsx";
import { DataTable, type Column } from "../ui/data-table.tsx";
import { Page } from "../ui/page.tsx";
import { Loading, ProblemNote, ResourceView } from "../ui/resource-view.tsx";
import { Status } from "../ui/status.tsx";
import { saidCode } from "../ui/statuses.ts";
import { JobForm } from "./schedule-form.tsx";
import { ALL_JOBS, stateOf, When, whenText } from "./schedules.tsx";

const COLUMNS: readonly Column<ScheduleRun>[] = [
  { title: "Was due", cell: ({ dueAtMs }) => <When ms={dueAtMs} /> },
  { title: "Ended", cell: ({ status }) => <Status is={status} /> },
  {
    title: "What came of it",
    isMain: true,
    cell: ({ error, summary, missed = 0 }) =>
      `${error ?? summary ?? ""}${missed > 0 ? ` (and ${missed} more)` : ""}`,
  },
  {
    title: "Took",
    isWide: true,
    isNumber: true,
    cell: ({ durationMs }) => (durationMs === undefined ? "" : durationText(durationMs)),
  },
  {
    title: "Run",
    cell: ({ runId }) =>
      runId === undefined ? "" : <a href={`/runs/${encodeURIComponent(runId)}`}>to the run</a>,
  },
];

/** One job: its schedule, its action, and the results of its due times. */
export function SchedulePage({ params }: { params: Readonly<Record<string, string>> }) {
  const jobId = params["jobId"] ?? "";
  const jobs = useResource("GET /schedules", ALL_JOBS, ["schedule"]);
  const job = jobs.data?.jobs.find(({ id }) => id === jobId);
  return (
    <Page
      title={job?.name ?? "Job"}
      about={
        <>
          {job !== undefined && <Status is={stateOf(job)} />}{" "}
          <CopyMenu label="Copy" texts={{ "Job id": jobId }} />
        </>
      }
      cli={`yard schedules show ${jobId}`}
      nats={`nats sub 'yard.evt.schedule.*.${jobId}.*'`}
      actions={job !== undefined && <JobActions job={job} />}
    >
      {job !== undefined && <JobFacts job={job} />}
      {jobs.data === null && jobs.problem === null && <Loading />}
      {jobs.data === null && jobs.problem !== null && (
        <ProblemNote problem={jobs.problem} onRetry={jobs.reload} />
      )}
      {jobs.data !== null && job === undefined && (
        <div
          class="note wait"
          data-testid="problem"
          data-status={saidCode("problem", "unknown_job")}
        >
          <strong>There is no such job any more</strong>
          <p>It was removed, or ran once. What became of it can be read for 30 days.</p>
        </div>
      )}
      <History jobId={jobId} />
    </Page>
  );
}

function JobActions({ job }: { job: ScheduleJob }) {
  const [isEditing, setEditing] = useState(false);
  const path = { jobId: job.id };
  const runNow = (): Promise<boolean> =>
    act("", async () => {
      const request = { path, body: { mode: "force" as const } };
      const { ran, reason = "" } = await client.request("POST /schedules/{jobId}/run", request);
      toast(
        ran
          ? { text: "It begins", tone: "good" }
          : { text: `It does not begin: ${reason.replaceAll("-", " ")}`, tone: "bad" },
      );
    });
  const pause = (): Promise<boolean> =>
    act(job.enabled ? "The job is paused" : "The job is resumed", () =>
      client.request("PATCH /schedules/{jobId}", { path, body: { enabled: !job.enabled } }),
    );
  const remove = async (): Promise<void> => {
    const answer = await ask({
      title: `Remove ${job.name}?`,
      text: "It does not become due again. A run that is under way continues.",
      action: `Remove ${job.name}`,
      isDangerous: true,
    });
    if (answer === null) return;
    const isDone = await act(`${job.name} is removed`, () =>
      client.request("DELETE /schedules/{jobId}", { path }),
    );
    if (isDone) navigate("/schedules");
  };
  return (
    <>
      {job.schedule.kind !== "message" && may("POST /schedules/{jobId}/run") && (
        <button
          type="button"
          class="button primary"
          onClick={() => void runNow()}
          data-testid="run-job"
        >
          Run now
        </button>
      )}
      {may("PATCH /schedules/{jobId}") && (
        <>
          <button type="button" class="button" onClick={() => void pause()} data-testid="pause-job">
            {job.enabled ? "Pause" : "Resume"}
          </button>
          {job.declaredAs === undefined && (
            <button
              type="button"
              class="button"
              onClick={() => setEditing(true)}
              data-testid="edit-job"
            >
              Edit
            </button>
          )}
        </>
      )}
      {job.declaredAs === undefined && may("DELETE /schedules/{jobId}") && (
        <button
          type="button"
          class="button danger"
          onClick={() => void remove()}
          data-testid="remove-job"
        >
          Remove
        </button>
      )}
      {isEditing && <JobForm job={job} onClose={() => setEditing(false)} />}
    </>
  );
}

function JobFacts({ job }: { job: ScheduleJob }) {
  const { schedule, payload, state, sessionTarget, sessionKey } = job;
  return (
    <>
      <dl class="facts">
        <Fact name="When">{whenText(schedule)}</Fact>
        <Fact name="Next">
          <When ms={job.enabled ? state.nextRunAtMs : null} />
        </Fact>
        <Fact name="Last">
          <When ms={state.lastRunAtMs} />
        </Fact>
        <Fact name="Agent">{job.agentId ?? "the one for jobs"}</Fact>
        <Fact name="Where">
          {sessionTarget === "main" ? `session ${sessionKey ?? "main"}` : "a run of its own"}
        </Fact>
        <Fact name="While it runs">{OVERLAPS[job.overlap]}</Fact>
        <Fact name="Missed times">{job.catchUp === "once" ? "one run for all" : "left out"}</Fact>
        <Fact name="Owner">{job.owner}</Fact>
        {job.declaredAs !== undefined && (
          <Fact name="Declared">{job.declaredAs} in triggers.yaml</Fact>
        )}
      </dl>
      {state.lastError !== undefined && state.consecutiveErrors > 0 && (
        <div class="note bad" data-testid="job-error">
          <strong>The last run failed</strong>
          <p class="text">{state.lastError}</p>
        </div>
      )}
      {job.description !== undefined && <p class="text">{job.description}</p>}
      <Snippet label="What is said" text={payload.message ?? payload.text ?? ""} />
    </>
  );
}

const OVERLAPS = {
  skip: "a due time is skipped",
  queue: "a due time waits",
  parallel: "another one runs beside it",
} as const;

function History({ jobId }: { jobId: string }) {
  const request = { path: { jobId }, query: { limit: 100 } };
  const history = useResource("GET /schedules/{jobId}/runs", request, ["schedule"]);
  return (
    <>
      <h2>What became of its due times</h2>
      <ResourceView
        of={history}
        empty={(data) => (data.entries.length > 0 ? null : <p>None has come yet.</p>)}
      >
        {(data) => (
          <DataTable
            label="What became of its due times"
            testId="job-history"
            height="half"
            columns={COLUMNS}
            rows={data.entries}
            keyOf={({ ts, dueAtMs, runId = "" }) => `${ts} ${dueAtMs} ${runId}`}
          />
        )}
      </ResourceView>
    </>
  );
}
