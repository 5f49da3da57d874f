import type { RunDetail } from "@switchyard/client/operations";
import type { Problem } from "@switchyard/client/problem-error";
import { count, shortRunId } from "../core/format.ts";
import { clockText, firstWords } from "../core/names.ts";
import { useAgainEvery, useResource, type Resource } from "../core/resource.ts";
import { filterOf, setFilter } from "../core/router.ts";
import { may } from "../core/session.ts";
import { CopyMenu, Snippet } from "../ui/copy.tsx";
import { Page } from "../ui/page.tsx";
import { Loading, ProblemNote } from "../ui/resource-view.tsx";
import { Status } from "../ui/status.tsx";
import { saidCode } from "../ui/statuses.ts";
import { Tabs } from "../ui/tabs.tsx";
import { Children } from "./children.tsx";
import { Conversation } from "./conversation.tsx";
import { useFamily } from "./family.ts";
import { isOver } from "./is-over.ts";
import { MissingTools, Outcome } from "./outcome.tsx";
import { RunActions } from "./run-actions.tsx";
import { RunApprovals, useApprovalsOf } from "./run-approvals.tsx";
import { RunFacts } from "./run-facts.tsx";
import { isBehind, type RunWord, type StorySoFar } from "./run-story.ts";
import { Timeline } from "./timeline.tsx";
import { useStory } from "./use-story.ts";

const TABS = [
  { id: "timeline", title: "Timeline" },
  { id: "compact", title: "Compact" },
  { id: "conversation", title: "Conversation" },
  { id: "children", title: "Children" },
  { id: "raw", title: "Raw" },
];

/** A deletion publishes no event. */
const AGAIN_MS = 30_000;

export function RunPage({ params }: { params: Readonly<Record<string, string>> }) {
  const runId = params["runId"] ?? "";
  const detail = useResource("GET /runs/{runId}", { path: { runId } }, ["run"]);
  useAgainEvery(detail, AGAIN_MS);
  return wasDeleted(detail.problem) ? (
    <DeletedRun runId={runId} />
  ) : (
    <FollowedRun runId={runId} detail={detail} />
  );
}

function wasDeleted(problem: Problem | null): boolean {
  const data = problem?.data as { isDeleted?: boolean } | null | undefined;
  return problem?.code === "unknown_run" && data?.isDeleted === true;
}

function DeletedRun({ runId }: { runId: string }) {
  return (
    <Page title={`Run ${shortRunId(runId)}`} about="There is nothing left of it to show.">
      <div class="note wait" data-testid="problem" data-status={saidCode("problem", "unknown_run")}>
        <strong>This run was deleted</strong>
        <p>
          Its texts and events cannot be restored.{" "}
          {may("GET /audit") && (
            <>
              The <a href="/audit?kind=access">audit</a> names who deleted it.
            </>
          )}
        </p>
        <a class="button" href="/runs">
          To the list of runs
        </a>
      </div>
    </Page>
  );
}

/** A run that exists, or may begin while the page is open. */
function FollowedRun(props: { runId: string; detail: Resource<{ run: RunDetail }> }) {
  const { runId, detail } = props;
  const story = useStory(runId);
  const run = detail.data?.run ?? null;
  const approvals = useApprovalsOf(runId);
  const family = useFamily(run);
  const isKnown = story.messages.length > 0 || run !== null;
  // The page was opened before the run began: its first event is here, and its facts are requested again because of it.
  const isBeginning =
    detail.problem?.code === "unknown_run" && story.messages.length > 0 && !isOver(story.status);
  // Everything above the timeline is rendered at once, so that nothing is pushed away.
  const isAnswered =
    (run !== null || (detail.problem !== null && !isBeginning)) && approvals !== null;
  const view = filterOf("view") || "timeline";
  const status = statusOf(run, story);
  return (
    <Page
      title={
        run === null ? `Run ${shortRunId(runId)}` : `${run.agent}: ${firstWords(run.input, 90)}`
      }
      about={
        isAnswered && (
          <>
            {isKnown && <Status is={status} />} {run !== null && clockText(run.createdAt)}{" "}
            <CopyMenu label="Copy" texts={textsOf(runId)} />
          </>
        )
      }
      {...(isKnown && isAnswered && elsewhereOf(runId))}
      actions={
        run !== null &&
        isAnswered && <RunActions run={run} status={status} story={story} reload={detail.reload} />
      }
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
          <Outcome run={run} status={status} story={story} />
          {run !== null && <RunFacts run={run} story={story} family={family} />}
          <MissingTools story={story} />
          <RunApprovals approvals={approvals} />
          <Tabs
            label="Views of the run"
            tabs={TABS}
            chosen={view}
            onChoose={(id) => setFilter("view", id === "timeline" ? "" : id)}
          />
          <div role="tabpanel" aria-label={view} class="run-view">
            {view === "conversation" && <Conversation run={run} story={story} />}
            {view === "children" && <Children run={run} family={family} />}
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

/** Texts about the run that a person takes elsewhere. */
function textsOf(runId: string): Readonly<Record<string, string>> {
  return { "Run id": runId, "Short id": shortRunId(runId), Link: location.href };
}

function elsewhereOf(runId: string) {
  return {
    cli: `yard runs tail ${runId}`,
    nats: `nats sub 'yard.evt.run.${runId.replace("~", ".")}.*'`,
  };
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
