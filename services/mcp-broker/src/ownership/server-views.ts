import type { CatalogueTool } from "../catalogue/tool-catalogue.ts";
import type { ServerConnection } from "../connection/server-connection.ts";
import type { ServerPool } from "../connection/server-pool.ts";
import type { ServerDirectory } from "./server-directory.ts";
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

/**
 * All servers: those of this broker from their connections, the others as their owners tell. What
 * an owner told counts as long as its lease, so a dead owner's tools leave the lists with it.
 */
export function serverViews(deps: {
  pool: ServerPool;
  directory: ServerDirectory;
  owns: (server: string) => boolean;
  /** Connects a server that this broker does not own, wherever that is to be. Never rejects. */
  startElsewhere: (server: string) => Promise<void>;
}): ServerView[] {
  const { pool, directory, owns, startElsewhere } = deps;
  return pool.members.map(({ connection }) => {
    const { id } = connection.entry;
    if (owns(id)) return connection;
    const start = (): Promise<void> => startElsewhere(id);
    if (directory.stateOf(id) === null && connection.isStateless) return connection;
    return {
      entry: connection.entry,
      start,
      get info() {
        return directory.stateOf(id)?.info ?? unowned(connection);
      },
      get catalogue() {
        return directory.stateOf(id) ?? NOTHING;
      },
    };
  });
}

const NOTHING: Pick<ServerState, "tools" | "problems"> = { tools: [], problems: [] };

function unowned({ info }: ServerConnection): ServerConnection["info"] {
  return { ...info, lastError: info.lastError ?? "no broker owns the server now" };
}
