import type { CatalogueTool } from "../catalogue/tool-catalogue.ts";
import type { ServerConnection } from "../connection/server-connection.ts";
import type { ServerPool } from "../connection/server-pool.ts";
import type { KnownLeases } from "./known-leases.ts";
import type { ServerState } from "./server-state.ts";

/** A server as the lists show it, wherever its connection is. */
export type ServerView = Pick<ServerConnection, "info" | "start"> & {
  readonly entry: Pick<ServerConnection["entry"], "id">;
  /** Approved tools only. */
  readonly catalogue: {
    readonly tools: readonly Pick<CatalogueTool, "ref" | "info">[];
    readonly problems: readonly string[];
  };
};

export interface ViewDeps {
  readonly pool: ServerPool;
  readonly leases: KnownLeases;
  /** Connects a server that this broker does not own, wherever that is to be. Never rejects. */
  readonly startElsewhere: (server: string) => Promise<void>;
}

/**
 * All servers: those of this broker from their connections, the others as their owners publish them. An owner's state counts as
 * long as its lease, so a dead owner's tools leave the lists with it.
 */
export function serverViews(deps: ViewDeps): ServerView[] {
  const { pool, leases, startElsewhere } = deps;
  const own = pool.members.map(({ connection }) => {
    const { id } = connection.entry;
    if (leases.owns(id)) return connection;
    const start = (): Promise<void> => startElsewhere(id);
    if (leases.stateOf(id) === null && connection.isStateless) return connection;
    return {
      entry: connection.entry,
      start,
      get info() {
        return leases.stateOf(id)?.info ?? unowned(connection);
      },
      get catalogue() {
        return leases.stateOf(id) ?? NOTHING;
      },
    };
  });
  return [...own, ...foreignViews(deps)];
}

/** Servers that this broker has no declaration of: only another broker's file names them. */
function foreignViews({
  pool,
  leases,
  startElsewhere,
}: Pick<ViewDeps, "pool" | "leases" | "startElsewhere">): ServerView[] {
  return leases.elsewhere
    .filter((id) => pool.find(id) === null)
    .toSorted()
    .flatMap((id) => {
      const state = leases.stateOf(id);
      // The tools of a server without declared roles can be shown to no caller.
      if (state?.declared === undefined) return [];
      return [
        { entry: { id }, start: () => startElsewhere(id), info: state.info, catalogue: state },
      ];
    });
}

const NOTHING: Pick<ServerState, "tools" | "problems"> = { tools: [], problems: [] };

function unowned({ info }: ServerConnection): ServerConnection["info"] {
  return { ...info, lastError: info.lastError ?? "no broker owns the server now" };
}
