import type { RunSummary } from "@switchyard/client/operations";
import { useEffect, useMemo, useState } from "preact/hooks";
import { textsOf } from "../core/form.ts";
import { count, durationText, numberText, shortRunId, usdText } from "../core/format.ts";
import { joined, useMoreRows } from "../core/more-rows.ts";
import { act, useResource } from "../core/resource.ts";
import { filterOf, navigate, setFilter } from "../core/router.ts";
import {
  FAILED,
  listQuery,
  RANGES,
  RUN_FILTERS,
  runsHref,
  STATUSES,
  timesOf,
  type RunFilterName,
  type RunFilterValues,
} from "../core/run-query.ts";
import { useRunRows } from "../core/run-rows.ts";
import { storedViews, storeViews, type SavedView } from "../core/saved-views.ts";
import { client, may } from "../core/session.ts";
import { Id } from "../ui/copy.tsx";
import { DataTable, type Column } from "../ui/data-table.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { LoadMore } from "../ui/load-more.tsx";
import { Page } from "../ui/page.tsx";
import { ResourceView } from "../ui/resource-view.tsx";
import { SearchField } from "../ui/search-field.tsx";
import { Status } from "../ui/status.tsx";
import { Time } from "../ui/time.tsx";
import { RejectedRuns } from "./rejected-runs.tsx";

const COLUMNS: readonly Column<RunSummary>[] = [
  {
    title: "Agent",
    cell: ({ agent, inputStart }) => (
      <>
        {agent}
        {inputStart !== "" && <span class="on-phone"> · {inputStart}</span>}
      </>
    ),
  },
  {
    title: "Status",
    cell: ({ status, errorCode }) => (
      <span title={errorCode}>
        <Status is={status} />
      </span>
    ),
  },
  { title: "Started", cell: ({ createdAt }) => <Time at={createdAt} /> },
  {
    title: "Took",
    isNumber: true,
    isWide: true,
    cell: ({ createdAt, updatedAt, status }) =>
      status === "running" ? "…" : durationText(Date.parse(updatedAt) - Date.parse(createdAt)),
  },
  { title: "Steps", isNumber: true, isWide: true, cell: ({ steps }) => steps },
  {
    title: "Cost",
    isNumber: true,
    isWide: true,
    cell: ({ costUsd }) => (typeof costUsd === "number" ? usdText(costUsd) : "–"),
  },
  { title: "Input", isWide: true, isMain: true, cell: ({ inputStart }) => inputStart },
  { title: "Model", isWide: true, cell: ({ model }) => model },
  { title: "By", isWide: true, cell: ({ requester }) => requester },
  {
    title: "Run",
    isWide: true,
    cell: ({ runId }) => <Id value={runId} shown={shortRunId(runId)} />,
  },
];

const SETTLED_MS = 300;

