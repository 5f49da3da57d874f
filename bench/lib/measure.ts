/** Result of a load of one kind. Latencies in microseconds. */
export interface Load {
  readonly perSecond: number;
  readonly p50Us: number;
  readonly p99Us: number;
  readonly operations: number;
}

export interface LoadOptions {
  readonly operation: () => Promise<unknown>;
  readonly inFlight: number;
  readonly durationMs: number;
}

/**
 * Keeps `inFlight` operations under way for `durationMs` after a warm-up of a quarter of that, and
 * counts those that end inside the window. An operation that fails ends the measurement.
 */
export async function measureLoad(options: LoadOptions): Promise<Load> {
  return loadOf(await latenciesUs(options), options.durationMs);
}

/**
 * Lets each operation run, 64 at a time, until it is compiled as in a process that has worked for a while, ours and
 * baselines alike: a brokered call takes half the processor time after 40,000 of them that it takes at first.
 */
export async function warmUp(
  operations: Readonly<Record<string, () => Promise<unknown>>>,
  durationMs: number,
): Promise<void> {
  for (const operation of Object.values(operations))
    await measureLoad({ operation, inFlight: 64, durationMs });
}

/** The latency of each operation that ended inside the window. */
export async function latenciesUs(options: LoadOptions): Promise<number[]> {
  const { operation, inFlight, durationMs } = options;
  const from = performance.now() + durationMs / 4;
  const until = from + durationMs;
  const latencies: number[] = [];

  const worker = async (): Promise<void> => {
    for (let now = performance.now(); now < until;) {
      const started = now;
      await operation();
      now = performance.now();
      if (now >= from && now < until) latencies.push((now - started) * 1000);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  return latencies;
}

/** Sorts the latencies. */
export function loadOf(latencies: number[], durationMs: number): Load {
  latencies.sort((one, other) => one - other);
  const at = (share: number) => latencies[Math.floor(latencies.length * share)] ?? Number.NaN;
  return {
    perSecond: latencies.length / (durationMs / 1000),
    p50Us: at(0.5),
    p99Us: at(0.99),
    operations: latencies.length,
  };
}
