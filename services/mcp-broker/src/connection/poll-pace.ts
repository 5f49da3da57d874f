/** A stream that lasted this long was one, though it may have had no event. */
const LASTING_MS = 30_000;
/** While a request waits for its answer, which may come in the next stream. */
const MAX_WAITING_MS = 5_000;
const MAX_IDLE_MS = 60_000;
/** A server may request a poll at once, repeatedly. */
const MIN_MS = 100;
/** Node fires a longer timer at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export type PollPace = ReturnType<typeof createPollPace>;

/**
 * The delay before a stream that the server ended is opened again. It doubles while streams end at once and without an event.
 */
export function createPollPace(now: () => number) {
  let inVain = 0;
  let openedAt = Number.NEGATIVE_INFINITY;
  return {
    /** An event was received. */
    received(): void {
      inVain = 0;
    },
    opened(): void {
      openedAt = now();
    },
    /** The delay before the next one, at least as long as the server or the SDK requires. */
    delayMs(wantedMs: number, { isAwaited }: { readonly isAwaited: boolean }): number {
      if (now() - openedAt > LASTING_MS) inVain = 0;
      const first = Math.max(MIN_MS, wantedMs);
      const slowed = first * 2 ** Math.min(inVain, 20);
      inVain += 1;
      const most = isAwaited ? MAX_WAITING_MS : MAX_IDLE_MS;
      return Math.min(LONGEST_TIMER_MS, Math.max(first, Math.min(most, slowed)));
    },
  };
}
