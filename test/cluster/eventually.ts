import { setTimeout as delay } from "node:timers/promises";

export interface WaitOptions {
  readonly timeoutMs?: number;
  readonly everyMs?: number;
}

/** The awaited state cannot be reached any more: `eventually` passes this error on at once. */
export class StoppedError extends Error {}

/**
 * Polls once a second until the answer is neither false nor null nor undefined, and returns it. After `timeoutMs`, two minutes, it throws and names
 * what was expected and the last error. Programs that query a cluster may fail while it changes: an error counts as no answer.
 */
export async function eventually<T>(
  what: string,
  ask: () => Promise<T>,
  { timeoutMs = 120_000, everyMs = 1_000 }: WaitOptions = {},
): Promise<Exclude<T, false | null | undefined>> {
  const deadline = performance.now() + timeoutMs;
  let last = "";
  for (;;) {
    try {
      const answer = await ask();
      // The three values that mean "not yet" are excluded by the condition.
      if (answer !== false && answer !== null && answer !== undefined)
        return answer as Exclude<T, false | null | undefined>;
      last = "";
    } catch (error) {
      if (error instanceof StoppedError) throw error;
      last = `; last error: ${String(error)}`;
    }
    if (performance.now() > deadline)
      throw new Error(`not within ${timeoutMs / 1_000} s: ${what}${last}`);
    await delay(everyMs);
  }
}
