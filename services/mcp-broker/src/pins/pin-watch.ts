import type { Redis } from "@switchyard/service/redis";
import { listenerOf } from "@switchyard/service/redis-cluster";
import { PINS_CHANNEL } from "./pin-store.ts";

/**
 * Receives which server's pins any broker wrote. Whenever a connection comes back, notifications may have been
 * missed.
 */
export function watchPins(
  redis: Redis,
  listener: { onWritten(server: string): void; onGap(): void; onTrouble(error: unknown): void },
) {
  const own = listenerOf(redis);
  const onGap = (): void => listener.onGap();
  const onTrouble = (error: unknown): void => listener.onTrouble(error);
  own.on("message", (_channel, server: string) => listener.onWritten(server));
  // The connection tries again by itself, and the log has the outage from the connection for commands.
  own.on("error", () => undefined);
  own.on("ready", () => {
    own.subscribe(PINS_CHANNEL).then(onGap, onTrouble);
  });
  own.connect().catch(onTrouble);
  // The connection for commands comes back at its own time, and reading needs that one.
  redis.on("ready", onGap);
  return {
    close(): void {
      redis.off("ready", onGap);
      own.disconnect();
    },
  };
}
