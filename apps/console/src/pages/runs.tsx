import type { RunSummary } from "@switchyard/client/operations";
import { useState } from "preact/hooks";
import { textsOf } from "../core/form.ts";
import { count, durationText, shortRunId, usdText } from "../core/format.ts";
import { joined, useMoreRows } from "../core/more-rows.ts";
import { act, useResource } from "../core/resource.ts";
import { filterOf, navigate, setFilter } from "../core/router.ts";
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

const STATUSES = ["running", "waiting", "succeeded", "failed", "cancelled", "dead"] as const;
type RunStatus = (typeof STATUSES)[number];

const COLUMNS: readonly Column<RunSummary>[] = [
  { title: "Agent", cell: ({ agent }) => agent },
  { title: "Status", cell: ({ status }) => <Status is={status} /> },
  { title: "Started", cell: ({ createdAt }) => <Time at={createdAt} /> },
  {
    title: "Took",
    isNumber: true,
    isWide: true,
    cell: ({ createdAt, updatedAt, status }) =>
      status === "running" ? "…" : durationText(Date.parse(updatedAt) - Date.parse(createdAt)),
  },
  { title: "Steps", isNumber: true, isWide: true, cell: ({ steps }) => steps },
  { title: "Calls", isNumber: true, isWide: true, cell: ({ toolCalls }) => toolCalls },
  {
    title: "Cost",
    isNumber: true,
    isWide: true,
    cell: ({ costUsd }) => (typeof costUsd === "number" ? usdText(costUsd) : "–"),
  },
  { title: "Model", isWide: true, isMain: true, cell: ({ model }) => model },
  { title: "By", isWide: true, cell: ({ requester }) => requester },
  {
    title: "Run",
    isWide: true,
    cell: ({ runId }) => <Id value={runId} shown={shortRunId(runId)} />,
  },
];

export function Runs() {
  const status = STATUSES.find((one) => one === filterOf("status"));
  const agent = filterOf("agent");
  const search = filterOf("q").toLowerCase();
  const query = { limit: 200, ...(status && { status }), ...(agent !== "" && { agent }) };
  const runs = useResource("GET /runs", { query }, ["run"]);
  const more = useMoreRows(JSON.stringify(query), runs.data?.next ?? null, async (cursor) => {
    const page = await client.request("GET /runs", { query: { ...query, cursor } });
    return { rows: page.runs, next: page.next };
  });
  const [isStarting, setStarting] = useState(false);
  const fits = (run: RunSummary): boolean =>
    `${run.runId} ${run.agent} ${run.model} ${run.requester} ${Object.values(run.labels).join(" ")}`
      .toLowerCase()
      .includes(search);
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
      <Filters status={status} agent={agent} />
      <ResourceView
        of={runs}
        empty={(data) =>
          data.runs.length > 0 || data.next !== null ? null : status !== undefined ||
            agent !== "" ? (
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
              rows={joined(data.runs, more.rows, ({ runId }) => runId).filter(fits)}
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

function Filters({ status, agent }: { status: RunStatus | undefined; agent: string }) {
  return (
    <div class="filters" role="search">
      <SearchField label="Search" placeholder="Id, agent, model, label…" />
      <label>
        <span class="label">Status</span>
        <select
          value={status ?? ""}
          onChange={(event) => setFilter("status", event.currentTarget.value)}
        >
          <option value="">all</option>
          {STATUSES.map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      </label>
      {agent !== "" && (
        <button type="button" class="button small" onClick={() => setFilter("agent", "")}>
          agent: {agent} ✕
        </button>
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
