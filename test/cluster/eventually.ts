import { setTimeout as delay } from "node:timers/promises";

export interface WaitOptions {
  readonly timeoutMs?: number;
  readonly everyMs?: number;
}

/**
 * Polls once a second until the answer is neither false nor null nor undefined, and returns it. After `timeoutMs`, two minutes, it throws and names
 * what was expected and the last error. A cluster is asked with programs, which may fail while it changes: an error counts as no answer.
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
      last = `; last error: ${String(error)}`;
    }
    if (performance.now() > deadline)
      throw new Error(`not within ${timeoutMs / 1_000} s: ${what}${last}`);
    await delay(everyMs);
  }
}
