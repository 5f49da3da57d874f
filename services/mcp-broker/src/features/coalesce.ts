/** Keys that are remembered at a time; beyond them messages are lost until one is quiet again. */
const MAX_KEYS = 1_000;

/**
 * Forwards the first of many equal messages at once and then at most one in each interval, the last one always: so a flood costs
 * little and no receiver misses that something changed.
 */
export function createCoalescer(options: {
  readonly intervalMs: number;
  readonly send: (key: string) => void;
}) {
  const { intervalMs, send } = options;
  const timers = new Map<string, NodeJS.Timeout>();
  const again = new Set<string>();
  const wait = (key: string): void => {
    const timer = setTimeout(() => {
      timers.delete(key);
      if (!again.delete(key)) return;
      send(key);
      wait(key);
    }, intervalMs);
    timers.set(key, timer);
  };
  return {
    notify(key: string): void {
      if (timers.has(key)) {
        again.add(key);
        return;
      }
      if (timers.size >= MAX_KEYS) return;
      send(key);
      wait(key);
    },
    stop(): void {
      for (const timer of timers.values()) clearTimeout(timer);
      timers.clear();
      again.clear();
    },
  };
}
