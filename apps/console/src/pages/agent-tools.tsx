import type { Reply } from "@switchyard/client/client";
import type { ToolRef } from "@switchyard/client/operations";
import { matchesTool } from "@switchyard/contracts/tool-patterns";
import { useEffect, useState } from "preact/hooks";
import { count } from "../core/format.ts";
import { toolText } from "../core/names.ts";
import { useResource } from "../core/resource.ts";
import { filterOf } from "../core/router.ts";
import { callerName, client, may } from "../core/session.ts";
import { SearchField } from "../ui/search-field.tsx";
import { Status } from "../ui/status.tsx";

type Agent = Reply<"GET /agents/{name}">["agent"];
type Explained = Reply<"POST /policy/explain">;

/** Each row queries the policy; this is the limit of concurrent rows. */
const LINES = 20;

/** The tools that an agent gets from you, with the policy's answer and the reason for each. */
export function AgentTools({ agent }: { agent: Agent }) {
  const { tools, isWhole } = useTools();
  const [isAll, setAll] = useState(false);
  const [most, setMost] = useState(LINES);
  const search = filterOf("q");
  const fits = (tool: ToolRef): boolean =>
    agent.tools?.some((pattern) => matchesTool(pattern, tool)) ?? true;
  const fitting = tools.filter((tool) => tool.name.includes(search) && (isAll || fits(tool)));
  const hidden = Math.max(0, fitting.length - most);
  return (
    <>
      <p class="quiet">
        A tool needs a pattern of the agent and a rule of the policy. The answers are for you, and
        for a call without arguments.
      </p>
      {!isWhole && (
        <p class="note wait" data-testid="own-tools">
          You see the tools that you may call yourself. The agent may have more: who may list MCP
          servers and their pins sees them all.
        </p>
      )}
      <p>
        {agent.tools === null ? "It names no pattern: every tool fits." : "Patterns: "}
        {agent.tools?.map((pattern) => (
          <code key={pattern} class="tag">
            {pattern}
          </code>
        ))}
      </p>
      <SearchField label="Search its tools" placeholder="Name of a tool…" />
      {agent.tools !== null && (
        <label class="check">
          <input
            type="checkbox"
            checked={isAll}
            onChange={(event) => setAll(event.currentTarget.checked)}
          />
          Tools that no pattern fits, too
        </label>
      )}
      <ul class="lines answers" data-testid="agent-tools">
        {fitting.slice(0, most).map((tool) => (
          <ToolLine key={tool.name} tool={tool} agent={agent} />
        ))}
      </ul>
      {hidden > 0 && (
        <button type="button" class="button" onClick={() => setMost(most + LINES)}>
          {count(hidden, "more tool")}
        </button>
      )}
    </>
  );
}

/**
 * Callers who may see pins get all tools that servers have listed; others get those that they may call themselves, which may be
 * fewer.
 */
function useTools(): { readonly tools: readonly ToolRef[]; readonly isWhole: boolean } {
  const mayPins = may("GET /mcp/servers") && may("GET /mcp/servers/{id}/pins");
  const mine = useResource("GET /tools", !mayPins && may("GET /tools") ? {} : null, ["server"]);
  const builtin = useResource("GET /tools/builtin", may("GET /tools/builtin") ? {} : null);
  const servers = useResource("GET /mcp/servers", mayPins ? {} : null, ["server"]);
  const [pinned, setPinned] = useState<readonly ToolRef[]>([]);
  useEffect(() => {
    const stop = new AbortController();
    const ids = (servers.data?.servers ?? []).map(({ id }) => id);
    const asked = Promise.all(ids.map((id) => pinsOf(id, stop.signal)));
    asked.then((found) => setPinned(found.flat())).catch(() => {});
    return () => stop.abort();
  }, [servers.data]);
  const builtins = (builtin.data?.tools ?? []).map(({ name }) => ({
    name,
    server: null,
    tool: name,
  }));
  const ofServers = (mine.data?.tools ?? []).map(({ name, server, tool }) => ({
    name,
    server,
    tool,
  }));
  const tools = [...pinned, ...ofServers, ...builtins];
  return { tools: tools.toSorted((a, b) => (a.name < b.name ? -1 : 1)), isWhole: mayPins };
}

/** No server that is in use lists more. */
const MOST_PINS = 1_000;

async function pinsOf(id: string, signal: AbortSignal): Promise<ToolRef[]> {
  const request = { path: { id }, query: { limit: MOST_PINS, states: ["approved" as const] } };
  const { pins } = await client.request("GET /mcp/servers/{id}/pins", request, { signal });
  return pins.map(({ name, server, tool }) => ({ name, server, tool }));
}

function ToolLine({ tool, agent }: { tool: ToolRef; agent: Agent }) {
  const body = {
    user: callerName(),
    agent: agent.name,
    roles: agent.roles,
    ...(agent.approval !== null && { approval: agent.approval }),
    ...(agent.tools !== null && { toolLayers: [agent.tools] }),
    tool,
    args: {},
  };
  const asked = useResource("POST /policy/explain", may("POST /policy/explain") ? { body } : null);
  const query = new URLSearchParams({ tool: tool.name, agent: agent.name });
  return (
    <li data-testid="agent-tool">
      <a href={`/policy?${query}`} title={tool.name}>
        {toolText(tool.name)}
      </a>
      {asked.data !== null && <Answer {...asked.data} />}
      {asked.problem !== null && <span class="quiet">{asked.problem.detail}</span>}
    </li>
  );
}

function Answer({ decision, nearest }: Explained) {
  const { effect, reason } = decision;
  // Only its conditions are open: some arguments may meet them.
  const isOpen = nearest?.failed.every(({ part }) => part.startsWith("when")) === true;
  return (
    <>
      <Status is={isOpen ? "depends" : effect}>
        {isOpen ? "depends on the arguments" : SAID[effect]}
      </Status>
      <span class="queue quiet">
        {isOpen ? `rule ${nearest.rule} allows it with some arguments` : reason}
      </span>
    </>
  );
}

const SAID = { allow: "allowed", ask: "a person approves", deny: "denied" } as const;
