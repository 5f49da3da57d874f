import type { Reply } from "@switchyard/client/client";
import { joined, useMoreRows } from "../core/more-rows.ts";
import { runText } from "../core/names.ts";
import { act, type Resource } from "../core/resource.ts";
import { client, may } from "../core/session.ts";
import { Id } from "../ui/copy.tsx";
import { ask } from "../ui/dialog.tsx";
import { LoadMore } from "../ui/load-more.tsx";
import { ResourceView } from "../ui/resource-view.tsx";
import { Status } from "../ui/status.tsx";
import { Time } from "../ui/time.tsx";

type DeadLetter = NonNullable<Reply<"GET /runs/dead">["letters"]>[number];

/** Runs and commands that were given up because runners died of them, and how to continue them. */
export function GivenUp({ dead }: { dead: Resource<Reply<"GET /runs/dead">> }) {
  const more = useMoreRows("", dead.data?.next ?? null, async (cursor) => {
    const {
      runs,
      letters = [],
      next,
    } = await client.request("GET /runs/dead", {
      query: { cursor },
    });
    return { rows: [{ runs, letters }], next };
  });
  const runs = joined(
    dead.data?.runs ?? [],
    more.rows.flatMap((page) => page.runs),
    ({ runId }) => runId,
  );
  const letters = joined(
    dead.data?.letters ?? [],
    more.rows.flatMap((page) => page.letters),
    ({ subject, streamSequence }) => `${subject} ${streamSequence}`,
  );
  const retry = async (runId: string, agent: string): Promise<void> => {
    const answer = await ask({
      title: `Retry the run of ${agent}?`,
      text: `${runId} continues at the first step without a result. Runners died of it: it may kill them again unless the cause is fixed.`,
      action: "Retry the run",
    });
    if (answer === null) return;
    await act("The run continues", () =>
      client.request("POST /runs/{runId}/retry", { path: { runId }, body: {} }),
    );
    dead.reload();
  };
  const redrive = async ({ id = "", runId, subject }: DeadLetter): Promise<void> => {
    const answer = await ask({
      title: `Send the command for ${runId} again?`,
      text: `${subject} is sent again as it was, in the name of its sender. Runners died of it: it may kill them again unless the cause is fixed.`,
      action: "Send it again",
    });
    if (answer === null) return;
    await act("The command is on its way again", () =>
      client.request("POST /runs/dead/{letterId}/redrive", { path: { letterId: id } }),
    );
    dead.reload();
  };
  return (
    <section class="card">
      <h2>Given up</h2>
      <ResourceView
        of={dead}
        empty={(data) =>
          data.runs.length + (data.letters?.length ?? 0) > 0 ? null : (
            <p>No run killed its runners: nothing was given up.</p>
          )
        }
      >
        {() => (
          <ul class="lines" data-testid="dead">
            {runs.map((run) => (
              <li key={run.runId}>
                <Status is="dead" />
                <a href={`/runs/${encodeURIComponent(run.runId)}`}>{runText(run)}</a>
                <span class="text">{run.failure.message}</span>
                {may("POST /runs/{runId}/retry") ? (
                  <button
                    type="button"
                    class="button small"
                    onClick={() => void retry(run.runId, run.agent)}
                  >
                    Retry
                  </button>
                ) : (
                  <span />
                )}
              </li>
            ))}
            {letters.map((letter) => (
              <li key={letter.id ?? letter.subject + letter.runId}>
                <Status is="dead">command</Status>
                <Id value={letter.runId} />
                <span class="text">
                  <code>{letter.subject}</code>, <Time at={letter.sentAt} />:{" "}
                  {letter.failure.message}
                </span>
                <Redrive of={letter} redrive={redrive} />
              </li>
            ))}
          </ul>
        )}
      </ResourceView>
      <LoadMore of={more} />
    </section>
  );
}

function Redrive(props: { of: DeadLetter; redrive: (letter: DeadLetter) => Promise<void> }) {
  const { of: letter, redrive } = props;
  if (!may("POST /runs/dead/{letterId}/redrive")) return <span />;
  if (letter.canRedrive !== true)
    return <span class="quiet">its text is not kept: its sender can send it again</span>;
  return (
    <button
      type="button"
      class="button small"
      data-testid="redrive"
      onClick={() => void redrive(letter)}
    >
      Send again
    </button>
  );
}
