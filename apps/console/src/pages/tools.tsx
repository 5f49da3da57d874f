import type { ToolInfo } from "@switchyard/client/operations";
import { count } from "../core/format.ts";
import { useResource } from "../core/resource.ts";
import { toolText } from "../core/names.ts";
import { filterOf, navigate } from "../core/router.ts";
import { callerName, may } from "../core/session.ts";
import { Page } from "../ui/page.tsx";
import { Empty, ResourceView } from "../ui/resource-view.tsx";
import { TryTool, type Tool } from "./try-tool.tsx";
import { SearchField } from "../ui/search-field.tsx";

export function Tools({ params }: { params: Readonly<Record<string, string>> }) {
  const mcp = useResource("GET /tools", {}, ["server"]);
  const builtin = useResource("GET /tools/builtin", may("GET /tools/builtin") ? {} : null);
  const search = filterOf("q").toLowerCase();
  const tools: Tool[] = [
    ...(mcp.data?.tools ?? []).map(toolOf),
    ...(builtin.data?.tools ?? []).map(({ name, description, inputSchema }) => ({
      name,
      server: null,
      tool: name,
      description,
      schema: inputSchema,
    })),
  ];
  const shown = tools.filter(({ name, description }) =>
    `${name} ${description}`.toLowerCase().includes(search),
  );
  const chosen = tools.find(({ name }) => name === params["name"]) ?? null;
  return (
    <Page
      title="Tools"
      about="Every tool that you may call. Try one before you give it to an agent."
      cli="yard mcp tools"
      nats={`nats req yard.rpc.${callerName()}.mcp.tools '{}'`}
    >
      <div class="filters" role="search">
        <SearchField label="Search tools" placeholder="Name or description…" />
        <span class="quiet">{count(shown.length, "tool")}</span>
      </div>
      {mcp.data?.failures.map(({ server, error }) => (
        <p key={server} class="note wait">
          <span>
            The tools of <a href={`/servers/${encodeURIComponent(server)}`}>{server}</a> are
            missing: {error}
          </span>
        </p>
      ))}
      <ResourceView
        of={mcp}
        empty={() =>
          tools.length > 0 || builtin.isLoading ? null : (
            <>
              <p>There is no tool that you may call.</p>
              <a class="button" href="/servers">
                Add an MCP server
              </a>
            </>
          )
        }
      >
        {() => (
          <div class={`split has-detail approvals ${chosen === null ? "" : "is-opened"}`}>
            <ul class="inbox list" aria-label="Tools" data-testid="tools">
              {shown.map(({ name, tool, server, description }) => (
                <li key={name}>
                  <button
                    type="button"
                    aria-pressed={name === chosen?.name}
                    onClick={() => navigate(`/tools/${encodeURIComponent(name)}${location.search}`)}
                  >
                    <strong>{tool}</strong>
                    <span class="quiet clip">
                      {server ?? "built in"} · {description}
                    </span>
                  </button>
                </li>
              ))}
            </ul>
            <div class="opened">
              <a class="button small back" href={`/tools${location.search}`}>
                ← Back to the list
              </a>
              {chosen === null ? (
                <Empty>
                  {params["name"] === undefined || mcp.isLoading || builtin.isLoading ? (
                    <p>Open a tool to see what it takes and to try it.</p>
                  ) : (
                    <p>
                      There is no tool {toolText(params["name"])} that you may call. The policy says{" "}
                      <a href={`/policy?tool=${encodeURIComponent(params["name"])}`}>why</a>.
                    </p>
                  )}
                </Empty>
              ) : (
                <TryTool key={chosen.name} tool={chosen} />
              )}
            </div>
          </div>
        )}
      </ResourceView>
    </Page>
  );
}

function toolOf({ name, server, tool, description, inputSchema }: ToolInfo): Tool {
  // The schema is the server's: the form renders the parts that it supports, and the rest is edited as JSON.
  // Models get the server's name in front of the description.
  const prefix = `[MCP: ${server}]`;
  const own = description.startsWith(prefix)
    ? description.slice(prefix.length).trim()
    : description;
  return { name, server, tool, description: own, schema: inputSchema };
}
