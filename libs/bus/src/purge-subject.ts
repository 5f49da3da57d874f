import { jetstreamManager } from "@nats-io/jetstream";
import type { Bus } from "./bus.ts";
import { connectionOf } from "./connection.ts";
import { infrastructureError } from "./infrastructure-errors.ts";

/**
 * Deletes all messages of a subject, which may have wildcards, from a stream that the bus's user may purge. Rejects with a ServiceError.
 */
export async function purgeSubject(bus: Bus, stream: string, filter: string): Promise<void> {
  const { nc, user } = connectionOf(bus);
  try {
    const manager = await jetstreamManager(nc, { checkAPI: false });
    await manager.streams.purge(stream, { filter });
  } catch (error) {
    throw infrastructureError(error, user, stream);
  }
}
