import type { Reply } from "@switchyard/client/client";
import { joined, useMoreRows } from "../core/more-rows.ts";
import { act, useAgainEvery, useResource, type Resource } from "../core/resource.ts";
import { client, may } from "../core/session.ts";
import { ask } from "../ui/dialog.tsx";
import { LoadMore } from "../ui/load-more.tsx";
import { Page } from "../ui/page.tsx";
import { ResourceView } from "../ui/resource-view.tsx";
import { Status } from "../ui/status.tsx";
import { Time } from "../ui/time.tsx";
import { Keys } from "./system-keys.tsx";
import { Doctor } from "./system-doctor.tsx";
import { Services } from "./system-services.tsx";

/** No event tells how long a queue is; it is read again that often. */
const AGAIN_EVERY_MS = 5_000;

export function System() {
  const system = useResource("GET /system", {});
  useAgainEvery(system, AGAIN_EVERY_MS);
  const dead = useResource("GET /runs/dead", {}, ["run"]);
  const isAsked = dead.data !== null || dead.problem !== null;
  return (
    <Page
      title="System"
      about="Services, queues, API keys, models, and work that was given up."
      cli="yard doctor"
      nats="nats req '$SRV.INFO' ''"
    >
      <Doctor system={system} store={isAsked ? { problem: dead.problem } : null} />
      <Services system={system} />
      <GivenUp dead={dead} />
      {may("GET /keys") && <Keys />}
      <Models />
    </Page>
  );
}

function GivenUp({ dead }: { dead: Resource<Reply<"GET /runs/dead">> }) {
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
      text: `${runId} goes on at the first step without a result. Runners died of it: it may kill them again unless the cause is fixed.`,
      action: "Retry the run",
    });
    if (answer === null) return;
    await act("The run goes on", () =>
      client.request("POST /runs/{runId}/retry", { path: { runId }, body: {} }),
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
            {runs.map(({ runId, agent, failure }) => (
              <li key={runId}>
                <Status is="dead" />
                <a href={`/runs/${encodeURIComponent(runId)}`}>{agent}</a>
                <span class="text">{failure.message}</span>
                {may("POST /runs/{runId}/retry") ? (
                  <button
                    type="button"
                    class="button small"
                    onClick={() => void retry(runId, agent)}
                  >
                    Retry
                  </button>
                ) : (
                  <span />
                )}
              </li>
            ))}
            {letters.map(({ runId, subject, failure, sentAt }) => (
              <li key={subject + runId}>
                <Status is="dead">command</Status>
                <code>{subject}</code>
                <span class="text">{failure.message}</span>
                <Time at={sentAt} />
              </li>
            ))}
          </ul>
        )}
      </ResourceView>
      {letters.length > 0 && (
        <p class="quiet">
          The text of a command is not kept once it was given up, so it cannot be sent again from
          here. Its sender was told, and sends it again when the cause is fixed.
        </p>
      )}
      <LoadMore of={more} />
    </section>
  );
}

function Models() {
  const models = useResource("GET /models", {});
  return (
    <section class="card">
      <h2>Models</h2>
      <ResourceView of={models}>
        {(data) => (
          <>
            <p>
              The default is <code>{data.default}</code>.
            </p>
            <ul class="lines">
              {data.providers.map(({ name, type, hasKey }) => (
                <li key={name}>
                  <Status is={hasKey ? "ready" : "off"}>{hasKey ? "has a key" : "no key"}</Status>
                  <strong>{name}</strong>
                  <span class="quiet">{type}</span>
                </li>
              ))}
            </ul>
          </>
        )}
      </ResourceView>
    </section>
  );
}
