import type { Reply } from "@switchyard/client/client";
import type { RunSummary } from "@switchyard/client/operations";
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { count, durationText, numberText, shortRunId, usdText } from "../core/format.ts";
import { useAgainEvery, useResource } from "../core/resource.ts";
import { filterOf, setFilter } from "../core/router.ts";
import {
  FAILED,
  isRange,
  listQuery,
  RANGES,
  runsHref,
  timesOf,
  totalsQuery,
  type RangeName,
} from "../core/run-query.ts";
import { callerName, may } from "../core/session.ts";
import { Chart } from "../ui/chart.tsx";
import { Page } from "../ui/page.tsx";
import { Empty, ResourceView } from "../ui/resource-view.tsx";
import { Status } from "../ui/status.tsx";
import { Time } from "../ui/time.tsx";

const SYSTEM_AGAIN_MS = 30_000;
/** While runs start and end all the time, figures are that old at most. */
const TOTALS_AGAIN_MS = 10_000;
const SHOWN = 8;

type Totals = Reply<"GET /runs/totals">;

/** An overview: every figure is of all runs of the range, and links to the list of just these. */
export function Overview() {
  const chosen = filterOf("range");
  const range = isRange(chosen) ? chosen : "24h";
  const totals = useResource(
    "GET /runs/totals",
    { query: totalsQuery(range) },
    ["run"],
    TOTALS_AGAIN_MS,
  );
  const approvals = useResource("GET /approvals", {}, ["approval"]);
  const servers = useResource("GET /mcp/servers", may("GET /mcp/servers") ? {} : null, ["server"]);
  const models = useResource("GET /models", may("GET /models") ? {} : null);
  const down = (servers.data?.servers ?? []).filter(({ status }) => status === "error");
  const model = models.data?.default ?? "";
  return (
    <Page
      title="Overview"
      about="What runs, what waits for you, what went wrong."
      cli={range === "yesterday" ? "yard runs totals" : `yard runs totals --range ${range}`}
      nats={`nats req yard.rpc.${callerName()}.runs.totals '{}'`}
      actions={<Ranges chosen={range} />}
    >
      {model.startsWith("scripted/") && (
        <div class="note wait" data-testid="demo-model">
          <strong>No model is configured</strong>
          <p>
            Agents follow the plan in their file ({model}): rule-based, no AI. Set a key such as
            ANTHROPIC_API_KEY where <code>yard dev</code> starts.
          </p>
        </div>
      )}
      <div class="cards figures">
        <Figure title="Waiting approvals" href="/approvals" value={approvals.data?.pending}>
          {(approvals.data?.pending ?? 0) > 0 ? "Look at them" : "No call waits for you"}
        </Figure>
        <Figure
          title="Running"
          href={runsHref({ status: "running" })}
          value={textOf(totals.data?.now.running)}
          testId="running"
        >
          {nowText(totals.data)}
        </Figure>
        <RangeFigures totals={totals.data} range={range} />
        {may("GET /mcp/servers") && (
          <Figure
            title="MCP servers"
            href="/servers"
            value={
              servers.data?.servers.filter(({ status }) => status === "connected").length ?? null
            }
          >
            {down.length === 0
              ? "connected, none failed"
              : `connected; failed: ${down.map(({ id }) => id).join(", ")}`}
          </Figure>
        )}
        {may("GET /system") && <Queues />}
      </div>
      <ResourceView of={totals}>{(data) => <Details totals={data} range={range} />}</ResourceView>
    </Page>
  );
}

/** The time that the figures are of, in the address. */
function Ranges({ chosen }: { chosen: RangeName }) {
  return (
    <div class="segments" role="group" aria-label="Time">
      {Object.entries(RANGES).map(([name, title]) => (
        <button
          key={name}
          type="button"
          class="button small"
          aria-pressed={name === chosen}
          onClick={() => setFilter("range", name)}
          data-testid={`range-${name}`}
        >
          {title}
        </button>
      ))}
    </div>
  );
}

