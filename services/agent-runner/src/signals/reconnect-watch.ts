import type { Bus } from "@switchyard/bus/connect";

const INTERVAL_MS = 250;

/** What is told when the bus is back. All that look at one bus share a timer, which runs while there is anybody. */
interface Watch {
  readonly watchers: Set<() => void>;
  readonly timer: NodeJS.Timeout;
}

const watches = new WeakMap<object, Watch>();

/**
 * Calls back, once, when the bus is there again after it was away. A reply that was sent in between is
 * lost, so waiting on for it would last until the deadline. The function that it gives back ends the watch.
 */
export function watchReconnect(bus: Pick<Bus, "status">, onBack: () => void): () => void {
  const { watchers, timer } = watches.get(bus) ?? startWatch(bus);
  const watcher = (): void => onBack();
  watchers.add(watcher);
  return () => {
    watchers.delete(watcher);
    if (watchers.size > 0) return;
    clearInterval(timer);
    if (watches.get(bus)?.timer === timer) watches.delete(bus);
  };
}

function startWatch(bus: Pick<Bus, "status">): Watch {
  const watchers = new Set<() => void>();
  let away: ReadonlySet<() => void> | null = null;
  const timer = setInterval(() => {
    if (bus.status !== "connected") {
      away = new Set(watchers);
    } else if (away !== null) {
      // Who began to wait behind the outage has lost nothing.
      for (const watcher of away) if (watchers.has(watcher)) watcher();
      away = null;
    }
  }, INTERVAL_MS);
  const watch = { watchers, timer };
  watches.set(bus, watch);
  return watch;
}
