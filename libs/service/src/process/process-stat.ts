import { readdir, readFile } from "node:fs/promises";

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

/** Reads one process, or null when it does not exist. */
export async function readProcessStat(pid: number): Promise<ProcessStat | null> {
  try {
    return parseStat(pid, await readFile(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return null;
  }
}

/** Reads all processes. */
export async function readProcessStats(): Promise<ProcessStat[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const stats = await Promise.all(pids.map((pid) => readProcessStat(pid)));
  return stats.filter((stat) => stat !== null);
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
