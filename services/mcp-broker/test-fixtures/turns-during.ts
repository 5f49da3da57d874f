import { mock } from "node:test";

/**
 * Counts the turns of the event loop that work takes. The clock advances by a millisecond each time that it is read, so the number does not
 * depend on the machine.
 */
export async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let [now, turns] = [0, 0];
  const clock = mock.method(performance, "now", () => (now += 1));
  let next = setImmediate(count);
  function count(): void {
    turns += 1;
    next = setImmediate(count);
  }
  try {
    await work();
    return turns;
  } finally {
    clearImmediate(next);
    clock.mock.restore();
  }
}
