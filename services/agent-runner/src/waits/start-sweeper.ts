import { randomUUID } from "node:crypto";
import { startRounds } from "@switchyard/service/rounds";

/** Periodic work, which one runner does at a time. */
interface SweeperOptions {
  readonly everyMs: number;
  readonly onFault: (fault: { error: unknown }) => void;
  /** Acquires the lease of this name for so many milliseconds; false when another runner has it. */
  readonly lease: { takeSweep(name: string, holdMs: number): Promise<boolean> };
  /**
   * They run concurrently, and a failure of one does not prevent the others; nor does a slow one: it is skipped for as long as it is under way, and the others are
   * not delayed.
   */
  readonly rounds: readonly (() => Promise<unknown>)[];
}

/** Runs its rounds every `everyMs`, when this runner gets the lock; if that runner dies, another one takes it. */
export function startSweeper(options: SweeperOptions): { stop(): Promise<void> } {
  const { everyMs, onFault, lease, rounds } = options;
  const name = randomUUID();
  const report = (error: unknown): void => onFault({ error });
  const underWay = new Map<() => Promise<unknown>, Promise<unknown>>();
  const begin = (one: () => Promise<unknown>): void => {
    if (underWay.has(one)) return;
    const ended = one()
      .catch(report)
      .finally(() => underWay.delete(one));
    underWay.set(one, ended);
  };
  const round = async (): Promise<void> => {
    // Slightly shorter than the interval, so that the lock has expired when its holder returns.
    if (!(await lease.takeSweep(name, Math.floor(everyMs * 0.9)))) return;
    for (const one of rounds) begin(one);
  };
  const started = startRounds({ everyMs, round, onError: report });
  return {
    async stop() {
      await started.stop();
      await Promise.all(underWay.values());
    },
  };
}
