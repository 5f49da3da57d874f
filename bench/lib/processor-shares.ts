import { readFile } from "node:fs/promises";

/** Use of all processors between two moments, each as a share of one. */
export interface ProcessorShares {
  /** Time that the host gave to other machines while this one had work. */
  readonly stolen: number;
  readonly idle: number;
}

/** Starts measuring; the function that it resolves to returns the shares since then, or null where there is no /proc. */
export async function watchProcessors(): Promise<() => Promise<ProcessorShares | null>> {
  const before = await readTimes();
  return async () => {
    const after = await readTimes();
    if (before === null || after === null) return null;
    const since = after.map((ticks, field) => ticks - (before[field] ?? 0));
    const total = since.reduce((sum, ticks) => sum + ticks, 0);
    if (total <= 0) return null;
    const [idle = 0, iowait = 0, stolen = 0] = [since[IDLE], since[IOWAIT], since[STEAL]];
    return { stolen: stolen / total, idle: (idle + iowait) / total };
  };
}

// Fields of the line `cpu` in proc(5). Those behind them, of guests, are counted in the first two already.
const IDLE = 3;
const IOWAIT = 4;
const STEAL = 7;

async function readTimes(): Promise<readonly number[] | null> {
  const text = await readFile("/proc/stat", "utf8").catch(() => null);
  const line = text?.split("\n").find((candidate) => candidate.startsWith("cpu "));
  return line === undefined
    ? null
    : line
        .trim()
        .split(/\s+/)
        .slice(1, STEAL + 2)
        .map(Number);
}
