import { joined, useMoreRows } from "../core/more-rows.ts";
import { act, useResource } from "../core/resource.ts";
import { client, may } from "../core/session.ts";
import { LoadMore } from "../ui/load-more.tsx";
import { Page } from "../ui/page.tsx";
import { ResourceView } from "../ui/resource-view.tsx";
import { Status } from "../ui/status.tsx";
import { Time } from "../ui/time.tsx";
import { Keys } from "./system-keys.tsx";
import { Services } from "./system-services.tsx";

export function System() {
  return (
    <Page
      title="System"
      about="Services, queues, API keys, models, and work that was given up."
      cli="yard doctor"
      nats="nats req '$SRV.INFO' ''"
    >
      <Services />
      <DeadRuns />
      {may("GET /keys") && <Keys />}
      <Models />
    </Page>
  );
}

function DeadRuns() {
  const dead = useResource("GET /runs/dead", {}, ["run"]);
  const more = useMoreRows("", dead.data?.next ?? null, async (cursor) => {
    const page = await client.request("GET /runs/dead", { query: { cursor } });
    return { rows: page.runs, next: page.next };
  });
  const retry = async (runId: string): Promise<void> => {
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
        {(data) => (
          <ul class="lines" data-testid="dead">
            {joined(data.runs, more.rows, ({ runId }) => runId).map(({ runId, agent, failure }) => (
              <li key={runId}>
                <Status is="dead" />
                <a href={`/runs/${encodeURIComponent(runId)}`}>{agent}</a>
                <span class="text">{failure.message}</span>
                {may("POST /runs/{runId}/retry") ? (
                  <button type="button" class="button small" onClick={() => void retry(runId)}>
                    Retry
                  </button>
                ) : (
                  <span />
                )}
              </li>
            ))}
            {data.letters?.map(({ runId, subject, failure, sentAt }) => (
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
