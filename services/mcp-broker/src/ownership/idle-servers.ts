import type { ServerPool } from "../connection/server-pool.ts";

/** Tells of a server whether nobody would notice that it changes its owner. */
export function idleIn(pool: ServerPool): (server: string) => boolean {
  return (server) => {
    const member = pool.find(server);
    const status = member?.connection.info.status;
    if (pool.instances.count(server) > 0) return false; // their runs would lose them
    return member?.queue.inFlight === 0 && member.queue.queued === 0 && status !== "connecting";
  };
}
