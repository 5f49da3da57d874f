import type { ScheduleJob } from "@switchyard/client/operations";
import { useState } from "preact/hooks";
import { absoluteText, durationText } from "../core/format.ts";
import { joined, useMoreRows } from "../core/more-rows.ts";
import { useResource } from "../core/resource.ts";
import { callerName, client, may } from "../core/session.ts";
import { DataTable, type Column } from "../ui/data-table.tsx";
import { LoadMore } from "../ui/load-more.tsx";
import { Page } from "../ui/page.tsx";
import { ResourceView } from "../ui/resource-view.tsx";
import { Status } from "../ui/status.tsx";
import type { Word } from "../ui/statuses.ts";
import { Time } from "../ui/time.tsx";
import { JobForm } from "./schedule-form.tsx";

const COLUMNS: readonly Column<ScheduleJob>[] = [
  { title: "Name", cell: ({ name }) => name },
  { title: "State", cell: (job) => <Status is={stateOf(job)} /> },
  { title: "Next", cell: ({ enabled, state }) => <When ms={enabled ? state.nextRunAtMs : null} /> },
  { title: "When", isWide: true, isMain: true, cell: ({ schedule }) => whenText(schedule) },
  { title: "Last", isWide: true, cell: ({ state }) => <When ms={state.lastRunAtMs} /> },
  { title: "Agent", isWide: true, cell: ({ agentId }) => agentId ?? "the one for jobs" },
  { title: "Owner", isWide: true, cell: ({ owner }) => owner },
];

/** The jobs that the caller may see: its own, or all users'. */
export const ALL_JOBS = { query: { enabled: "all", all: true, limit: 200 } } as const;

/** Jobs with their next due times. */
export function Schedules() {
  const jobs = useResource("GET /schedules", ALL_JOBS, ["schedule"]);
  const more = useMoreRows("", jobs.data?.next ?? null, async (cursor) => {
    const page = await client.request("GET /schedules", {
      query: { ...ALL_JOBS.query, cursor },
    });
    return { rows: page.jobs, next: page.next };
  });
  const [isAdding, setAdding] = useState(false);
  const add = may("POST /schedules") && (
    <button
      type="button"
      class="button primary"
      onClick={() => setAdding(true)}
      data-testid="add-job"
    >
      Add a job
    </button>
  );
  return (
    <Page
      title="Schedules"
      about="Agents that run when it is time: once, again and again, or as a cron expression says."
      cli="yard schedules list"
      nats={`nats req yard.rpc.${callerName()}.schedules.list '{}'`}
      actions={add}
    >
      <ResourceView
        of={jobs}
        empty={(data) =>
          data.jobs.length > 0 ? null : (
            <>
              <p>Nothing is scheduled.</p>
              <p class="quiet">
                Add a job here, or at a terminal:{" "}
                <code>yard schedules add NAME --every 1h --message "…"</code>
              </p>
            </>
          )
        }
      >
        {(data) => (
          <>
            <DataTable
              label="Jobs"
              testId="jobs"
              columns={COLUMNS}
              rows={joined(data.jobs, more.rows, ({ id }) => id)}
              keyOf={({ id }) => id}
              hrefOf={({ id }) => `/schedules/${id}`}
              more={more}
            />
            <LoadMore of={more} />
          </>
        )}
      </ResourceView>
      {isAdding && <JobForm onClose={() => setAdding(false)} />}
    </Page>
  );
}

export function When({ ms }: { ms: number | null | undefined }) {
  return ms === null || ms === undefined ? <>–</> : <Time at={new Date(ms).toISOString()} />;
}

/** The state of a job, in a word. */
export function stateOf({ enabled, state }: ScheduleJob): Word {
  if (state.runningAtMs !== undefined) return "running";
  if (!enabled) return "paused";
  return state.consecutiveErrors > 0 ? "failing" : "active";
}

export function whenText(source: ScheduleJob["schedule"]) {
  const { kind, at = "", everyMs = 0, expr = "", tz, subject = "" } = source;
  if (kind === "message") return `on ${subject}`;
  if (kind === "at") return `once, ${absoluteText(at)}`;
  if (kind === "every") return `every ${durationText(everyMs)}`;
  return `${expr} in ${tz ?? "UTC"}`;
}
