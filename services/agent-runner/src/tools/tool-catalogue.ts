import type { ToolInfo } from "@switchyard/contracts/mcp";
import { ServerId, ToolName } from "@switchyard/contracts/ids";
import { matchesTool } from "@switchyard/contracts/tool-names";
import { SKILL_TOOL_NAME, skillTool } from "./skill-tool.ts";

/** A tool as a model is told about it. */
export interface OfferedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

/** What a run may use now, and what did not fit. */
export interface ToolCatalogue {
  readonly offered: readonly OfferedTool[];
  /** Names of allowed tools that are not shown, because a model is shown only so many. */
  readonly leftOut: readonly string[];
  /** The server of each MCP tool that is allowed, shown or not. */
  readonly servers: ReadonlyMap<string, string>;
}

export const MAX_TOOLS = 50;

/**
 * The tools of a run: the runner's own first, then the broker's in its order. A tool must match a
 * pattern in every layer; the broker and the policy check the same layers again at each call.
 */
export function selectTools(request: {
  tools: readonly ToolInfo[];
  layers: readonly (readonly string[])[];
  /** Names of the skills that the model may activate; without any there is no tool for it. */
  skills: readonly string[];
}): ToolCatalogue {
  const allowed = request.tools.filter(({ name, server, tool }) =>
    request.layers.every((layer) =>
      layer.some((pattern) => matchesTool(pattern, { name, server, tool })),
    ),
  );
  const builtIn = request.skills.length === 0 ? [] : [skillTool(request.skills)];
  const room = MAX_TOOLS - builtIn.length;
  return {
    offered: [...builtIn, ...allowed.slice(0, room)],
    leftOut: allowed.slice(room).map((tool) => tool.name),
    servers: new Map(allowed.map((tool) => [tool.name, tool.server])),
  };
}

/** Where a call goes. */
export type Route =
  | { readonly to: "skill" }
  /** `isListed` is false for a tool that the catalogue does not have. */
  | { readonly to: "server"; readonly server: string; readonly isListed: boolean }
  | { readonly to: "nobody" };

const CANONICAL = /^mcp__([a-z0-9-]+)__.+$/;

/**
 * Finds who answers a call. A canonical name that is not in the catalogue is sent to its server's
 * broker all the same: the policy then denies it with its reason and on the record, where a mere
 * "unknown tool" would hide that somebody tried.
 */
export function routeOf(tool: string, catalogue: ToolCatalogue): Route {
  const listed = catalogue.servers.get(tool);
  if (listed !== undefined) return { to: "server", server: listed, isListed: true };
  // MCP tools have other names, so an offered one of this name is the runner's own.
  const isOffered = catalogue.offered.some(({ name }) => name === tool);
  if (tool === SKILL_TOOL_NAME && isOffered) return { to: "skill" };
  const [, server] = CANONICAL.exec(tool) ?? [];
  if (
    ServerId.safeParse(server).success &&
    server !== undefined &&
    ToolName.safeParse(tool).success
  ) {
    return { to: "server", server, isListed: false };
  }
  return { to: "nobody" };
}
