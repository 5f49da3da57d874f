import type { RunSummary } from "@switchyard/client/operations";
import type { ComponentChildren } from "preact";
import { nowMs } from "../core/clock.ts";
import { count, numberText, shortRunId, usdText } from "../core/format.ts";
import { useAgainEvery, useResource } from "../core/resource.ts";
import { may } from "../core/session.ts";
import { Chart } from "../ui/chart.tsx";
import { Page } from "../ui/page.tsx";
import { ResourceView } from "../ui/resource-view.tsx";
import { Status } from "../ui/status.tsx";
import { Time } from "../ui/time.tsx";

const MINUTES = 30;
const SYSTEM_AGAIN_MS = 10_000;
const FAILED = new Set(["failed", "dead"]);

/** An overview, with links to the details. */
export function Overview() {
  const runs = useResource("GET /runs", { query: { limit: 200 } }, ["run"]);
  const approvals = useResource("GET /approvals", {}, ["approval"]);
  const servers = useResource("GET /mcp/servers", may("GET /mcp/servers") ? {} : null, ["server"]);
  const models = useResource("GET /models", may("GET /models") ? {} : null);
  const list = runs.data?.runs ?? [];
  const active = list.filter(({ status }) => status === "running").length;
  const waiting = list.filter(({ status }) => status === "waiting").length;
  const failed = list.filter(({ status }) => FAILED.has(status));
  const down = (servers.data?.servers ?? []).filter(({ status }) => status === "error");
  const model = models.data?.default ?? "";
  return (
    <Page
      title="Overview"
      about="What runs, what waits for you, what went wrong."
      cli="yard services"
      nats="nats sub 'yard.evt.>'"
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
        <Figure title="Running" href="/runs?status=running" value={runs.data && active}>
          {numberText(waiting)} more {waiting === 1 ? "run waits" : "runs wait"}
        </Figure>
        <Figure title="Failed" href="/runs?status=failed" value={runs.data && failed.length}>
          of the last {numberText(list.length)}
        </Figure>
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
        <Spend runs={list} />
      </div>
      <ResourceView
        of={runs}
        empty={(data) =>
          data.runs.length > 0 ? null : (
            <>
              <p>Nothing has run yet.</p>
              <a class="button primary" href="/runs">
                Start the first run
              </a>
            </>
          )
        }
      >
        {() => (
          <div class="columns">
            <section class="card">
              <h2>Runs per minute</h2>
              <PerMinute runs={list} one="run" />
            </section>
            {failed.length > 0 && (
              <section class="card" data-testid="failures">
                <h2>Failures per minute</h2>
                <PerMinute runs={failed} one="failure" />
              </section>
            )}
            {list.some(({ costUsd }) => (costUsd ?? 0) > 0) && (
              <section class="card" data-testid="spend-chart">
                <h2>Spend per minute</h2>
                <SpendPerMinute runs={list} />
              </section>
            )}
            <Latest title="Latest" runs={list.slice(0, 8)} />
            {failed.length > 0 && <Latest title="Failed last" runs={failed.slice(0, 8)} />}
          </div>
        )}
      </ResourceView>
    </Page>
  );
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

/** The cost of the listed runs' model calls, and how many of them have no known price. */
function Spend({ runs }: { runs: readonly RunSummary[] }) {
  const known = runs.reduce((sum, { costUsd }) => sum + (costUsd ?? 0), 0);
  const unpriced = runs.filter(({ costUsd }) => costUsd === null).length;
  const tokens = runs.reduce(
    (sum, { usage }) => sum + (usage === undefined ? 0 : usage.inputTokens + usage.outputTokens),
    0,
  );
  return (
    <Figure
      title="Spend"
      href="/runs"
      value={runs.length === 0 ? null : usdText(known)}
      testId="spend"
    >
      {numberText(tokens)} tokens of the last {count(runs.length, "run")}
      {unpriced > 0 && `; ${numberText(unpriced)} of them without a known price`}
    </Figure>
  );
}

function Figure(props: {
  title: string;
  href: string;
  value: number | string | null | undefined;
  testId?: string;
  children: ComponentChildren;
}) {
  const { title, href, value, testId, children } = props;
  return (
    <a class="card figure-card" href={href} data-testid={testId}>
      <span class="label">{title}</span>
      <span class="figure">{value ?? "–"}</span>
      <span class="quiet">{children}</span>
    </a>
  );
}

function Latest({ title, runs }: { title: string; runs: readonly RunSummary[] }) {
  return (
    <section class="card">
      <h2>{title}</h2>
      <ul class="lines">
        {runs.map(({ runId, agent, status, createdAt }) => (
          <li key={runId}>
            <Status is={status} />
            <a href={`/runs/${encodeURIComponent(runId)}`}>
              {agent} · {shortRunId(runId).slice(0, 13)}
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

function PerMinute({ runs, one }: { runs: readonly RunSummary[]; one: string }) {
  const { times, values } = minutesOf(runs, () => 1);
  const total = sumOf(values);
  return (
    <>
      <Chart times={times} values={values} label={`${count(total, one)} in ${MINUTES} minutes`} />
      <p class="quiet">
        {count(total, one)} in the last {MINUTES} minutes, at most {Math.max(...values)} in one.
      </p>
    </>
  );
}

function SpendPerMinute({ runs }: { runs: readonly RunSummary[] }) {
  const { times, values } = minutesOf(runs, ({ costUsd }) => costUsd ?? 0);
  const total = usdText(sumOf(values));
  return (
    <>
      <Chart times={times} values={values} label={`${total} in ${MINUTES} minutes`} isMoney />
      <p class="quiet">
        {total} for runs begun in the last {MINUTES} minutes.
      </p>
    </>
  );
}

/** A sum for each of the last minutes, with the second since 1970 at which it begins; a run counts when it began. */
function minutesOf(
  runs: readonly RunSummary[],
  valueOf: (run: RunSummary) => number,
): { readonly times: readonly number[]; readonly values: readonly number[] } {
  const lastMinute = Math.floor(nowMs.value / 60_000);
  const values = Array.from({ length: MINUTES }, () => 0);
  for (const run of runs) {
    const at = MINUTES - 1 - (lastMinute - Math.floor(Date.parse(run.createdAt) / 60_000));
    if (values[at] !== undefined) values[at] += valueOf(run);
  }
  const times = values.map((_, index) => (lastMinute - MINUTES + 1 + index) * 60);
  return { times, values };
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