function nowText(totals: Totals | null): string {
  if (totals === null) return "";
  const { waiting, suspended } = totals.now;
  const more = `${numberText(waiting)} more ${waiting === 1 ? "run waits" : "runs wait"}`;
  return suspended === 0 ? more : `${more}; ${numberText(suspended)} of the running suspended`;
}

/** Failures, durations and cost of the runs that began in the range. */
function RangeFigures({ totals, range }: { totals: Totals | null; range: RangeName }) {
  const total = totals?.total;
  const { p50 = null, p95 = null } = totals?.durationMs ?? {};
  return (
    <>
      <Figure
        title="Failed"
        href={runsHref({ status: FAILED, range })}
        value={textOf(total?.failed)}
        isBad={(total?.failed ?? 0) > 0}
        testId="failed"
      >
        of {count(total?.runs ?? 0, "run")}, {RANGES[range]}
      </Figure>
      <Figure
        title="p95 duration"
        href={runsHref({ range, sort: "longest" })}
        value={p95 === null ? null : durationText(p95)}
        testId="p95"
      >
        {p50 === null ? "No run has ended" : `median ${durationText(p50)}`}
      </Figure>
      <Figure
        title="Spend"
        href={runsHref({ range, sort: "dearest" })}
        value={total === undefined || total.runs === 0 ? null : usdText(total.costUsd)}
        testId="spend"
      >
        {total !== undefined && (
          <>
            {numberText(total.inputTokens + total.outputTokens)} tokens of{" "}
            {count(total.runs, "run")}
            {total.unpriced > 0 && `; ${numberText(total.unpriced)} of them without a known price`}
          </>
        )}
      </Figure>
    </>
  );
}

function textOf(n: number | undefined): string | null {
  return n === undefined ? null : numberText(n);
}

/** The charts and tables below the figures. */
function Details({ totals, range }: { totals: Totals; range: RangeName }) {
  const { total, buckets, agents, models, errors, searchedFrom } = totals;
  const latest = useResource("GET /runs", { query: { limit: SHOWN } }, ["run"], TOTALS_AGAIN_MS);
  const times = buckets.map(({ at }) => Date.parse(at) / 1_000);
  const inRange = `in the ${RANGES[range]}`.replace("in the yesterday", "yesterday");
  if (latest.data?.runs.length === 0)
    return (
      <Empty>
        <p>Nothing has run yet.</p>
        <a class="button primary" href="/runs">
          Start the first run
        </a>
      </Empty>
    );
  return (
    <>
      {searchedFrom !== null && (
        <p class="quiet">
          Only the newest 100,000 runs are counted; the oldest of them began{" "}
          <Time at={searchedFrom} />.
        </p>
      )}
      <div class="columns">
        <Bars
          title="Runs"
          text={`${count(total.runs, "run")} ${inRange}`}
          times={times}
          values={buckets.map(({ runs }) => runs)}
        />
        {total.failed > 0 && (
          <Bars
            title="Failures"
            text={`${count(total.failed, "failure")} ${inRange}`}
            times={times}
            values={buckets.map(({ failed }) => failed)}
            kind="bad"
            testId="failures"
          />
        )}
        {total.costUsd > 0 && (
          <Bars
            title="Spend"
            text={`${usdText(total.costUsd)} for runs begun ${inRange}`}
            times={times}
            values={buckets.map(({ costUsd }) => costUsd)}
            kind="money"
            testId="spend-chart"
          />
        )}
        {errors.length > 0 && (
          <Sums title="Top errors" rows={errors} range={range} of="error" testId="top-errors" />
        )}
        {agents.length > 0 && (
          <Sums title="By agent" rows={agents} range={range} of="agent" testId="by-agent" />
        )}
        {models.length > 0 && (
          <Sums title="By model" rows={models} range={range} of="model" testId="by-model" />
        )}
        <Latest title="Latest" runs={latest.data?.runs ?? []} />
        {total.failed > 0 && <FailedLast range={range} />}
      </div>
    </>
  );
}

function Bars(props: {
  title: string;
  /** The content of the chart in words. */
  text: string;
  times: readonly number[];
  values: readonly number[];
  kind?: "money" | "bad";
  testId?: string;
}) {
  const { title, text, times, values, kind, testId } = props;
  return (
    <section class="card" data-testid={testId}>
      <h2>{title}</h2>
      <Chart
        times={times}
        values={values}
        label={text}
        isMoney={kind === "money"}
        isBad={kind === "bad"}
      />
      <p class="quiet">{text}</p>
    </section>
  );
}

