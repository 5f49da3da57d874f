/** What a load of one kind came to. Latencies in microseconds. */
export interface Load {
  readonly perSecond: number;
  readonly p50Us: number;
  readonly p99Us: number;
  readonly operations: number;
}

/**
 * Keeps `inFlight` operations under way for `durationMs` after a warm-up of a quarter of that, and
 * counts those that end inside the window. An operation that fails ends the measurement.
 */
export async function measureLoad(options: {
  operation: () => Promise<unknown>;
  inFlight: number;
  durationMs: number;
}): Promise<Load> {
  const { operation, inFlight, durationMs } = options;
  const from = performance.now() + durationMs / 4;
  const until = from + durationMs;
  const latencies: number[] = [];

  const worker = async (): Promise<void> => {
    for (let now = performance.now(); now < until;) {
      const started = now;
      await operation();
      now = performance.now();
      if (started >= from && now < until) latencies.push((now - started) * 1000);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));

  latencies.sort((one, other) => one - other);
  const at = (share: number) => latencies[Math.floor(latencies.length * share)] ?? Number.NaN;
  return {
    perSecond: latencies.length / (durationMs / 1000),
    p50Us: at(0.5),
    p99Us: at(0.99),
    operations: latencies.length,
  };
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

/**
 * Measures two things in turn, A B A B …, and returns for each the run with the median throughput.
 * Turn by turn, a machine whose speed drifts slows both alike.
 */
export async function measurePair(
  rounds: number,
  measureA: () => Promise<Load>,
  measureB: () => Promise<Load>,
): Promise<[Load, Load]> {
  const a: Load[] = [];
  const b: Load[] = [];
  for (let round = 0; round < rounds; round += 1) {
    a.push(await measureA());
    b.push(await measureB());
  }
  return [median(a), median(b)];
}

function median(loads: Load[]): Load {
  const sorted = loads.toSorted((one, other) => one.perSecond - other.perSecond);
  const middle = sorted[Math.floor(sorted.length / 2)];
  if (middle === undefined) throw new RangeError("nothing was measured");
  return middle;
}
