import { randomUUID } from "node:crypto";

/** Work that comes again and again, in one runner at a time. */
export interface RoundsOptions {
  readonly everyMs: number;
  readonly onFault: (fault: { error: unknown }) => void;
  /** Takes the lease under a name for so many milliseconds; false when another one has it. */
  readonly lease: { takeSweep(name: string, holdMs: number): Promise<boolean> };
  readonly round: () => Promise<unknown>;
}

/**
 * Does a round every `everyMs`, when this runner gets the lease; one that dies is followed by the next. A round
 * that takes longer than the interval has none beside it. `stop` resolves when the last one is over.
 */
export function startLeasedRounds(options: RoundsOptions): { stop(): Promise<void> } {
  const { everyMs, onFault, lease, round } = options;
  const name = randomUUID();
  let running: Promise<void> = Promise.resolve();
  let isRunning = false;
  const next = async (): Promise<void> => {
    try {
      // A little less than the interval, so that the lease is free when its holder comes again.
      if (await lease.takeSweep(name, Math.floor(everyMs * 0.9))) await round();
    } catch (error) {
      onFault({ error });
    } finally {
      isRunning = false;
    }
  };
  const timer = setInterval(() => {
    if (isRunning) return;
    isRunning = true;
    running = next();
  }, everyMs);
  return {
    async stop() {
      clearInterval(timer);
      await running;
    },
  };
}
