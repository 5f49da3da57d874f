import { setTimeout as delay } from "node:timers/promises";

/** Waits until the condition holds; gives up after a time that no test should need. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + 30_000;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error("the condition did not come true");
    await delay(10);
  }
}
