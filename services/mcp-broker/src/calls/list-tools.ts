import type { z } from "zod";
import { prepareListReply, type PreparedReply } from "@switchyard/bus/prepared-reply";
import {
  listTools as contract,
  type ToolInfo,
  type listTools,
} from "@switchyard/contracts/mcp-broker/mcp";
import { type ToolRef, foldedToolName } from "@switchyard/contracts/tool-names";
import type { Requester, PolicyGate } from "@switchyard/tool-provider/policy-gate";
import { unknownServer } from "../connection/server-pool.ts";
import type { ServerView } from "../ownership/server-views.ts";

type ListRequest = z.output<typeof contract.request>;
type ListReply = z.input<typeof contract.reply>;

/** The most characters of lists that are cached as JSON; a thousand tools have some 400,000. */
const MAX_PREPARED = 16_000_000;

/**
 * The tools that the principal may call, over one server or all of them, in a fixed order. A server that is not connected is a
 * named failure, never a reason to wait or to fail the whole list. The policy decides each list, or has promised its answer; only
 * the JSON of a list that it allowed is reused.
 */
export function createListTools(gate: Pick<PolicyGate, "filter">) {
  const findListable = createListableTools();
  const prepared = createPreparedLists(MAX_PREPARED);
  return async (
    all: readonly ServerView[],
    request: ListRequest,
    requester: Requester,
  ): Promise<PreparedList> => {
    const connections = await chosen(all, request.server);
    const tools = findListable(all, request.server);
    // Taken at the same moment as the tools: a server that connects during the wait would be in neither.
    const failures = [
      ...connections.flatMap(failuresOfServer),
      ...connections.flatMap((connection) => collisionsOf(connection, tools.colliding)),
    ];
    const allowed = await gate.filter(tools.refs, requester);
    const isShown = tools.refs.map(({ name }) => allowed.has(name));
    const withFindings = request.findings === true;
    const shown = isShown.map((is) => (is ? "1" : "0")).join("");
    const about = isShown.includes(true) ? instructionsOf(connections, request.server) : {};
    return prepared.get(tools, JSON.stringify([withFindings, shown, failures, about]), () => {
      const infos = tools.infos.filter((_, n) => isShown[n]);
      const shownInfos = withFindings ? infos : infos.map(withoutFindings);
      return prepareListReply(contract, { tools: shownInfos, failures, ...about }, "tools");
    });
  };
}

/** A text about the use of one server is part of the list of this server alone. */
function instructionsOf(
  [connection]: readonly ServerView[],
  server: string | undefined,
): Pick<ListReply, "instructions"> {
  const instructions = server === undefined ? undefined : connection?.info.instructions;
  return instructions === undefined ? {} : { instructions };
}

function withoutFindings(info: ToolInfo): ToolInfo {
  if (info.findings === undefined) return info;
  const { findings: _, ...rest } = info;
  return rest;
}

/** A list for models has each name once; the calls of such tools go to their own servers all the same. */
function collisionsOf(
  { entry: { id: server }, info: { status } }: ServerView,
  colliding: ReadonlyMap<string, readonly ToolRef[]>,
): ListReply["failures"] {
  const own = [...colliding].filter(([, group]) => group.some((ref) => ref.server === server));
  return own
    .filter(([name, group]) => group.some((ref) => ref.server === server && ref.name === name))
    .map(([name, group]) => {
      const others = group.filter((ref) => ref.name !== name).map((ref) => ref.name);
      return {
        server,
        status,
        error: `tool ${name} is left out: it reads as ${others.join(", ")}`,
      };
    });
}

async function chosen(
  connections: readonly ServerView[],
  server: string | undefined,
): Promise<readonly ServerView[]> {
  if (server === undefined) return connections;
  const connection = connections.find(({ entry }) => entry.id === server);
  if (connection === undefined) throw unknownServer(server);
  await connection.start(); // named for the first time: connects what does not connect by itself
  return [connection];
}

function failuresOfServer(connection: ServerView): ListReply["failures"] {
  const { id, status, lastError } = connection.info;
  if (status === "disabled") return [];
  if (status === "connected") {
    return connection.catalogue.problems.map((error) => ({ server: id, status, error }));
  }
  return [{ server: id, status, error: lastError ?? `MCP server not connected: ${id}` }];
}

type PreparedList = PreparedReply<typeof listTools>;

/**
 * Caches the JSON of lists, since most principals are shown the same ones. All of them go when they
 * have more than `limit` characters together; those of tools that are gone go with these.
 */
export function createPreparedLists(limit: number) {
  let lists = new WeakMap<ListableTools, Map<string, Promise<PreparedList>>>();
  let characters = 0;
  return {
    /** The list that was made of these tools under the key, or what `make` makes now. The key contains everything else that `make` depends on. */
    async get(
      tools: ListableTools,
      key: string,
      make: () => Promise<PreparedList>,
    ): Promise<PreparedList> {
      const found = lists.get(tools)?.get(key);
      if (found !== undefined) return found;
      const own = lists.get(tools) ?? new Map<string, Promise<PreparedList>>();
      lists.set(tools, own);
      const making = make();
      own.set(key, making);
      try {
        const made = await making;
        const size = key.length + made.characters;
        if (size > limit) own.delete(key);
        else if (characters + size <= limit) characters += size;
        else {
          lists = new WeakMap([[tools, new Map([[key, making]])]]);
          characters = size;
        }
        return made;
      } catch (error) {
        own.delete(key);
        throw error;
      }
    },
  };
}

/** Tools of one server or of all, before any policy filter. */
interface ListableTools {
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

/**
 * The canonical names that tools of different servers share where case, `-` and `_` do not count.
 * Only a server whose id ends with `-` or has `--` can have one: `a--b` and its tool `c` read as `a`
 * and its tool `b__c`.
 */
function collidingNames(
  servers: readonly string[],
  refs: readonly ToolRef[],
): ReadonlyMap<string, readonly ToolRef[]> {
  if (!servers.some((id) => id.endsWith("-") || id.includes("--"))) return new Map();
  const colliding = new Map<string, readonly ToolRef[]>();
  for (const group of Map.groupBy(refs, ({ name }) => foldedToolName(name)).values())
    if (new Set(group.map(({ server }) => server)).size > 1)
      for (const { name } of group) colliding.set(name, group);
  return colliding;
}
