import { randomUUID } from "node:crypto";

/** Periodic work, which one runner does at a time. */
interface SweeperOptions {
  readonly everyMs: number;
  readonly onFault: (fault: { error: unknown }) => void;
  /** Acquires the lease of this name for so many milliseconds; false when another runner has it. */
  readonly lease: { takeSweep(name: string, holdMs: number): Promise<boolean> };
  /** They run concurrently, and a failure of one does not prevent the others. */
  readonly rounds: readonly (() => Promise<unknown>)[];
}

/**
 * Runs its rounds every `everyMs`, when this runner gets the lease; if that runner dies, another one acquires it. Rounds that
 * take longer than the interval are not started twice. `stop` resolves when the last ones are over.
 */
export function startSweeper(options: SweeperOptions): { stop(): Promise<void> } {
  const { everyMs, onFault, lease, rounds } = options;
  const name = randomUUID();
  let running: Promise<void> = Promise.resolve();
  let isRunning = false;
  const report = (error: unknown): void => onFault({ error });
  const next = async (): Promise<void> => {
    try {
      // Slightly shorter than the interval, so that the lease has expired when its holder returns.
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
