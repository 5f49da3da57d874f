import type { ServerInfo, ToolPin } from "@switchyard/client/operations";
import { useState } from "preact/hooks";
import { count, prettyJson } from "../core/format.ts";
import { act, useResource } from "../core/resource.ts";
import { filterOf, navigate, setFilter } from "../core/router.ts";
import { useSeen } from "../core/seen.ts";
import { client, may } from "../core/session.ts";
import { Snippet } from "../ui/copy.tsx";
import { ask } from "../ui/dialog.tsx";
import { Page } from "../ui/page.tsx";
import { ResourceView } from "../ui/resource-view.tsx";
import { Status } from "../ui/status.tsx";
import { Tabs } from "../ui/tabs.tsx";
import { Time } from "../ui/time.tsx";
import { Fact } from "../run/run-facts.tsx";
import { signInTo, useSignInAnswer } from "./server-login.ts";
import { ConnectToggle } from "./servers.tsx";

const TABS = [
  { id: "tools", title: "Tools and pins" },
  { id: "logs", title: "Log" },
  { id: "declaration", title: "Declaration" },
  { id: "clients", title: "Use from a client" },
];

export function ServerPage({ params }: { params: Readonly<Record<string, string>> }) {
  const id = params["id"] ?? "";
  const path = { id };
  const server = useResource("GET /mcp/servers/{id}", { path }, ["server"]);
  const info = server.data?.server ?? null;
  useSignInAnswer(id, server.reload);
  const view = filterOf("view") || "tools";
  return (
    <Page
      title={info?.name ?? id}
      about={info === null ? "An MCP server" : <Status is={info.status} />}
      cli={`yard mcp get ${id}`}
      nats={`nats sub 'yard.evt.mcp.${id}.*'`}
      actions={info !== null && <Actions server={info} onChange={server.reload} />}
    >
      <ResourceView of={server}>
        {({ server: found, declaration }) => (
          <>
            <dl class="facts">
              <Fact name="Transport">{found.transport}</Fact>
              <Fact name="Tools">{found.toolCount}</Fact>
              <Fact name="Version">{found.serverVersion ?? "not said"}</Fact>
              <Fact name="Protocol">{found.protocolVersion ?? "–"}</Fact>
              <Fact name="Calls">
                {found.circuit === undefined ? "–" : CIRCUITS[found.circuit]}
              </Fact>
              <Fact name="From">
                {found.origin === "file" ? "the project’s file" : "added here"}
              </Fact>
              {found.connectedAt !== null && (
                <Fact name="Connected">
                  <Time at={found.connectedAt} />
                </Fact>
              )}
            </dl>
            {found.lastError !== null && found.status !== "connected" && (
              <p class="note bad text">{found.lastError}</p>
            )}
            {found.warnings?.map((warning) => (
              <p key={warning} class="note wait">
                {warning}
              </p>
            ))}
            <Tabs
              label="Parts of the server"
              tabs={TABS}
              chosen={view}
              onChoose={(one) => setFilter("view", one === "tools" ? "" : one)}
            />
            <div role="tabpanel" aria-label={view}>
              {view === "tools" && <Pins id={id} />}
              {view === "logs" && <Log id={id} />}
              {view === "declaration" && (
                <Snippet label="Declaration" text={prettyJson(declaration)} />
              )}
              {view === "clients" && <Clients id={id} />}
            </div>
          </>
        )}
      </ResourceView>
    </Page>
  );
}

/** The effect of the circuit breaker on calls. */
const CIRCUITS = {
  closed: "go through",
  open: "are refused after failures",
  half_open: "one is tried after failures",
} as const;

function Actions({ server, onChange }: { server: ServerInfo; onChange: () => void }) {
  const { id, name, status, toolCount } = server;
  const path = { id };
  const remove = async (): Promise<void> => {
    const answer = await ask({
      title: `Remove ${name}?`,
      text: `Its connection ends, and its ${count(toolCount, "tool")} are gone for all agents.`,
      action: `Remove ${name}`,
      isDangerous: true,
    });
    if (answer === null) return;
    const isDone = await act(`${name} is removed`, () =>
      client.request("DELETE /mcp/servers/{id}", { path }),
    );
    if (isDone) navigate("/servers");
  };
  return (
    <>
      <ConnectToggle server={server} onChange={onChange} />
      {status === "error" &&
        server.transport !== "stdio" &&
        may("POST /mcp/servers/{id}/login") && (
          <button type="button" class="button" onClick={() => void signInTo(server, onChange)}>
            Sign in to it
          </button>
        )}
      {may("DELETE /mcp/servers/{id}") && (
        <button
          type="button"
          class="button danger"
          data-testid="remove-server"
          onClick={() => void remove()}
        >
          Remove
        </button>
      )}
    </>
  );
}

