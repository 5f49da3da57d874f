import type { AgentSummary } from "@switchyard/client/operations";
import { useState } from "preact/hooks";
import { count, durationText, numberText } from "../core/format.ts";
import { useResource } from "../core/resource.ts";
import { callerName, may } from "../core/session.ts";
import { Id, Snippet } from "../ui/copy.tsx";
import { DataTable, type Column } from "../ui/data-table.tsx";
import { Page } from "../ui/page.tsx";
import { ResourceView } from "../ui/resource-view.tsx";
import { Fact } from "../run/run-facts.tsx";
import { AgentTools } from "./agent-tools.tsx";
import { StartRun } from "./runs.tsx";

const COLUMNS: readonly Column<AgentSummary>[] = [
  { title: "Name", cell: ({ name }) => name },
  { title: "What it does", isMain: true, cell: ({ description }) => description },
  { title: "Model", isWide: true, cell: ({ model }) => model ?? "the default" },
  { title: "From", isWide: true, cell: ({ source }) => source },
];

export function Agents() {
  const agents = useResource("GET /agents", {});
  return (
    <Page
      title="Agents"
      about="Who can be given work: a prompt, a model, and the tools that it may use."
      cli="yard agents list"
      nats={`nats req yard.rpc.${callerName()}.agents.list '{}'`}
    >
      <ResourceView
        of={agents}
        empty={(data) =>
          data.agents.length > 0 || data.unusable !== undefined ? null : (
            <>
              <p>There is no agent.</p>
              <p class="quiet">
                Write one as <code>agents/NAME.md</code> in the project; it is read at once.
              </p>
            </>
          )
        }
      >
        {({ agents: listed, unusable = [] }) => (
          <>
            {unusable.length > 0 && (
              <section class="note bad" data-testid="unusable-agents">
                <strong>
                  {count(unusable.length, "error")} in agent files, which are not listed
                </strong>
                <ul>
                  {unusable.map(({ file, line, message }) => (
                    <li key={`${file}:${line}:${message}`}>
                      <code>{line === null ? file : `${file}:${line}`}</code> {message}
                    </li>
                  ))}
                </ul>
              </section>
            )}
            <DataTable
              label="Agents"
              testId="agents"
              columns={COLUMNS}
              rows={listed}
              keyOf={({ name }) => name}
              hrefOf={({ name }) => `/agents/${encodeURIComponent(name)}`}
            />
          </>
        )}
      </ResourceView>
    </Page>
  );
}

export function AgentPage({ params }: { params: Readonly<Record<string, string>> }) {
  const name = params["name"] ?? "";
  const agent = useResource("GET /agents/{name}", { path: { name } });
  const [isStarting, setStarting] = useState(false);
  return (
    <Page
      title={name}
      about={agent.data?.agent.description ?? "An agent"}
      cli={`yard agents show ${name}`}
      nats={`nats req yard.rpc.${callerName()}.agents.get '${JSON.stringify({ name })}'`}
      actions={
        <>
          <a class="button" href={`/runs?agent=${encodeURIComponent(name)}`}>
            Its runs
          </a>
          {may("POST /runs") && (
            <button type="button" class="button primary" onClick={() => setStarting(true)}>
              Try it
            </button>
          )}
        </>
      }
    >
      <ResourceView of={agent}>
        {({ agent: found }) => (
          <>
            <dl class="facts">
              <Fact name="Model">{found.model ?? "the default"}</Fact>
              <Fact name="From">{found.source}</Fact>
              <Fact name="Steps at most">{found.maxSteps}</Fact>
              {found.limits.maxToolCalls !== null && (
                <Fact name="Tool calls at most">{found.limits.maxToolCalls}</Fact>
              )}
              {found.limits.maxTokens !== null && (
                <Fact name="Tokens at most">{numberText(found.limits.maxTokens)}</Fact>
              )}
              {found.limits.timeoutMs !== null && (
                <Fact name="Time at most">{durationText(found.limits.timeoutMs)}</Fact>
              )}
              <Fact name="Least approval">{found.approval ?? "as the rules say"}</Fact>
              <Fact name="Skills">{found.skills.join(", ") || "none named"}</Fact>
              <Fact name="Digest">
                <Id value={found.digest} shown={found.digest.slice(0, 18)} />
              </Fact>
            </dl>
            <div class="columns">
              <section class="card">
                <h2>System prompt</h2>
                {found.systemPrompt === "" ? (
                  <p class="quiet">It has none.</p>
                ) : (
                  <Snippet label="System prompt" text={found.systemPrompt} />
                )}
              </section>
              <section class="card">
                <h2>Tools</h2>
                <AgentTools agent={found} />
              </section>
            </div>
          </>
        )}
      </ResourceView>
      {isStarting && <StartRun agent={name} onClose={() => setStarting(false)} />}
    </Page>
  );
}
