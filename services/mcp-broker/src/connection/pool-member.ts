import { createCallQueue, type CallQueue } from "../limits/call-queue.ts";
import { ServerConnection, type ServerConnectionOptions } from "./server-connection.ts";

/** A connection with its own queue: no server can hold up another. */
export interface PoolMember {
  readonly connection: ServerConnection;
  readonly queue: CallQueue;
}

/** A server with a broken entry has no limits of its own and takes no call anyway. */
const NO_CALLS = { maxConcurrency: 1, queueLimit: 0 };

export function createPoolMember(options: ServerConnectionOptions): PoolMember {
  return {
    connection: new ServerConnection(options),
    queue: createCallQueue(options.entry.config ?? NO_CALLS),
  };
}