/** A text that a person types, once it has not changed for a moment. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), SETTLED_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

export function Runs() {
  const values: RunFilterValues = Object.fromEntries(
    RUN_FILTERS.map((name) => [name, filterOf(name)]),
  );
  const { range, from, to } = values;
  const q = useSettled(values.q ?? "");
  // The times of a range stay while it is shown: a list that moves by itself loses the person's position.
  const times = useMemo(() => timesOf({ range, from, to }), [range, from, to]);
  const query = listQuery({ ...values, q }, times);
  const runs = useRunRows(query);
  const more = useMoreRows(JSON.stringify(query), runs.data?.next ?? null, async (cursor) => {
    const page = await client.request("GET /runs", { query: { ...query, cursor } });
    return { rows: page.runs, next: page.next };
  });
  const isFiltered = RUN_FILTERS.some((name) => name !== "sort" && values[name]);
  const [isStarting, setStarting] = useState(false);
  return (
    <Page
      title="Runs"
      about="What agents are doing and have done. The list is live."
      cli="yard runs list"
      nats="nats sub 'yard.evt.run.>'"
      actions={
        may("POST /runs") && (
          <button
            type="button"
            class="button primary"
            onClick={() => setStarting(true)}
            data-testid="start-run"
          >
            Start a run
          </button>
        )
      }
    >
      <RejectedRuns />
      <Filters values={values} times={times} />
      <SavedViews values={values} />
      <ResourceView
        of={runs}
        empty={(data) =>
          data.runs.length > 0 || data.next !== null ? null : isFiltered ? (
            <>
              <p>No run fits these filters.</p>
              <a class="button" href="/runs">
                Show all runs
              </a>
            </>
          ) : (
            <>
              <p>Nothing has run yet.</p>
              {may("POST /runs") && (
                <button type="button" class="button primary" onClick={() => setStarting(true)}>
                  Start the first run
                </button>
              )}
              <p class="quiet">
                Or at a terminal: <code>yard run demo "What is in this repository?"</code>
              </p>
            </>
          )
        }
      >
        {(data) => (
          <>
            <DataTable
              label="Runs"
              testId="runs"
              columns={COLUMNS}
              rows={joined(data.runs, more.rows, ({ runId }) => runId)}
              keyOf={({ runId }) => runId}
              hrefOf={({ runId }) => `/runs/${encodeURIComponent(runId)}`}
              more={more}
            />
            <LoadMore of={more} />
          </>
        )}
      </ResourceView>
      {isStarting && <StartRun onClose={() => setStarting(false)} />}
    </Page>
  );
}

/** Filters with the number of runs of each value in the chosen time. */
function Filters({
  values,
  times,
}: {
  values: RunFilterValues;
  times: ReturnType<typeof timesOf>;
}) {
  const query = times.from === undefined ? { ...times, from: SINCE_EVER } : times;
  const totals = useResource("GET /runs/totals", { query }, ["run"], TOTALS_AGAIN_MS).data;
  const statuses = STATUSES.map((name) => ({ name, runs: totals?.statuses[name] }));
  const failed = { name: FAILED, title: "failed or dead", runs: totals?.total.failed };
  return (
    <div class="filters" role="search">
      <SearchField label="Search" placeholder="Input, id, agent, label…" />
      <Choice title="Status" name="status" {...{ values }} options={[failed, ...statuses]} />
      <Choice title="Agent" name="agent" {...{ values }} options={counted(totals?.agents)} />
      <Choice
        title="Time"
        name="range"
        {...{ values }}
        options={Object.entries(RANGES).map(([name, title]) => ({ name, title }))}
      />
      <Choice title="Error" name="error" {...{ values }} options={counted(totals?.errors)} />
      <Choice title="Model" name="model" {...{ values }} options={counted(totals?.models)} />
      <Choice
        title="Order"
        name="sort"
        {...{ values }}
        none="newest first"
        options={Object.entries(ORDERS).map(([name, title]) => ({ name, title }))}
      />
      {(["label", "by", "from", "to"] as const).map((name) =>
        values[name] ? (
          <button key={name} type="button" class="button small" onClick={() => setFilter(name, "")}>
            {name}: {values[name]} ✕
          </button>
        ) : null,
      )}
    </div>
  );
}

/** Totals need a begin; no run is older. */
const SINCE_EVER = "2020-01-01T00:00:00.000Z";
const TOTALS_AGAIN_MS = 10_000;
const ORDERS = {
  oldest: "oldest first",
  longest: "longest first",
  dearest: "dearest first",
} as const;

interface Named {
  readonly name: string | null;
  readonly runs: number;
}

function counted(rows: readonly Named[] = []): { name: string; runs: number }[] {
  return rows.flatMap(({ name, runs }) => (name === null ? [] : [{ name, runs }]));
}

