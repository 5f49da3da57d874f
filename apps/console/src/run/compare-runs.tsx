import type { RunDetail } from "@switchyard/client/operations";
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import {
  count,
  durationText,
  numberText,
  tokensText,
  prettyJson,
  usdText,
} from "../core/format.ts";
import { runText } from "../core/names.ts";
import { useResource } from "../core/resource.ts";
import { filterOf, setFilter } from "../core/router.ts";
import { callerName } from "../core/session.ts";
import { Snippet } from "../ui/copy.tsx";
import { DataTable, type Column } from "../ui/data-table.tsx";
import { Page } from "../ui/page.tsx";
import { Loading, ProblemNote } from "../ui/resource-view.tsx";
import { Status } from "../ui/status.tsx";
import { said } from "../ui/statuses.ts";
import { pairsOf, saidOf, type Pair } from "./run-diff.ts";
import { isOver } from "./is-over.ts";
import type { Span, StorySoFar } from "./run-story.ts";
import { useStory } from "./use-story.ts";

/** Two runs side by side: their input, their steps, and where they diverged. */
export function CompareRuns({ params }: { params: Readonly<Record<string, string>> }) {
  const [left, right] = [params["left"] ?? "", params["right"] ?? ""];
  const one = useRun(left);
  const other = useRun(right);
  const [a, b] = [one.run, other.run];
  const problem = one.problem ?? other.problem;
  return (
    <Page
      title={a === null ? "Two runs" : `${a.agent}: two runs`}
      about="What two runs were given, what they did, and where they went different ways."
      cli={`yard runs show ${left}; yard runs show ${right}`}
      nats={[left, right]
        .map((runId) => `nats req yard.rpc.${callerName()}.runs.get '${JSON.stringify({ runId })}'`)
        .join("; ")}
      actions={
        <a
          class="button"
          href={`/compare/${encodeURIComponent(right)}/${encodeURIComponent(left)}`}
        >
          Swap sides
        </a>
      }
    >
      {problem !== null && <ProblemNote problem={problem} />}
      {problem === null && (a === null || b === null) && <Loading />}
      {a !== null && b !== null && (
        <>
          <Facts left={a} right={b} />
          {isLoaded(a, one.story) && isLoaded(b, other.story) ? (
            <Steps left={one.story} right={other.story} />
          ) : (
            <Loading />
          )}
        </>
      )}
    </Page>
  );
}

function useRun(runId: string) {
  const story = useStory(runId);
  const { data, problem } = useResource("GET /runs/{runId}", { path: { runId } }, ["run"]);
  return { story, run: data?.run ?? null, problem: data === null ? problem : null };
}

/** True when all events of a run that is over are loaded: lines are not paired anew with each event. */
function isLoaded({ status }: RunDetail, { endMs }: StorySoFar): boolean {
  return !isOver(status) || endMs !== null;
}

const FACTS: readonly {
  readonly name: string;
  readonly of: (run: RunDetail) => string;
  /** Differences without meaning to a person. */
  readonly isIncidental?: boolean;
}[] = [
  { name: "Agent", of: ({ agent }) => agent },
  { name: "Definition", of: ({ agentDigest }) => agentDigest?.slice(0, 18) ?? "–" },
  { name: "Policy", of: ({ policyDigest }) => policyDigest?.slice(0, 18) ?? "–" },
  { name: "Model", of: ({ model }) => model ?? "–" },
  { name: "By", of: ({ requester }) => requester },
  {
    name: "Skills",
    of: ({ skills }) =>
      skills.map(({ name, digest }) => `${name} ${digest.slice(7, 15)}`).join(", ") || "none",
  },
  { name: "Steps", of: ({ steps }) => numberText(steps) },
  { name: "Tool calls", of: ({ toolCalls }) => numberText(toolCalls) },
  {
    name: "Tokens",
    of: ({ usage }) => tokensText(usage),
  },
  {
    name: "Cost",
    of: ({ costUsd }) => (typeof costUsd === "number" ? usdText(costUsd) : "price not known"),
  },
  {
    name: "Took",
    of: ({ createdAt, updatedAt }) => durationText(Date.parse(updatedAt) - Date.parse(createdAt)),
    isIncidental: true,
  },
  { name: "Input", of: ({ input }) => (typeof input === "string" ? input : prettyJson(input)) },
  { name: "Answer", of: ({ output, failure }) => output ?? failure?.message ?? "none" },
];

