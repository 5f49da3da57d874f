import { createCallQueue, type CallQueue } from "./call-queue.ts";
import type { ServerEntry } from "./server-config.ts";
import { ServerConnection, type ServerConnectionOptions } from "./server-connection.ts";

/** All configured servers, each with its own connection and its own queue: none can hold up another. */
export interface ServerPool {
  readonly members: readonly PoolMember[];
  /** Calls that all servers together work on or let wait. */
  readonly capacity: number;
  /** Connects the servers that connect by themselves. Resolves when each had its first attempt, whatever its end. */
  start(): Promise<void>;
  /** Resolves when no connection and no child process is left. */
  stop(): Promise<void>;
}

export interface PoolMember {
  readonly connection: ServerConnection;
  readonly queue: CallQueue;
}

/** A server with a broken entry has no limits of its own and takes no call anyway. */
const NO_CALLS = { maxConcurrency: 1, queueLimit: 0 };

export function createServerPool(
  entries: readonly ServerEntry[],
  options: Omit<ServerConnectionOptions, "entry">,
): ServerPool {
  const limits = entries.map(({ config }) => config ?? NO_CALLS);
  const members = entries.map((entry) => ({
    connection: new ServerConnection(Object.assign({ entry }, options)),
    queue: createCallQueue(entry.config ?? NO_CALLS),
  }));
  return {
    members,
    capacity: limits.reduce(
      (sum, { maxConcurrency, queueLimit }) => sum + maxConcurrency + queueLimit,
      0,
    ),
    async start() {
      const automatic = members.filter(({ connection }) => connection.entry.config?.autoConnect);
      await Promise.all(automatic.map(({ connection }) => connection.start()));
    },
    async stop() {
      await Promise.all(members.map(({ connection }) => connection.stop()));
    },
  };
}