/** A filter with a list of values; one that the address has and the list has not is added. */
function Choice(props: {
  title: string;
  name: RunFilterName;
  values: RunFilterValues;
  none?: string;
  options: readonly {
    readonly name: string;
    readonly title?: string;
    readonly runs?: number | undefined;
  }[];
}) {
  const { title, name, values, none = "all", options } = props;
  const value = values[name] ?? "";
  const chosen = name === "sort" && value === "newest" ? "" : value;
  const isListed = chosen === "" || options.some((option) => option.name === chosen);
  return (
    <label>
      <span class="label">{title}</span>
      <select
        value={chosen}
        onChange={(event) => setFilter(name, event.currentTarget.value)}
        data-testid={`filter-${name}`}
      >
        <option value="">{none}</option>
        {(isListed ? options : [...options, { name: chosen }]).map((option) => (
          <option key={option.name} value={option.name}>
            {option.title ?? option.name}
            {option.runs === undefined ? "" : ` (${numberText(option.runs)})`}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Filters that this person has named in this browser. */
function SavedViews({ values }: { values: RunFilterValues }) {
  const [views, setViews] = useState(storedViews);
  const [isNaming, setNaming] = useState(false);
  const here = runsHref(values);
  const change = (next: readonly SavedView[]): void => {
    storeViews(next);
    setViews(next);
  };
  const save = (event: SubmitEvent): void => {
    const name = textsOf(event)("name").trim();
    if (name !== "") change([...views.filter((view) => view.name !== name), { name, href: here }]);
    setNaming(false);
  };
  const isSaved = here === "/runs" || views.some(({ href }) => href === here);
  if (views.length === 0 && isSaved) return null;
  return (
    <div class="tags" data-testid="saved-views">
      {views.map((view) => (
        <span key={view.name} class="saved-view">
          <a class="button small" href={view.href} aria-current={view.href === here && "page"}>
            {view.name}
          </a>
          <button
            type="button"
            class="button small"
            aria-label={`Forget the view ${view.name}`}
            onClick={() => change(views.filter(({ name }) => name !== view.name))}
          >
            ✕
          </button>
        </span>
      ))}
      {!isSaved && (
        <button
          type="button"
          class="button small"
          onClick={() => setNaming(true)}
          data-testid="save-view"
        >
          Save this view
        </button>
      )}
      {isNaming && (
        <Dialog title="Save this view" onClose={() => setNaming(false)} testId="save-view-dialog">
          <form class="form" onSubmit={save}>
            <label class="field">
              <span>Name</span>
              <input name="name" maxLength={60} required autoFocus />
            </label>
            <p class="quiet">It is stored in this browser; to share it, share the address.</p>
            <div class="actions end">
              <button class="button primary">Save</button>
            </div>
          </form>
        </Dialog>
      )}
    </div>
  );
}

/** Asks for agent and input, starts a run and goes to it. */
export function StartRun({ agent = "", onClose }: { agent?: string; onClose: () => void }) {
  const agents = useResource("GET /agents", {});
  const models = useResource("GET /models", may("GET /models") ? {} : null);
  const submit = async (event: SubmitEvent): Promise<void> => {
    const text = textsOf(event);
    const model = text("model");
    const body = {
      agent: text("agent"),
      input: text("input"),
      ...(model !== "" && { model }),
    };
    await act("", async () => {
      const { runId } = await client.request("POST /runs", {
        body,
        idempotencyKey: crypto.randomUUID(),
      });
      onClose();
      navigate(`/runs/${encodeURIComponent(runId)}`);
    });
  };
  return (
    <Dialog title="Start a run" onClose={onClose} testId="start-run-dialog">
      <ResourceView of={agents}>
        {(data) => (
          <form onSubmit={(event) => void submit(event)}>
            <label class="field">
              <span>Agent</span>
              <select name="agent" required>
                {data.agents.map(({ name, description }) => (
                  <option
                    key={name}
                    value={name}
                    title={description}
                    selected={name === (agent === "" ? firstOf(data.agents) : agent)}
                  >
                    {name}
                  </option>
                ))}
              </select>
            </label>
            <label class="field">
              <span>What it is to do</span>
              <textarea name="input" rows={4} required />
            </label>
            <label class="field">
              <span>Model</span>
              <input name="model" placeholder="the agent's own" list="models" maxLength={200} />
              <small class="quiet">
                {models.data === null ? "" : count(models.data.providers.length, "provider")} known
              </small>
            </label>
            <div class="actions end">
              <button type="button" class="button" onClick={onClose}>
                Cancel
              </button>
              <button class="button primary">Start</button>
            </div>
          </form>
        )}
      </ResourceView>
    </Dialog>
  );
}

function firstOf(agents: readonly { readonly name: string }[]): string {
  return (agents.find(({ name }) => name === "demo") ?? agents[0])?.name ?? "";
}
