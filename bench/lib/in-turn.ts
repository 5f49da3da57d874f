import { latenciesUs, loadOf, type Load } from "./measure.ts";

/** Length of one turn; for runs, which take longer, `sliceMs` of the options. */
const SLICE_MS = 600;

/**
 * Measures several things in short turns, A B C A B C …, and takes all turns of each together: the speed of a shared
 * machine changes within seconds, and so it slows all alike.
 */
export async function measureInTurn<K extends string>(
  operations: Readonly<Record<K, () => Promise<unknown>>>,
  options: {
    readonly inFlight: number;
    /** Window of each variant: all its rounds together take `rounds * windowMs`. */
    readonly windowMs: number;
    readonly rounds: number;
    readonly sliceMs?: number;
  },
): Promise<Record<K, Load>> {
  const { inFlight, windowMs, rounds, sliceMs = SLICE_MS } = options;
  const durationMs = Math.min(sliceMs, windowMs);
  const turns = Math.ceil((rounds * windowMs) / durationMs);
  // Object.keys forgets that the keys are K.
  const names = Object.keys(operations) as K[];
  const latencies = new Map<K, number[]>(names.map((name) => [name, []]));
  for (let turn = 0; turn < turns; turn += 1) {
    for (const name of names) {
      const all = latencies.get(name);
      for (const one of await latenciesUs({ operation: operations[name], inFlight, durationMs }))
        all?.push(one);
    }
  }
  const loads = names.map((name) => [name, loadOf(latencies.get(name) ?? [], turns * durationMs)]);
  return Object.fromEntries(loads) as Record<K, Load>;
}