function Facts({ left, right }: { left: RunDetail; right: RunDetail }) {
  const rows = FACTS.map(({ name, of, isIncidental }) => {
    const [a, b] = [of(left), of(right)];
    return { name, a, b, differs: a !== b && isIncidental !== true };
  });
  return (
    <div class="table-box" tabIndex={0} role="region" aria-label="Both in figures">
      <table class="plain compare" data-testid="compared-facts">
        <thead>
          <tr>
            <th scope="col">What</th>
            <th scope="col">
              <SideHead run={left} side="Left" />
            </th>
            <th scope="col">
              <SideHead run={right} side="Right" />
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ name, a, b, differs }) => (
            <tr
              key={name}
              class={differs ? "differs" : ""}
              data-testid="compared-fact"
              data-status={said("compared-fact", differs ? "differs" : "same")}
            >
              <th scope="row">
                {differs && <Differs />}
                {name}
              </th>
              <td>{a}</td>
              <td>{b}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Differs() {
  return (
    <>
      <span aria-hidden="true">≠ </span>
      <span class="visually-hidden">differs: </span>
    </>
  );
}

function SideHead({ run, side }: { run: RunDetail; side: string }) {
  return (
    <>
      {side}: <a href={`/runs/${encodeURIComponent(run.runId)}`}>{runText(run)}</a>{" "}
      <Status is={run.status} />
    </>
  );
}

const COLUMNS: readonly Column<Pair>[] = [
  { title: "Left", cell: ({ left }) => <Line span={left} /> },
  { title: "Right", cell: ({ right }) => <Line span={right} /> },
  {
    title: "Difference",
    isMain: true,
    isWide: true,
    cell: ({ differs }) => (differs.length === 0 ? "same" : <strong>{differs.join(", ")}</strong>),
  },
  { title: "Took", isNumber: true, isWide: true, cell: ({ left, right }) => tookText(left, right) },
];

/** The steps of both, a line for each step or call, in the order of both. */
function Steps({ left, right }: { left: StorySoFar; right: StorySoFar }) {
  const pairs = useMemo(() => pairsOf(left.spans, right.spans), [left, right]);
  const [picked, setPicked] = useState<string | null>(null);
  const isAll = filterOf("show") === "all";
  const different = pairs.filter(({ differs }) => differs.length > 0);
  const shown = isAll ? pairs : different;
  const chosen = shown.find(({ id }) => id === picked);
  return (
    <>
      <div class="filters">
        <p data-testid="difference-count">
          {different.length === 0
            ? `Both did the same in ${count(pairs.length, "line")}.`
            : `${count(different.length, "line")} of ${numberText(pairs.length)} ${different.length === 1 ? "differs" : "differ"}.`}
        </p>
        <label class="check">
          <input
            type="checkbox"
            checked={isAll}
            onChange={(event) => setFilter("show", event.currentTarget.checked ? "all" : "")}
          />
          Those that are the same, too
        </label>
      </div>
      {shown.length > 0 && (
        <DataTable
          label="Both, line by line"
          testId="compared"
          columns={COLUMNS}
          rows={shown}
          keyOf={({ id }) => id}
          height="half"
          onPick={({ id }) => setPicked(id === picked ? null : id)}
          isPicked={({ id }) => id === picked}
        />
      )}
      {chosen !== undefined && (
        <div class="columns" data-testid="compared-detail">
          <Side title="Left" span={chosen.left} />
          <Side title="Right" span={chosen.right} />
        </div>
      )}
    </>
  );
}

function Line({ span }: { span: Span | null }): ComponentChildren {
  if (span === null) return "–";
  return (
    <>
      <Status is={span.status} /> {span.title}
    </>
  );
}

function tookText(left: Span | null, right: Span | null): string {
  return [left, right]
    .map((span) =>
      span === null || span.endMs === null ? "–" : durationText(span.endMs - span.startMs),
    )
    .join(" / ");
}

/** Foreign text, as text. */
function Side({ title, span }: { title: string; span: Span | null }) {
  if (span === null)
    return (
      <section class="card">
        <h2>{title}</h2>
        <p class="quiet">It has no such line.</p>
      </section>
    );
  return (
    <section class="card">
      <h2>
        {title}: {span.title}
      </h2>
      {span.decision !== null && <p>{span.decision.reason}</p>}
      {span.kind === "tool" && (
        <Snippet label={`${title}: arguments`} text={prettyJson(askedOf(span))} />
      )}
      <Snippet label={`${title}: result`} text={saidOf(span)} />
    </section>
  );
}

function askedOf({ events }: Span): string {
  const asked = events.find(({ event }) => event === "tool-requested");
  return asked?.event === "tool-requested" ? asked.data.argsPreview : "";
}
