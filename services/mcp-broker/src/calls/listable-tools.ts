import type { ToolInfo } from "@switchyard/contracts/mcp-broker/mcp";
import type { ToolRef } from "@switchyard/contracts/tool-names";
import type { ServerView } from "../ownership/server-views.ts";
import { collidingNames } from "../catalogue/name-collisions.ts";

/** Tools of one server or of all, before any policy filter. */
export interface ListableTools {
  /** The same array for as long as no server's tools change: decisions about it stay valid. */
  readonly refs: readonly ToolRef[];
  /** In the order of `refs`. */
  readonly infos: readonly ToolInfo[];
  /** The names that are left out, with all tools that read as them. */
  readonly colliding: ReadonlyMap<string, readonly ToolRef[]>;
}

/**
 * Callers that list the same tools again get the same object, until a server of `all` lists others. `server` is the one that the
 * caller named.
 */
export function createListableTools() {
  let sources: readonly Source[] = [];
  const known = new Map<string | undefined, ListableTools>();
  return (all: readonly ServerView[], server: string | undefined): ListableTools => {
    const now = all.map(({ entry, catalogue }) => ({ id: entry.id, tools: catalogue.tools }));
    if (!isSame(sources, now)) known.clear();
    sources = now;
    const found = known.get(server) ?? listable(sources, server);
    known.set(server, found);
    return found;
  };
}

interface Source {
  readonly id: string;
  readonly tools: ServerView["catalogue"]["tools"];
}

/** A catalogue never changes: other tools are another array. */
function isSame(one: readonly Source[], other: readonly Source[]): boolean {
  return (
    one.length === other.length &&
    one.every(({ id, tools }, n) => id === other[n]?.id && tools === other[n]?.tools)
  );
}

function listable(sources: readonly Source[], server: string | undefined): ListableTools {
  const colliding = collidingNames(
    sources.map(({ id }) => id),
    sources.flatMap(({ tools }) => tools.map(({ ref }) => ref)),
  );
  const tools = sources
    .filter(({ id }) => server === undefined || id === server)
    .flatMap((source) => source.tools)
    .filter(({ ref }) => !colliding.has(ref.name));
  return { refs: tools.map(({ ref }) => ref), infos: tools.map(({ info }) => info), colliding };
}
