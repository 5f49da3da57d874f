import { ServerId, ToolName, SkillName } from "@switchyard/contracts/ids";
import type { ToolInfo } from "@switchyard/contracts/mcp-broker/mcp";
import { tokenAllowsTool } from "@switchyard/contracts/policy/run-token";
import { builtinToolRef } from "@switchyard/contracts/tool-names";
import { builtinNamed } from "@switchyard/contracts/toolbox/toolbox";
import { rankTools } from "./rank-tools.ts";
import { z } from "zod";

/** A tool of a provider: of an MCP server, or of the toolbox, and then without a server. */
export interface ListedTool extends Pick<
  ToolInfo,
  "name" | "tool" | "description" | "inputSchema" | "pin"
> {
  readonly server: string | null;
}

/** A tool as described to a model. */
export interface OfferedTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

/** The tools that a run may use now, and those that did not fit. */
export interface ToolCatalogue {
  readonly offered: readonly OfferedTool[];
  /** Names of allowed tools that are not shown, because a model is shown only so many. */
  readonly leftOut: readonly string[];
  /** The server of each tool that is allowed, shown or not; null for one of the toolbox. */
  readonly servers: ReadonlyMap<string, string | null>;
  /** The definitions that the providers return. */
  readonly definitions?: ReadonlyMap<string, ListedTool>;
  /** Names of the runner's own tools beside `skill`. */
  readonly own?: ReadonlySet<string>;
  /** The tools of `leftOut`, for the search. */
  readonly hidden?: readonly ListedTool[];
}

/** The number of tools that a model is shown by default. */
export const MAX_TOOLS = 50;

/** Slots that the tools of the run itself may need: `final_answer`, `read_result`, `find_tools`, `call_tool`. */
const RESERVED = 4;

/**
 * Selects the tools of a run: the runner's own first, then those that the model was shown before, in the same order, then others.
 * When there are more than a model is shown, built-in tools and tools that fit the run's topic are selected; the model calls those
 * that it searches for by `call_tool`. Providers cache the beginning of a request, which the tools are, so the list only grows, at
 * its end. A tool must match a pattern in every layer; the broker and the policy check the same layers again at each call.
 */
export function selectTools(request: {
  tools: readonly ListedTool[];
  layers: readonly (readonly string[])[];
  /** Names of the skills that the model may activate; without any there is no tool for it. */
  skills: readonly string[];
  /** The runner's own tools beside `skill`: the layers must allow them like any other. */
  own?: readonly OfferedTool[];
  /** Names of those that could not be used now: they are not offered, and a call of one is still brought to the policy. */
  unusable?: readonly string[];
  /** The run's topic: the agent's role and the input. */
  about?: string;
  /** Tools that the model searched for: they are not shown then, either. */
  found?: readonly string[];
  /** Tools that the model was shown before, in the order in which it was shown them. */
  shown?: readonly string[];
  /** The number of tools that a model is shown. */
  maxTools?: number;
}): ToolCatalogue {
  const layers = request.layers.map((layer) => [...layer]);
  const allowed = request.tools.filter(({ name, server, tool }) =>
    tokenAllowsTool({ tools: layers }, { name, server, tool }),
  );
  const own = (request.own ?? []).filter(({ name }) =>
    tokenAllowsTool({ tools: layers }, builtinToolRef(name)),
  );
  const usable = own.filter(({ name }) => request.unusable?.includes(name) !== true);
  const builtIn = [...(request.skills.length === 0 ? [] : [skillTool(request.skills)]), ...usable];
  const room = Math.max(0, (request.maxTools ?? MAX_TOOLS) - RESERVED - builtIn.length);
  // Providers of tools list them in the order in which they started, or in any other.
  const listed = allowed.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const { chosen, hidden } =
    listed.length > room
      ? chooseTools(listed, { ...request, room })
      : { chosen: listed, hidden: [] };
  return {
    offered: [...builtIn, ...inOrderOf(request.shown ?? [], chosen)],
    leftOut: hidden.map((tool) => tool.name),
    hidden,
    servers: new Map(allowed.map((tool) => [tool.name, tool.server])),
    definitions: new Map(allowed.map((tool) => [tool.name, tool])),
    own: new Set(own.map(({ name }) => name)),
  };
}

/** Selects the tools to show to a model that is not shown all. */
function chooseTools(
  tools: readonly ListedTool[],
  {
    about = "",
    found = [],
    shown = [],
    room,
  }: {
    readonly about?: string;
    readonly found?: readonly string[];
    readonly shown?: readonly string[];
    readonly room: number;
  },
): { readonly chosen: readonly ListedTool[]; readonly hidden: readonly ListedTool[] } {
  const isFound = new Set(found);
  const ranked = rankTools(tools, about).toSorted(
    (one, other) => Number(one.server !== null) - Number(other.server !== null),
  );
  const chosen = inOrderOf(
    shown,
    ranked.filter(({ name }) => !isFound.has(name)),
  ).filter((_tool, place) => place < room);
  const isChosen = new Set(chosen);
  return { chosen, hidden: ranked.filter((tool) => !isChosen.has(tool)) };
}

/** Sorts the tools with these names in the order of the names, then the others in their own order. */
function inOrderOf<T extends { readonly name: string }>(
  names: readonly string[],
  tools: readonly T[],
): T[] {
  const places = new Map(names.map((name, index) => [name, index]));
  const placeOf = ({ name }: T): number => places.get(name) ?? names.length;
  return tools.toSorted((one, other) => placeOf(one) - placeOf(other));
}

/** The destination of a call. */
type Route =
  | { readonly to: "skill" }
  | { readonly to: "own" }
  /** Null is the toolbox. `isListed` is false for a tool that the catalogue does not have. */
  | { readonly to: "server"; readonly server: string | null; readonly isListed: boolean }
  | { readonly to: "nobody" };

const CANONICAL = /^mcp__([a-z0-9-]+)__.+$/;

/**
 * Finds the provider that answers a call. A built-in tool or a canonical name that is not in the catalogue is sent to its provider
 * all the same: the policy then denies it with its reason and in the audit log, where a mere "unknown tool" would hide the
 * attempt.
 */
export function routeOf(tool: string, catalogue: ToolCatalogue): Route {
  const listed = catalogue.servers.get(tool);
  if (listed !== undefined) return { to: "server", server: listed, isListed: true };
  // MCP tools have other names, so an offered one of this name is the runner's own.
  const isOffered = catalogue.offered.some(({ name }) => name === tool);
  if (tool === SKILL_TOOL_NAME && isOffered) return { to: "skill" };
  if (catalogue.own?.has(tool) === true) return { to: "own" };
  if (builtinNamed(tool) !== null) return { to: "server", server: null, isListed: false };
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

/** The runner's own tool: it only puts a skill's text into the conversation. */
const SKILL_TOOL_NAME = "skill";

/** Describes the tool to a model; only the skills of its list can be requested. */
export function skillTool(skills: readonly string[]) {
  return {
    name: SKILL_TOOL_NAME,
    description:
      "Loads the instructions of one of the skills listed in <available_skills>. " +
      "Use it before you work on a task that a skill describes.",
    inputSchema: {
      type: "object",
      properties: {
        name: { type: "string", enum: [...skills], description: "Name of the skill" },
        arguments: { type: "string", description: "Arguments for the skill, as one line of text" },
      },
      required: ["name"],
      additionalProperties: false,
    },
  };
}

/** The arguments of the tool, as a model may write them. */
export const SkillToolInput = z.strictObject({
  name: SkillName,
  arguments: z.string().max(65_536).default(""),
});
