import type { Redis } from "ioredis";
import { clusterOf } from "./redis-cluster.ts";

/**
 * Lets commands that a turn of the event loop sends together leave in one write, on every connection of a client. The client library writes
 * for each command, and the system call costs more than the rest of the command; Redis syncs its log once for all commands of one read.
 * A command never waits: the write happens when the code that is running returns to the event loop.
 */
export function gatherWrites(redis: Redis): void {
  const cluster = clusterOf(redis);
  if (cluster === null) onEachConnection(redis);
  else cluster.on("+node", onEachConnection);
}

function onEachConnection(redis: Redis): void {
  redis.on("connect", () => {
    const { stream } = redis;
    const write = stream.write.bind(stream) as (...args: unknown[]) => boolean; // its overloads cannot be passed on
    stream.write = (...args: unknown[]) => {
      if (stream.writableCorked === 0) {
        stream.cork();
        process.nextTick(() => stream.uncork());
      }
      return write(...args);
    };
  });
}
