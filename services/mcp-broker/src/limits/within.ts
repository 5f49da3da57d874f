import { setTimeout as delay } from "node:timers/promises";

/** Waits for the work, but not longer than the time; the work continues. Rejects as it does. */
export async function within(timeoutMs: number, work: Promise<unknown>): Promise<void> {
  const waiting = new AbortController();
  const { signal } = waiting;
  try {
    await Promise.race([work, delay(timeoutMs, undefined, { signal })]);
  } finally {
    waiting.abort();
  }
}
