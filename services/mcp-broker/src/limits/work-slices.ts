import { setImmediate } from "node:timers/promises";

/** After this time other work gets its turn, such as the renewal of leases. */
const SLICE_MS = 10;

/**
 * Cuts long work into slices: a loop over thousands of tools awaits the returned function in each turn, which yields to the event
 * loop when the slice is over.
 */
export function workSlices(): () => Promise<void> | undefined {
  let sliceFrom = performance.now();
  const yieldToOthers = async (): Promise<void> => {
    await setImmediate();
    sliceFrom = performance.now();
  };
  return () => (performance.now() - sliceFrom > SLICE_MS ? yieldToOthers() : undefined);
}
