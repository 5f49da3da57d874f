import { setTimeout as delay } from "node:timers/promises";

const LIMIT_MS = 30_000;
const INTERVAL_MS = 20;

/** Asks again and again until there is an answer; for states that nothing announces. */
export async function waitFor<T>(ask: () => Promise<T | null>): Promise<T> {
  const end = Date.now() + LIMIT_MS;
  while (Date.now() < end) {
    const answer = await ask();
    if (answer !== null) return answer;
    await delay(INTERVAL_MS);
  }
  throw new Error(`nothing came within ${LIMIT_MS} ms`);
}

/** Waits until a condition holds. */
export async function waitUntil(holds: () => Promise<boolean>): Promise<void> {
  await waitFor(async () => ((await holds()) ? true : null));
}
