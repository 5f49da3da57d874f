export interface Rounds {
  /** Begins a round now, or after the one under way. Resolves when that round is over; never rejects. */
  wake(): Promise<void>;
  /** Begins no more rounds, and resolves when the one under way is over. */
  stop(): Promise<void>;
}

export interface RoundsOptions {
  /** The time from the end of a round to the next one, also after one that failed. */
  readonly everyMs: number;
  /** May resolve with another time until the next round; `Infinity`: not before it is woken. */
  readonly round: () => Promise<number | void>;
  readonly onError: (error: unknown) => void;
}

/**
 * Searches a store for work again and again, one round at a time. Every replica does so: the store has the work and hands each piece
 * to one of them (`claimDue`), so a wake-up is a hint that may be lost. The first round begins after `everyMs`, or when it is woken.
 */
export function startRounds({ everyMs, round, onError }: RoundsOptions): Rounds {
  let last: Promise<void> = Promise.resolve();
  /** The round that has not begun yet. */
  let next: Promise<void> | null = null;
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;

  const planNext = (waitMs: number): void => {
    if (waitMs !== Number.POSITIVE_INFINITY) timer = setTimeout(() => void wake(), waitMs).unref();
  };
  const run = async (): Promise<void> => {
    next = null;
    clearTimeout(timer);
    if (isStopped) return;
    let waitMs = everyMs;
    try {
      waitMs = (await round()) ?? everyMs;
    } catch (error) {
      onError(error);
    }
    if (!isStopped && next === null) planNext(waitMs);
  };
  const wake = (): Promise<void> => {
    if (isStopped) return last;
    next ??= last = last.then(run);
    return next;
  };
  planNext(everyMs);
  return {
    wake,
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      await last;
    },
  };
}