/** Sums by name; each number links to its runs. */
function Sums(props: {
  title: string;
  rows: Totals["agents"];
  range: RangeName;
  of: "agent" | "model" | "error";
  testId: string;
}) {
  const { title, rows, range, of, testId } = props;
  const isOfErrors = of === "error";
  return (
    <section class="card" data-testid={testId}>
      <h2>{title}</h2>
      <table class="sums">
        <thead>
          <tr>
            <th scope="col">{isOfErrors ? "Error" : of === "agent" ? "Agent" : "Model"}</th>
            <th scope="col" class="number">
              Runs
            </th>
            {!isOfErrors && (
              <>
                <th scope="col" class="number">
                  Failed
                </th>
                <th scope="col" class="number">
                  Cost
                </th>
              </>
            )}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, SHOWN).map(({ name, runs, failed, costUsd }) => {
            const one = name === null ? null : { range, [of]: name };
            return (
              <tr key={name ?? ""}>
                <td class="main">
                  {one === null ? "all others" : <a href={runsHref(one)}>{name}</a>}
                </td>
                <td class="number">{numberText(runs)}</td>
                {!isOfErrors && (
                  <>
                    <td class="number">
                      {one === null || failed === 0 ? (
                        numberText(failed)
                      ) : (
                        <a
                          class="bad-text"
                          href={runsHref({ ...one, status: FAILED })}
                          aria-label={`${count(failed, "failed run")} of ${name ?? ""}`}
                        >
                          {numberText(failed)}
                        </a>
                      )}
                    </td>
                    <td class="number">{usdText(costUsd)}</td>
                  </>
                )}
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}

function FailedLast({ range }: { range: RangeName }) {
  const query = useMemo(
    () => ({ ...listQuery({ status: FAILED }, timesOf({ range })), limit: SHOWN }),
    [range],
  );
  const failed = useResource("GET /runs", { query }, ["run"], TOTALS_AGAIN_MS);
  return <Latest title="Failed last" runs={failed.data?.runs ?? []} />;
}

/** The bus's queues, and whether the services answer. */
function Queues() {
  const system = useResource("GET /system", {});
  useAgainEvery(system, SYSTEM_AGAIN_MS);
  const queues = system.data?.streams.flatMap((stream) => stream.queues) ?? [];
  const waiting = queues.reduce((sum, queue) => sum + queue.waiting, 0);
  const inWork = queues.reduce((sum, queue) => sum + queue.inWork, 0);
  const names = new Set(system.data?.services.map(({ name }) => name));
  return (
    <>
      <Figure title="Waiting in queues" href="/system" value={system.data && waiting}>
        {count(inWork, "message")} in work
      </Figure>
      <Figure title="Services" href="/system" value={system.data && names.size}>
        answer, with {count(system.data?.services.length ?? 0, "replica")}
      </Figure>
    </>
  );
}

function Figure(props: {
  title: string;
  href: string;
  value: number | string | null | undefined;
  isBad?: boolean;
  testId?: string;
  children: ComponentChildren;
}) {
  const { title, href, value, isBad = false, testId, children } = props;
  return (
    <a class="card figure-card" href={href} data-testid={testId}>
      <span class="label">{title}</span>
      <span class={isBad ? "figure bad-text" : "figure"}>{value ?? "–"}</span>
      <span class="quiet">{children}</span>
    </a>
  );
}

function Latest({ title, runs }: { title: string; runs: readonly RunSummary[] }) {
  return (
    <section class="card">
      <h2>{title}</h2>
      <ul class="lines runs">
        {runs.map(({ runId, agent, status, createdAt, inputStart }) => (
          <li key={runId}>
            <Status is={status} />
            <a class="clip" href={`/runs/${encodeURIComponent(runId)}`}>
              {agent} · {inputStart || shortRunId(runId)}
            </a>
            <span class="quiet">
              <Time at={createdAt} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
