import type { Bus } from "@switchyard/bus/bus";

const INTERVAL_MS = 250;

/** The callbacks for a reconnected bus. All watchers of one bus share a timer, which runs while there are any. */
interface Watch {
  readonly watchers: Set<() => void>;
  readonly timer: NodeJS.Timeout;
}

const watches = new WeakMap<object, Watch>();

/**
 * Calls back, once, when the bus has reconnected after an outage. A reply that was sent during the outage is lost, so waiting
 * for it would last until the deadline. The returned function ends the watch.
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
      // A watcher that was added after the outage began has lost no reply.
      for (const watcher of away) if (watchers.has(watcher)) watcher();
      away = null;
    }
  }, INTERVAL_MS);
  const watch = { watchers, timer };
  watches.set(bus, watch);
  return watch;
}
