import { readdirSync, readFileSync } from "node:fs";

/** The total usage of the processes in one sandbox. */
export interface SandboxUsage {
  /** Threads count like processes, as in the kernel's own limit. */
  readonly processes: number;
  readonly memoryBytes: number;
}

const KIB = 1_024;

/**
 * Reads the sandbox whose first process is `initPid`, through the `/proc` that is mounted in it. Counting stops when there are
 * more processes than `most`, so that a fork bomb is not listed. Null when the sandbox has ended.
 */
export function sandboxUsage(
  initPid: number,
  { processes: most, memoryBytes: mostBytes }: SandboxUsage,
): SandboxUsage | null {
  const proc = `/proc/${initPid}/root/proc`;
  let pids: string[];
  try {
    pids = readdirSync(proc).filter((name) => /^[1-9]\d*$/.test(name) && name !== INIT);
  } catch {
    return null;
  }
  if (pids.length > most) return { processes: pids.length, memoryBytes: 0 };
  const all = pids.map((pid) => statusOf(`${proc}/${pid}`));
  const processes = all.reduce((sum, { threads }) => sum + threads, 0);
  const resident = all.reduce((sum, { residentBytes }) => sum + residentBytes, 0);
  // Shared memory counts for each process here; only a sandbox that seems to exceed the limit is measured precisely.
  if (resident <= mostBytes) return { processes, memoryBytes: resident };
  const memoryBytes = pids.reduce((sum, pid) => sum + proportionalBytes(`${proc}/${pid}`), 0);
  return { processes, memoryBytes };
}

/** bubblewrap's own, which collects the dead ones. */
const INIT = "1";

function statusOf(directory: string): { threads: number; residentBytes: number } {
  const text = textOf(`${directory}/status`);
  const residentBytes = (valueIn(text, "RssAnon") + valueIn(text, "RssShmem")) * KIB;
  return { threads: valueIn(text, "Threads"), residentBytes };
}

/** Shared pages divided by the number of processes that share them. */
function proportionalBytes(directory: string): number {
  const text = textOf(`${directory}/smaps_rollup`);
  return (valueIn(text, "Pss_Anon") + valueIn(text, "Pss_Shmem")) * KIB;
}

/** Empty for a process that has ended since. */
function textOf(path: string): string {
  try {
    // Files of /proc are generated while they are read, without waiting for a disk; this takes microseconds.
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}

function valueIn(text: string, name: string): number {
  const start = text.indexOf(`\n${name}:`);
  return start < 0 ? 0 : Number.parseInt(text.slice(start + name.length + 2), 10) || 0;
}
