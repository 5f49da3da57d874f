import type { Bus } from "@switchyard/bus/connect";

const INTERVAL_MS = 250;

/**
 * A signal that aborts when the bus is back after it was away. A reply that was sent in between is
 * lost, so waiting on for it would last until the deadline.
 */
export function watchReconnect(bus: Pick<Bus, "status">): {
  readonly signal: AbortSignal;
  stop(): void;
} {
  const controller = new AbortController();
  let wasAway = false;
  const timer = setInterval(() => {
    if (bus.status !== "connected") wasAway = true;
    else if (wasAway) controller.abort(new Error("the bus was away"));
  }, INTERVAL_MS);
  return { signal: controller.signal, stop: () => clearInterval(timer) };
}
