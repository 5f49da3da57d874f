import type { ToolInfo } from "@switchyard/contracts/mcp-broker/mcp";
import type { PinState } from "@switchyard/contracts/mcp-broker/mcp-pins";
import type { ToolRef } from "@switchyard/contracts/tool-names";
import { visible } from "@switchyard/service/visible-text";
import type { InspectedListing, InspectedTool } from "./inspect-tools.ts";

export interface CatalogueTool {
  readonly ref: ToolRef;
  readonly info: ToolInfo;
  /** Only an approved tool may be called. The state is current, wherever the tool was found. */
  readonly state: PinState;
  readonly inspected: InspectedTool;
}

/** The tools of one connected server, in the order of their canonical names. */
export interface ToolCatalogue {
  /** The approved tools. */
  readonly tools: readonly CatalogueTool[];
  /** Tools that the server lists and the catalogue refuses, in words. */
  readonly problems: readonly string[];
  /** Finds a tool by its canonical name or by the server's own name, approved or not. */
  find(name: string): CatalogueTool | null;
}

/** The approval state of a tool with this digest. */
export type PinView = (server: string, tool: string, pin: string) => PinState;

export const emptyCatalogue: ToolCatalogue = { tools: [], problems: [], find: () => null };

/**
 * Builds the catalogue of a server. Tools whose names a client that folds case or `-` and `_` cannot distinguish are all refused:
 * keeping one of them would let a server substitute one tool for another.
 */
export function buildCatalogue(
  server: string,
  listed: InspectedListing,
  pinState: PinView,
): ToolCatalogue {
  const problems = [...listed.problems];
  const known: CatalogueTool[] = [];
  for (const [folded, group] of Map.groupBy(listed.tools, (tool) => tool.foldedName)) {
    const [inspected] = group;
    if (group.length > 1 || inspected === undefined) {
      problems.push(collisionText(folded, group));
      continue;
    }
    const { ref, info, name, pin } = inspected;
    known.push({
      ref,
      info,
      inspected,
      get state() {
        return pinState(server, name, pin);
      },
    });
  }
  // Sorted by code unit, so that the order does not depend on the machine's locale.
  known.sort((a, b) => (a.ref.name < b.ref.name ? -1 : 1));
  // Each state is looked up once: a server may have ten thousand tools.
  const byState = Map.groupBy(known, ({ state }) => state);
  return {
    tools: byState.get("approved") ?? [],
    problems: [...problems, ...heldTexts(server, byState)].toSorted(),
    find: finder(known),
  };
}

const HELD = {
  pending: "were never approved",
  changed: "changed after they were approved",
  blocked: "are blocked",
} as const;

/** True when two catalogues of a server list the same tools and the same problems. */
export function isSameCatalogue(one: ToolCatalogue, other: ToolCatalogue): boolean {
  const pins = (catalogue: ToolCatalogue): string =>
    catalogue.tools.map(({ inspected }) => inspected.pin).join();
  return pins(one) === pins(other) && one.problems.join() === other.problems.join();
}

/** Counted and not named: a caller that lists tools need not have permission to see these. */
function heldTexts(
  server: string,
  byState: ReadonlyMap<PinState, readonly CatalogueTool[]>,
): string[] {
  return (["pending", "changed", "blocked"] as const).flatMap((state) => {
    const count = byState.get(state)?.length ?? 0;
    if (count === 0) return [];
    return [`${count} tools ${HELD[state]}; look at them with: yard mcp pins list ${server}`];
  });
}

function finder(tools: readonly CatalogueTool[]): ToolCatalogue["find"] {
  const byCanonicalName = new Map(tools.map((tool) => [tool.ref.name, tool]));
  const byRawName = new Map(tools.map((tool) => [tool.ref.tool, tool]));
  return (name) => byCanonicalName.get(name) ?? byRawName.get(name) ?? null;
}

function collisionText(folded: string, group: readonly InspectedTool[]): string {
  const names = group.map(({ name }) => JSON.stringify(visible(name, 80))).toSorted();
  return `tools ${names.join(" and ")} are refused: both read as ${folded} where case, - and _ do not count`;
}
