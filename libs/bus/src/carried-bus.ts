import type { Bus } from "./bus.ts";
import type { Carrier } from "./carrier.ts";

/**
 * A bus without a connection of its own, for `call`, `client`, `publishCommand`, `readEvents` and `subscribeLive`. Every other function
 * rejects or throws a ServiceError `needs_nats`.
 */
export function carriedBus(user: string, carrier: Carrier): Bus {
  let isClosed = false;
  const close = (): Promise<void> => {
    isClosed = true;
    carrier.close();
    return Promise.resolve();
  };
  return {
    user,
    carrier,
    get status() {
      return isClosed ? "closed" : "connected";
    },
    serverVersion: "",
    loneServer: null,
    maxPayload: Infinity,
    silentStreams: [],
    flush: () => Promise.resolve(),
    drain: close,
    close,
  };
}