function Pins({ id }: { id: string }) {
  const pins = useResource("GET /mcp/servers/{id}/pins", { path: { id }, query: { limit: 500 } }, [
    "server",
  ]);
  const [opened, setOpened] = useState<string | null>(null);
  const mayApprove = may("POST /mcp/servers/{id}/pins/approve");
  const approve = (tool: string, digest: string): Promise<boolean> =>
    act(`${tool} is approved as it is now`, () =>
      client.request("POST /mcp/servers/{id}/pins/approve", {
        path: { id },
        body: { tools: [{ tool, digest }] },
      }),
    );
  return (
    <ResourceView
      of={pins}
      empty={(data) =>
        data.pins.length > 0 ? null : (
          <>
            <p>No tool has been seen yet.</p>
            <p class="quiet">They are listed when the server is connected.</p>
          </>
        )
      }
    >
      {(data) => (
        <ul class="lines card" data-testid="pins">
          {data.pins.map((pin) => (
            <li key={pin.tool}>
              <Status is={pin.state} />
              <a href={`/tools/${encodeURIComponent(pin.name)}`}>{pin.tool}</a>
              <span class="quiet">{findingsText(pin)}</span>
              <span class="actions">
                {pin.state === "changed" && (
                  <button
                    type="button"
                    class="button small"
                    aria-expanded={opened === pin.tool}
                    onClick={() => setOpened(opened === pin.tool ? null : pin.tool)}
                  >
                    What changed
                  </button>
                )}
                {pin.state !== "approved" && pin.state !== "changed" && mayApprove && (
                  <button
                    type="button"
                    class="button small"
                    onClick={() => void approve(pin.tool, pin.digest).then(pins.reload)}
                  >
                    Approve
                  </button>
                )}
              </span>
              {opened === pin.tool && (
                <Difference
                  id={id}
                  tool={pin.tool}
                  onApprove={
                    mayApprove ? (digest) => approve(pin.tool, digest).then(pins.reload) : null
                  }
                />
              )}
            </li>
          ))}
        </ul>
      )}
    </ResourceView>
  );
}

/** Each kind of finding once, in words. */
function findingsText({ findings }: ToolPin): string {
  return [...new Set(findings.map(({ code }) => code.replaceAll("_", " ")))].join(", ");
}

/**
 * Shows how a definition changed. Approving applies to the definition that is shown, also when the server lists another one since.
 */
function Difference(props: {
  id: string;
  tool: string;
  /** Null for callers without the right to it. */
  onApprove: ((digest: string) => Promise<void>) | null;
}) {
  const { id, tool, onApprove } = props;
  const diff = useResource("GET /mcp/servers/{id}/pins/{tool}/diff", { path: { id, tool } });
  const isSeen = useSeen(diff.data?.pin.digest ?? "");
  return (
    <div class="whole-line">
      <ResourceView of={diff}>
        {({ differences, pin }) => (
          <>
            {differences.map(({ where, before, after }) => (
              <section key={where}>
                <h3>{where}</h3>
                <pre class="text removed">{before ?? "(nothing)"}</pre>
                <pre class="text added">{after ?? "(nothing)"}</pre>
              </section>
            ))}
            {onApprove !== null && pin.state === "changed" && (
              <div class="actions">
                <button
                  type="button"
                  class="button small"
                  disabled={!isSeen}
                  onClick={() => void onApprove(pin.digest).then(diff.reload)}
                >
                  Approve
                </button>
              </div>
            )}
          </>
        )}
      </ResourceView>
    </div>
  );
}

function Log({ id }: { id: string }) {
  const log = useResource("GET /mcp/servers/{id}/logs", { path: { id }, query: { tail: 500 } });
  return (
    <ResourceView
      of={log}
      empty={(data) =>
        data.lines.length > 0 ? null : (
          <p>
            {data.hasProcess === false
              ? "It is reached over HTTP: its log is where it runs."
              : "It has written nothing to stderr."}
          </p>
        )
      }
    >
      {(data) => (
        <div class="side">
          <div class="actions">
            <button type="button" class="button small" onClick={log.reload}>
              Read again
            </button>
          </div>
          <Snippet label="Log" text={data.lines.join("\n")} />
        </div>
      )}
    </ResourceView>
  );
}

/** For agents outside: all tools of the caller under one address, or this server's alone. */
function Clients({ id }: { id: string }) {
  const url = `${location.origin}/mcp/servers/${id}`;
  const header = "Bearer YOUR_API_KEY";
  const texts = [
    {
      title: "Claude Code",
      text: `claude mcp add --transport http ${id} ${url} -H 'Authorization: ${header}'`,
    },
    {
      title: "Codex: config.toml",
      text: `[mcp_servers.${id}]\nurl = "${url}"\nbearer_token_env_var = "YARD_HTTP_TOKEN"`,
    },
    {
      title: "Gemini CLI: settings.json",
      text: prettyJson({
        mcpServers: { [id]: { httpUrl: url, headers: { Authorization: header } } },
      }),
    },
    {
      title: "opencode: opencode.json",
      text: prettyJson({
        mcp: { [id]: { type: "remote", url, headers: { Authorization: header } } },
      }),
    },
  ];
  return (
    <div class="columns">
      {texts.map(({ title, text }) => (
        <section key={title} class="card">
          <h3>{title}</h3>
          <Snippet label={title} text={text} />
        </section>
      ))}
    </div>
  );
}
