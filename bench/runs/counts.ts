import { readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "@switchyard/local-servers/until";

/** Work of a process since its start. */
export interface Counts {
  encodings: number;
  decodings: number;
  timers: number;
  immediates: number;
  writes: number;
}

/** The file that a counting process writes its counts to. */
export function countsFile(pid: number): string {
  return join(tmpdir(), `yard-bench-counts-${pid}.json`);
}

/** The counts of processes that have loaded `count-calls.ts`, added up. */
export async function readCounts(pids: readonly number[]): Promise<Counts> {
  const all = await Promise.all(pids.map(countsOf));
  const sum: Counts = { encodings: 0, decodings: 0, timers: 0, immediates: 0, writes: 0 };
  for (const counts of all)
    for (const name of Object.keys(sum) as (keyof Counts)[]) sum[name] += counts[name];
  return sum;
}

async function countsOf(pid: number): Promise<Counts> {
  const file = countsFile(pid);
  await rm(file, { force: true });
  process.kill(pid, "SIGUSR2");
  const text = await until(() => readFile(file, "utf8").catch(() => null));
  await rm(file, { force: true });
  return JSON.parse(text) as Counts; // as `count-calls.ts` writes it, in one piece
}
