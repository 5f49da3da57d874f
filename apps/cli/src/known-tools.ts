import { client } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { commandLimit } from "@switchyard/contracts/toolbox/command-limit";
import { ServiceError } from "@switchyard/contracts/errors";
import { listTools } from "@switchyard/contracts/mcp-broker/mcp";
import { listPins, type ToolPin } from "@switchyard/contracts/mcp-broker/mcp-pins";
import { listServers } from "@switchyard/contracts/mcp-broker/mcp-servers";
import { nearestName } from "@switchyard/contracts/nearest-name";
import type { ToolRef } from "@switchyard/contracts/tool-names";
import { matchesTool, parseToolPattern } from "@switchyard/contracts/tool-patterns";
import { OWN_TOOLS } from "@switchyard/skills/skill/client-tools";

/** A tool that exists here. */
export interface KnownTool extends ToolRef {
  /** The approval state of its definition; null for a built-in tool, and where the caller may not read it. */
  readonly definition: ToolPin["state"] | null;
}

/** The tools whose names are known, and where further ones may be. */
export interface KnownTools {
  readonly tools: readonly KnownTool[];
  /** Null: servers are not known, as offline. */
  readonly servers: readonly string[] | null;
  /** Servers that have listed no tool yet: any tool of theirs may exist. */
  readonly silent: readonly string[];
}

const builtins: readonly KnownTool[] = [...new Set(OWN_TOOLS)]
  .toSorted()
  .map((name) => ({ name, server: null, tool: name, definition: null }));

/** Tools whose names are known without services. */
export const offlineTools: KnownTools = { tools: builtins, servers: null, silent: [] };

/** The tools of this installation: built-in ones, and those that MCP servers have listed, usable or not. */
export async function knownTools(bus: Bus): Promise<KnownTools> {
  try {
    const { servers } = await client(bus, { listServers }).listServers({});
    const ids = servers.map(({ id }) => id);
    const pins = await Promise.all(ids.map((id) => pinsOf(bus, id)));
    const listed = pins.flat().map(({ name, server, tool, state }) => {
      return { name, server, tool, definition: state };
    });
    const silent = ids.filter((_, index) => pins[index]?.length === 0);
    return { tools: [...builtins, ...listed], servers: ids, silent };
  } catch (error) {
    // A team may not read the registry of servers, only what it can call.
    if (!(error instanceof ServiceError) || error.code !== "forbidden") throw error;
    const { tools } = await client(bus, { listTools }).listTools({});
    const usable = tools.map(({ name, server, tool }) => ({
      name,
      server,
      tool,
      definition: null,
    }));
    return { tools: [...builtins, ...usable], servers: null, silent: [] };
  }
}

/** All pinned tools of a server, page by page. */
export async function pinsOf(bus: Bus, server: string): Promise<ToolPin[]> {
  const api = client(bus, { listPins });
  const pins: ToolPin[] = [];
  let after: string | undefined;
  for (;;) {
    const reply = await api.listPins({ server, ...(after === undefined ? {} : { after }) });
    pins.push(...reply.pins);
    after = reply.pins.at(-1)?.tool;
    if (!reply.more || after === undefined) return pins;
  }
}

/** Explains that a name or pattern selects no tool of this installation, and names the one that is probably meant; else null. */
export function unknownTool(
  written: string,
  { tools, servers, silent }: KnownTools,
): string | null {
  if (commandLimit(written) !== null) return null;
  const pattern = parseToolPattern(written);
  if (pattern.kind === "everything" || tools.some((tool) => matchesTool(pattern, tool)))
    return null;
  if (pattern.kind === "server") {
    if (servers === null) return null;
    const isPattern = /[*?]/.test(pattern.server);
    if (isPattern || silent.includes(pattern.server)) return null;
    if (!servers.includes(pattern.server))
      return `there is no MCP server ${pattern.server}${meant(pattern.server, servers)}`;
    const own = tools.filter(({ server }) => server === pattern.server).map(({ tool }) => tool);
    return `the MCP server ${pattern.server} has no tool ${pattern.tool}${meant(pattern.tool, own)}`;
  }
  const names = tools.filter(({ server }) => server === null).map(({ name }) => name);
  return `there is no tool ${pattern.name}${meant(pattern.name, names)}`;
}

function meant(name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known);
  return nearest === null ? "" : `; did you mean ${nearest}?`;
}
