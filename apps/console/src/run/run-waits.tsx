import type { RunDetail, RunWait } from "@switchyard/client/operations";
import { textsOf } from "../core/form.ts";
import { act } from "../core/resource.ts";
import { client, may } from "../core/session.ts";
import { Loading } from "../ui/resource-view.tsx";
import { said } from "../ui/statuses.ts";
import { Time } from "../ui/time.tsx";
import { useSeen } from "../core/seen.ts";
import { AnswerQuestion } from "./answer-question.tsx";
import { isBehind, limitWord, waitText, type StorySoFar } from "./run-story.ts";

/** The waits of the run, with the actions that end them. */
export function RunWaits({ run, story }: { run: RunDetail; story: StorySoFar }) {
  const whole = new Map((run.waits ?? []).map((wait) => [wait.callId, wait]));
  const waits = isBehind(story, run)
    ? (run.waits ?? [])
    : story.waits.map((wait) => whole.get(wait.callId) ?? wait);
  return (
    <>
      {waits.map((wait) => (
        <section
          key={wait.callId}
          class="note wait"
          data-testid="wait"
          data-status={said("wait", wait.reason)}
        >
          <strong>Waits for {wait.reason === "question" ? "an answer" : waitText(wait)}</strong>
          {wait.until !== null && (
            <p>
              Continues by itself <Time at={wait.until} />.
            </p>
          )}
          <WaitBody run={run} wait={wait} />
        </section>
      ))}
      {story.unavailable.length > 0 && (
        <section class="note wait" data-testid="tools-unavailable">
          <strong>Some tools are missing</strong>
          {story.unavailable.map(({ server, reason }) => (
            <p key={server}>
              <a href={`/servers/${encodeURIComponent(server)}`}>{server}</a>: {reason}
            </p>
          ))}
        </section>
      )}
    </>
  );
}

function WaitBody({ run, wait }: { run: RunDetail; wait: RunWait }) {
  const { reason, approvalId, childRunId } = wait;
  if (reason === "approval" && approvalId !== undefined)
    return (
      <a class="button" href={`/approvals?id=${approvalId}`}>
        Look at the call
      </a>
    );
  if (reason === "child" && childRunId !== undefined)
    return (
      <a class="button" href={`/runs/${encodeURIComponent(childRunId)}`}>
        Go to the child run
      </a>
    );
  if (reason === "question") return <Question key={wait.callId} run={run} wait={wait} />;
  return reason === "limit" ? <RaiseLimit run={run} wait={wait} /> : null;
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

function RaiseLimit({ run, wait }: { run: RunDetail; wait: RunWait }) {
  const reached = wait.limit;
  if (reached === undefined || !may("POST /runs/{runId}/resume")) return null;
  if (reached.team !== undefined)
    return (
      <p>
        The limit is of all runs of {reached.team.name} in one {reached.team.per}.
      </p>
    );
  const submit = (event: SubmitEvent): void => {
    const limits = { [reached.limit]: Number(textsOf(event)("value")) };
    void act("The run continues", () =>
      client.request("POST /runs/{runId}/resume", { path: { runId: run.runId }, body: { limits } }),
    );
  };
  return (
    <form class="inline" onSubmit={submit} data-testid="raise-limit">
      <label class="field">
        <span>New limit of {limitWord(reached.limit)}</span>
        <input
          name="value"
          type="number"
          step="any"
          min={0}
          defaultValue={String(reached.value * 2)}
          required
        />
      </label>
      <button class="button primary">Raise and continue</button>
    </form>
  );
}
