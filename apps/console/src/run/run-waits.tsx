import type { RunDetail, RunWait } from "@switchyard/client/operations";
import { textsOf } from "../core/form.ts";
import { act } from "../core/resource.ts";
import { client, may } from "../core/session.ts";
import { said } from "../ui/statuses.ts";
import { Time } from "../ui/time.tsx";
import { isBehind, limitWord, waitText, type StorySoFar } from "./run-story.ts";

/** What the run waits for, with the way to end the wait. */
export function RunWaits({ run, story }: { run: RunDetail; story: StorySoFar }) {
  const waits = isBehind(story, run) ? (run.waits ?? []) : story.waits;
  return (
    <>
      {waits.map((wait) => (
        <section
          key={wait.callId}
          class="note wait"
          data-testid="wait"
          data-status={said("wait", wait.reason)}
        >
          <strong>Waits for {waitText(wait)}</strong>
          {wait.until !== null && (
            <p>
              Goes on by itself <Time at={wait.until} />.
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
  if (reason === "question") return <Answer run={run} wait={wait} />;
  return reason === "limit" ? <RaiseLimit run={run} wait={wait} /> : null;
}

function Answer({ run, wait }: { run: RunDetail; wait: RunWait }) {
  if (!may("POST /runs/{runId}/answers")) return <p>Somebody with the role operator can answer.</p>;
  const answer = async (given: string): Promise<void> => {
    const value: unknown = wait.schema === undefined ? given : parsed(given);
    const body = { callId: wait.callId, answer: value as string };
    await act("Answered", () =>
      client.request("POST /runs/{runId}/answers", { path: { runId: run.runId }, body }),
    );
  };
  const options = wait.options ?? [];
  if (options.length > 0)
    return (
      <div class="actions">
        {options.map((option) => (
          <button key={option} type="button" class="button" onClick={() => void answer(option)}>
            {option}
          </button>
        ))}
      </div>
    );
  const submit = (event: SubmitEvent): void => {
    void answer(textsOf(event)("answer"));
  };
  return (
    <form class="inline" onSubmit={submit} data-testid="answer">
      <label class="field">
        <span>{wait.schema === undefined ? "Answer" : "Answer, as JSON"}</span>
        <input name="answer" required />
      </label>
      <button class="button primary">Answer</button>
    </form>
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
    void act("The run goes on", () =>
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
      <button class="button primary">Raise and go on</button>
    </form>
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
