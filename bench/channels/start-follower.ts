import type { Bus } from "@switchyard/bus/bus";
import { readEvents } from "@switchyard/bus/events";
import { filterOf } from "@switchyard/contracts/define";
import { runStarted } from "@switchyard/contracts/agent-runner/run-events";

export interface StartFollower {
  /** Resolves when the subscription to starts is active. */
  readonly opened: Promise<void>;
  /** Resolves with the start of the next run, on the clock of `performance.now()`. Rejects after a minute. */
  readonly next: () => Promise<number>;
  /** The number of runs that have started. */
  readonly count: () => number;
  readonly stop: () => Promise<void>;
}

const TIMEOUT_MS = 60_000;

/** Subscribes to the starts of runs. */
export function followStarts(bus: Bus): StartFollower {
  const ended = new AbortController();
  const opened = Promise.withResolvers<void>();
  let waiting: ((at: number) => void)[] = [];
  let started = 0;
  const following = (async () => {
    const filters = [filterOf(runStarted)];
    const options = { filters, from: "now", signal: ended.signal, onOpen: opened.resolve } as const;
    for await (const _ of readEvents(bus, options)) {
      const at = performance.now();
      started += 1;
      const resolvers = waiting;
      waiting = [];
      for (const resolve of resolvers) resolve(at);
    }
  })();
  return {
    opened: opened.promise,
    next() {
      const { promise, resolve, reject } = Promise.withResolvers<number>();
      const timer = setTimeout(
        () => reject(new Error(`no run started within ${TIMEOUT_MS} ms`)),
        TIMEOUT_MS,
      );
      waiting.push((at) => {
        clearTimeout(timer);
        resolve(at);
      });
      return promise;
    },
    count: () => started,
    async stop() {
      ended.abort();
      await following;
    },
  };
}
