export type MessageRateLimit = ReturnType<typeof createMessageRateLimit>;

/** The rate of unsolicited messages that a server may send, per second; each KiB of one counts as one more. */
const PER_SECOND = 1_000;
/** The burst that is accepted at once after a quiet time. */
const BURST = 2_000;
const BYTES_PER_POINT = 1_024;
/** Expected answers that never come do not accumulate without limit. */
const MAX_EXPECTED = 1_000;
/** However much arrived, the next read begins within this time. */
const LONGEST_PAUSE_MS = 1_000;

/**
 * Slows down a server that sends more than was requested. Nothing is dropped: its messages are read later, so the server waits
 * for its own pipe or socket, and the other servers of the broker do not. `clock` counts milliseconds and never goes back.
 */
export function createMessageRateLimit(clock: () => number = () => performance.now()) {
  let points = BURST;
  let countedAt = clock();
  let expected = 0;
  const add = (bytes: number): void => {
    points -= 1 + Math.floor(bytes / BYTES_PER_POINT);
  };
  return {
    /** A request was sent, so one more answer is free. */
    expect(): void {
      expected = Math.min(MAX_EXPECTED, expected + 1);
    },
    /** Counts an answer; beyond the expected ones it counts as any other message. */
    answer(bytes: number): void {
      if (expected === 0) add(bytes);
      else expected -= 1;
    },
    /** Counts a message that answers nothing, or a line that is no message. */
    add,
    /** Returns the pause that reading should make, in milliseconds; 0 while the server keeps within its rate. */
    pauseMs(): number {
      const now = clock();
      points = Math.min(BURST, points + ((now - countedAt) * PER_SECOND) / 1_000);
      countedAt = now;
      if (points >= 0) return 0;
      points = Math.max(points, (-PER_SECOND * LONGEST_PAUSE_MS) / 1_000);
      return Math.ceil((-points * 1_000) / PER_SECOND);
    },
  };
}
