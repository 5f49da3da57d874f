import type { RunDetail, RunWait } from "@switchyard/client/operations";
import type { ComponentChildren } from "preact";
import { toolText } from "../core/names.ts";
import { useSeen } from "../core/seen.ts";
import { Loading } from "../ui/resource-view.tsx";
import { said } from "../ui/statuses.ts";
import { Time } from "../ui/time.tsx";
import { AnswerQuestion } from "./answer-question.tsx";
import { limitText } from "./limits.ts";
import { RaiseLimit } from "./raise-limit.tsx";
import { isBehind, waitText, type StorySoFar } from "./run-story.ts";

/** The waits of the run, with the actions that end them. */
export function RunWaits({ run, story }: { run: RunDetail; story: StorySoFar }) {
  return (
    <div class="side">
      {waitsOf(run, story).map((wait) => (
        <WaitPart key={wait.callId} run={run} wait={wait} />
      ))}
    </div>
  );
}

/** The waits as the events state them, each with the text that only the run itself has. */
export function waitsOf(run: RunDetail, story: StorySoFar): readonly RunWait[] {
  const whole = new Map((run.waits ?? []).map((wait) => [wait.callId, wait]));
  return isBehind(story, run)
    ? (run.waits ?? [])
    : story.waits.map((wait) => whole.get(wait.callId) ?? wait);
}

/** One wait; `children` replace its headline and the action that ends it. */
export function WaitPart(props: { run: RunDetail; wait: RunWait; children?: ComponentChildren }) {
  const { run, wait, children } = props;
  return (
    <section class="part wait" data-testid="wait" data-status={said("wait", wait.reason)}>
      {children ?? (
        <>
          <h2>{headline(wait)}</h2>
          <WaitBody run={run} wait={wait} />
        </>
      )}
      {wait.until !== null && (
        <p class="quiet">
          {endWord(wait)} <Time at={wait.until} />
        </p>
      )}
    </section>
  );
}

export function headline(wait: RunWait): string {
  if (wait.reason === "question") return "Waits for an answer";
  if (wait.reason === "limit" && wait.limit !== undefined)
    return `Reached its limit of ${limitText(wait.limit)}`;
  if (wait.reason === "approval") return `Waits for approval of ${toolText(wait.tool)}`;
  return `Waits for ${waitText(wait)}`;
}

/** A run continues without a decision or an answer when that has expired; the other waits end by themselves. */
function endWord({ reason }: RunWait): string {
  return reason === "approval" || reason === "question" ? "Expires" : "Continues";
}

function WaitBody({ run, wait }: { run: RunDetail; wait: RunWait }) {
  const { reason, approvalId, childRunId, limit } = wait;
  if (reason === "approval" && approvalId !== undefined)
    return (
      <a class="button primary" href={`/approvals?id=${approvalId}`}>
        Decide about the call
      </a>
    );
  if (reason === "child" && childRunId !== undefined)
    return (
      <a class="button" href={`/runs/${encodeURIComponent(childRunId)}`}>
        Go to the child run
      </a>
    );
  if (reason === "question") return <Question key={wait.callId} run={run} wait={wait} />;
  if (reason === "limit" && limit !== undefined)
    return <RaiseLimit runId={run.runId} reached={limit} how="resume" />;
  return null;
}

function Question({ run, wait }: { run: RunDetail; wait: RunWait }) {
  const { callId, question, options = [], schema } = wait;
  const isSeen = useSeen(question === undefined ? "" : callId);
  // The event about a wait does not have the text; the run itself has it, and is loaded in a moment.
  if (question === undefined) return <Loading />;
  return (
    <>
      <p class="text">{question}</p>
      <AnswerQuestion runId={run.runId} {...{ callId, options, schema, isSeen }} />
    </>
  );
}
