import { readFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { setImmediate } from "node:timers/promises";

/** Processes that are read in one turn of the event loop: at most a millisecond or two. */
const AT_ONCE = 64;

/** The facts about a process in Linux's `/proc/<pid>/stat`, see proc(5). */
export interface ProcessStat {
  readonly pid: number;
  /** It has ended and its parent has not collected it yet. */
  readonly isDead: boolean;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** Clock ticks since the boot. */
  readonly startedAt: string;
}

/** Reads one process, or null when it does not exist. The kernel answers from memory, which is faster than an asynchronous read. */
export function readProcessStat(pid: number): ProcessStat | null {
  try {
    return parseStat(pid, readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return null;
  }
}

/** Reads all processes. */
export async function readProcessStats(): Promise<ProcessStat[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const stats: ProcessStat[] = [];
  for (const [at, pid] of pids.entries()) {
    if (at % AT_ONCE === AT_ONCE - 1) await setImmediate();
    const stat = readProcessStat(pid);
    if (stat !== null) stats.push(stat);
  }
  return stats;
}

function parseStat(pid: number, text: string): ProcessStat {
  // The command may hold spaces and parentheses; what follows it does not.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [state, parent, group, session] = fields;
  const startedAt = fields[19] ?? "";
  return {
    pid,
    isDead: state === "Z" || state === "X",
    parent: Number(parent),
    group: Number(group),
    session: Number(session),
    startedAt,
  };
}
