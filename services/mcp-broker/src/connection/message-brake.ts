export type MessageBrake = ReturnType<typeof createMessageBrake>;

/** What a server may send unasked: so many messages a second, of which each KiB counts as one more. */
const PER_SECOND = 1_000;
/** What may come at once after a quiet time. */
const BURST = 2_000;
const BYTES_PER_POINT = 1_024;
/** Answers that never come are not saved up for ever. */
const MAX_EXPECTED = 1_000;
/** However much came, the next look is not later than this. */
const LONGEST_PAUSE_MS = 1_000;

/**
 * Slows a server down that sends more than anybody asked for. Nothing is dropped: its messages are
 * read later, so the server waits for its own pipe or socket, and the other servers of the broker do not.
 * `clock` counts milliseconds and never goes back.
 */
export function createMessageBrake(clock: () => number = () => performance.now()) {
  let points = BURST;
  let countedAt = clock();
  let expected = 0;
  const add = (bytes: number): void => {
    points -= 1 + Math.floor(bytes / BYTES_PER_POINT);
  };
  return {
    /** Something was asked: one answer more is free. */
    expect(): void {
      expected = Math.min(MAX_EXPECTED, expected + 1);
    },
    /** Notes an answer; beyond those that were asked for it counts as any other message. */
    answer(bytes: number): void {
      if (expected === 0) add(bytes);
      else expected -= 1;
    },
    /** Notes a message that answers nothing, or a line that is none. */
    add,
    /** How long nothing should be read now, in milliseconds; 0 while the server keeps within its rate. */
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
