import { measureLoad, type Load } from "./measure.ts";

/**
 * Measures several things in turn, round by round, and returns of each the run with the median
 * throughput: a machine whose speed drifts slows all alike.
 */
export async function measureInTurn<K extends string>(
  operations: Readonly<Record<K, () => Promise<unknown>>>,
  options: { readonly inFlight: number; readonly windowMs: number; readonly rounds: number },
): Promise<Record<K, Load>> {
  const { inFlight, windowMs: durationMs, rounds } = options;
  // Object.keys forgets that the keys are K.
  const names = Object.keys(operations) as K[];
  const loads = new Map<K, Load[]>(names.map((name) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const name of names) {
      const load = await measureLoad({ operation: operations[name], inFlight, durationMs });
      loads.get(name)?.push(load);
    }
  }
  const medians = names.map((name) => [name, median(loads.get(name) ?? [])]);
  return Object.fromEntries(medians) as Record<K, Load>;
}

function median(loads: readonly Load[]): Load {
  const sorted = loads.toSorted((one, other) => one.perSecond - other.perSecond);
  const middle = sorted[Math.floor(sorted.length / 2)];
  if (middle === undefined) throw new RangeError("nothing was measured");
  return middle;
}
