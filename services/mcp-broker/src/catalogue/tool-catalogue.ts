import type { ToolInfo } from "@switchyard/contracts/mcp";
import {
  foldedToolName,
  mcpToolDescription,
  mcpToolRef,
  type ToolRef,
} from "@switchyard/contracts/tool-names";

/** What the catalogue needs of a tool that a server lists. */
export interface ListedTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: ToolInfo["inputSchema"];
}

export interface CatalogueTool {
  readonly ref: ToolRef;
  readonly info: ToolInfo;
}

/** The tools of one connected server, in the order of their canonical names. */
export interface ToolCatalogue {
  readonly tools: readonly CatalogueTool[];
  /** Tools that the server lists and the catalogue refuses, in words. */
  readonly problems: readonly string[];
  /** Finds a tool by its canonical name or by the server's own name. */
  find(name: string): CatalogueTool | null;
}

const MAX_RAW_NAME = 512;
/** A server with more would crowd out the others in every list that is made from all of them. */
const MAX_TOOLS = 2_000;

export const emptyCatalogue: ToolCatalogue = { tools: [], problems: [], find: () => null };

/**
 * Builds the catalogue of a server. Tools whose names cannot be told apart by a client that folds
 * case or `-` and `_` are all refused: keeping one of them would let a server put a tool in the
 * place of another.
 */
export function buildCatalogue(server: string, listed: readonly ListedTool[]): ToolCatalogue {
  const usable = listed.filter((tool) => isUsableName(tool.name));
  const problems = listed
    .filter((tool) => !isUsableName(tool.name))
    .map(
      (tool) =>
        `the name ${JSON.stringify(tool.name.slice(0, 40))} must have 1-${MAX_RAW_NAME} characters`,
    );
  const byFoldedName = Map.groupBy(
    usable.map((tool) => toCatalogueTool(server, tool)),
    (tool) => foldedToolName(tool.ref.name),
  );
  const tools: CatalogueTool[] = [];
  for (const [folded, group] of byFoldedName) {
    const [only] = group;
    if (group.length === 1 && only !== undefined) tools.push(only);
    else problems.push(collisionText(folded, group));
  }
  // By code unit, so that the order does not depend on the machine's locale.
  tools.sort((a, b) => (a.ref.name < b.ref.name ? -1 : 1));
  const surplus = tools.splice(MAX_TOOLS).length;
  if (surplus > 0)
    problems.push(`${surplus} tools are beyond the limit of ${MAX_TOOLS} for one server`);
  return { tools, problems: problems.toSorted(), find: finder(tools) };
}

function toCatalogueTool(server: string, tool: ListedTool): CatalogueTool {
  const ref = mcpToolRef(server, tool.name);
  return {
    ref,
    info: {
      name: ref.name,
      server,
      tool: tool.name,
      description: mcpToolDescription(server, tool.description),
      inputSchema: tool.inputSchema,
    },
  };
}

function finder(tools: readonly CatalogueTool[]): ToolCatalogue["find"] {
  const byCanonicalName = new Map(tools.map((tool) => [tool.ref.name, tool]));
  const byRawName = new Map(tools.map((tool) => [tool.ref.tool, tool]));
  return (name) => byCanonicalName.get(name) ?? byRawName.get(name) ?? null;
}

function collisionText(folded: string, group: readonly CatalogueTool[]): string {
  const names = group.map((tool) => JSON.stringify(tool.ref.tool.slice(0, 80))).toSorted();
  return `tools ${names.join(" and ")} are refused: both read as ${folded} where case, - and _ do not count`;
}

function isUsableName(name: string): boolean {
  return name.length > 0 && name.length <= MAX_RAW_NAME;
}
