import { readdir, readFile } from "node:fs/promises";
import type { DevInstance } from "../../test/lib/yard-dev.ts";

/** Linux counts processor time in USER_HZ, 100 a second on every platform that Node runs on. */
const TICK_MS = 10;

/** Processor time that each process of an instance, and of `others`, has used, in milliseconds by name; null where there is no /proc. */
export async function processorTimes(
  instance: DevInstance,
  others: ReadonlyMap<number, string> = new Map(),
): Promise<ReadonlyMap<string, number> | null> {
  const stats = await readStats();
  if (stats === null) return null;
  const times = new Map<string, number>();
  const add = (name: string, ms: number): void => void times.set(name, (times.get(name) ?? 0) + ms);
  const names = new Map(instance.processes.map(({ name, pid }) => [pid, name]));
  for (const [pid, name] of [...names, ...others]) add(name, stats.get(pid)?.usedMs ?? 0);
  for (const [pid, { parent, usedMs }] of stats) {
    const name = names.get(parent);
    if (name !== undefined && !names.has(pid)) add(`children of ${name}`, usedMs);
  }
  const [first] = names.keys();
  const supervisor = stats.get(stats.get(first ?? 0)?.parent ?? 0);
  add("yard dev", supervisor?.usedMs ?? 0);
  const { user, system } = process.cpuUsage();
  add("load generator", (user + system) / 1_000);
  return times;
}

interface Stat {
  readonly parent: number;
  readonly usedMs: number;
}

async function readStats(): Promise<ReadonlyMap<number, Stat> | null> {
  const entries = await readdir("/proc").catch(() => null);
  if (entries === null || !entries.includes("self")) return null;
  const pids = entries.filter((entry) => /^\d+$/.test(entry));
  const read = await Promise.all(
    pids.map(async (pid) => [Number(pid), await readStat(pid)] as const),
  );
  return new Map(read.flatMap(([pid, stat]) => (stat === null ? [] : [[pid, stat]])));
}

/** See proc(5): the name of the program is in parentheses and may hold anything. */
async function readStat(pid: string): Promise<Stat | null> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => null); // it may have ended
  if (text === null) return null;
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [, parent, , , , , , , , , , user, system] = fields;
  return { parent: Number(parent), usedMs: (Number(user) + Number(system)) * TICK_MS };
}
