import { inputText } from "@switchyard/contracts/input-text";
import type { RunDetail } from "@switchyard/client/operations";
import { useState } from "preact/hooks";
import { cutForReader } from "@switchyard/contracts/cut-text";
import { count, shortRunId } from "../core/format.ts";
import { useResource } from "../core/resource.ts";
import { filterOf, setFilter } from "../core/router.ts";
import { Id, Snippet } from "../ui/copy.tsx";
import { Page } from "../ui/page.tsx";
import { Loading, ProblemNote } from "../ui/resource-view.tsx";
import { Status } from "../ui/status.tsx";
import { saidCode, wordOr } from "../ui/statuses.ts";
import { Tabs } from "../ui/tabs.tsx";
import { Conversation } from "./conversation.tsx";
import { RunActions } from "./run-actions.tsx";
import { RunApprovals, useApprovalsOf } from "./run-approvals.tsx";
import { isOver, RunFacts } from "./run-facts.tsx";
import { isBehind, type RunWord, type StorySoFar } from "./run-story.ts";
import { RunWaits } from "./run-waits.tsx";
import { Timeline } from "./timeline.tsx";
import { useStory } from "./use-story.ts";

const TABS = [
  { id: "timeline", title: "Timeline" },
  { id: "compact", title: "Compact" },
  { id: "conversation", title: "Conversation" },
  { id: "children", title: "Children" },
  { id: "raw", title: "Raw" },
];

export function RunPage({ params }: { params: Readonly<Record<string, string>> }) {
  const runId = params["runId"] ?? "";
  const story = useStory(runId);
  const detail = useResource("GET /runs/{runId}", { path: { runId } }, ["run"]);
  const run = detail.data?.run ?? null;
  const approvals = useApprovalsOf(runId);
  const isKnown = story.messages.length > 0 || run !== null;
  // Everything above the timeline is rendered at once, so that nothing is pushed away.
  const isAnswered = (run !== null || detail.problem !== null) && approvals !== null;
  const view = filterOf("view") || "timeline";
  const status = statusOf(run, story);
  return (
    <Page
      title={run === null ? `Run ${shortRunId(runId)}` : `${run.agent}: ${titleOf(run)}`}
      about={
        isAnswered && (
          <>
            {isKnown && <Status is={status} />} <Id value={runId} />
          </>
        )
      }
      {...(isKnown && isAnswered && elsewhereOf(runId))}
      actions={run !== null && isAnswered && <RunActions run={run} status={status} story={story} />}
    >
      {!isKnown && detail.problem !== null && detail.problem.code !== "unknown_run" && (
        <ProblemNote problem={detail.problem} onRetry={detail.reload} />
      )}
      {!isKnown && detail.problem?.code === "unknown_run" && (
        <div
          class="note wait"
          data-testid="problem"
          data-status={saidCode("problem", "unknown_run")}
        >
          <strong>There is no run of this id that you may see</strong>
          <p>
            If it was just started, it waits in the queue, and the page shows it when it begins. A
            run is seen by who started it; who decides about one of its calls sees what led to the
            call beside it, under <a href="/approvals">Approvals</a>.
          </p>
        </div>
      )}
      {!isAnswered && <Loading />}
      {isKnown && isAnswered && (
        <>
          {run !== null && <RunFacts run={run} story={story} />}
          {run !== null && <RunWaits run={run} story={story} />}
          <Failure run={run} status={status} story={story} />
          <RunApprovals approvals={approvals} />
          <Tabs
            label="Views of the run"
            tabs={TABS}
            chosen={view}
            onChoose={(id) => setFilter("view", id === "timeline" ? "" : id)}
          />
          <div role="tabpanel" aria-label={view} class="run-view">
            {view === "conversation" && <Conversation run={run} story={story} />}
            {view === "children" && <Children run={run} />}
            {view === "raw" && <Raw story={story} />}
            {(view === "timeline" || view === "compact") && (
              <Timeline story={story} approvals={approvals} isCompact={view === "compact"} />
            )}
          </div>
        </>
      )}
    </Page>
  );
}

/** The run's latest known status: while its events arrive, each has the status at its time. */
function statusOf(run: RunDetail | null, story: StorySoFar): RunWord {
  return run !== null && isBehind(story, run) ? run.status : story.status;
}

function elsewhereOf(runId: string) {
  return {
    cli: `yard runs tail ${runId}`,
    nats: `nats sub 'yard.evt.run.${runId.replace("~", ".")}.*'`,
  };
}

/** Shows the reason of a failed run, while it has that status. */
function Failure(props: { run: RunDetail | null; status: RunWord; story: StorySoFar }) {
  const { run, status, story } = props;
  const failure = status === "rejected" ? story.rejection : run?.failure;
  if (failure === undefined || failure === null || !isOver(status)) return null;
  return (
    <section class="note bad" data-testid="failure" data-status={saidCode("failure", failure.code)}>
      <strong>{failure.code}</strong>
      <p class="text">{failure.message}</p>
    </section>
  );
}

function Children({ run }: { run: RunDetail | null }) {
  const children = run?.children ?? [];
  if (children.length === 0) return <p class="empty">This run gave no work to other runs.</p>;
  return (
    <ul class="tree" data-testid="children">
      {children.map((child) => (
        <ChildRun key={child.runId} {...child} />
      ))}
    </ul>
  );
}

/** A child with its own children below, loaded when it is opened. */
function ChildRun({
  runId,
  agent,
  status,
}: {
  runId: string;
  agent: string;
  status: string | null;
}) {
  const [isOpen, setOpen] = useState(false);
  const detail = useResource("GET /runs/{runId}", isOpen ? { path: { runId } } : null, ["run"]);
  const below = detail.data?.run.children ?? [];
  return (
    <li>
      <button
        type="button"
        class="button small"
        aria-expanded={isOpen}
        aria-label={`${isOpen ? "Hide" : "Show"} the children of ${runId}`}
        onClick={() => setOpen(!isOpen)}
      >
        {isOpen ? "−" : "+"}
      </button>{" "}
      <Status is={wordOr(status ?? "running", "done")} />{" "}
      <a href={`/runs/${encodeURIComponent(runId)}`}>
        {agent} · {shortRunId(runId)}
      </a>
      {isOpen && detail.data !== null && below.length === 0 && (
        <p class="quiet">It has no children.</p>
      )}
      {below.length > 0 && (
        <ul class="tree">
          {below.map((child) => (
            <ChildRun key={child.runId} {...child} />
          ))}
        </ul>
      )}
    </li>
  );
}

const MOST_RAW = 500;

function Raw({ story }: { story: StorySoFar }) {
  const shown = story.messages.slice(-MOST_RAW);
  const text = shown
    .map(({ event, data }) => `${event} ${JSON.stringify(data, null, 2)}`)
    .join("\n\n");
  return (
    <>
      {story.messages.length > MOST_RAW && (
        <p class="quiet">
          The last {MOST_RAW} of {count(story.messages.length, "event")}.
        </p>
      )}
      <Snippet text={text} label="Events as JSON" />
    </>
  );
}

function titleOf({ input }: RunDetail): string {
  const text = inputText(input);
  const line = text.split("\n", 1)[0] ?? "";
  return cutForReader(line, 90);
}
