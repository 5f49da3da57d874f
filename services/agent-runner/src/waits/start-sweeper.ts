import { randomUUID } from "node:crypto";

/** Work that comes again and again, in one runner at a time. */
interface SweeperOptions {
  readonly everyMs: number;
  readonly onFault: (fault: { error: unknown }) => void;
  /** Takes the lease under a name for so many milliseconds; false when another one has it. */
  readonly lease: { takeSweep(name: string, holdMs: number): Promise<boolean> };
  /** Each is done beside the others; none keeps them from being done. */
  readonly rounds: readonly (() => Promise<unknown>)[];
}

/**
 * Does its rounds every `everyMs`, when this runner gets the lease; one that dies is followed by the next. Rounds
 * that take longer than the interval have none beside them. `stop` resolves when the last ones are over.
 */
export function startSweeper(options: SweeperOptions): { stop(): Promise<void> } {
  const { everyMs, onFault, lease, rounds } = options;
  const name = randomUUID();
  let running: Promise<void> = Promise.resolve();
  let isRunning = false;
  const report = (error: unknown): void => onFault({ error });
  const next = async (): Promise<void> => {
    try {
      // A little less than the interval, so that the lease is free when its holder comes again.
      if (!(await lease.takeSweep(name, Math.floor(everyMs * 0.9)))) return;
      await Promise.all(rounds.map((round) => round().catch(report)));
    } catch (error) {
      report(error);
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
