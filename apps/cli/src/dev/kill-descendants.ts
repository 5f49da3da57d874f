import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { readProcessStats } from "@switchyard/service/process/process-stat";

/** A process and its parent. */
interface Kinship {
  readonly pid: number;
  readonly parent: number;
}

/**
 * Kills every process that this one started, and every process that those started, whichever group they are in and whatever they
 * do: a frozen one, one that ignores SIGTERM, an MCP server of the broker. Returns their pids.
 *
 * They are frozen before the first one is killed. Otherwise a process could start another one after the search, and a child whose
 * parent is gone is no descendant any more.
 */
export async function killDescendants(): Promise<ReadonlySet<number>> {
  const found = new Set<number>();
  for (;;) {
    const fresh = descendantsOf(process.pid, await allProcesses()).filter((pid) => !found.has(pid));
    if (fresh.length === 0) break;
    for (const pid of fresh) {
      found.add(pid);
      send(pid, "SIGSTOP");
    }
  }
  for (const pid of found) send(pid, "SIGKILL");
  return found;
}

/** Parents before their children. */
export function descendantsOf(root: number, processes: readonly Kinship[]): number[] {
  const children = Map.groupBy(processes, ({ parent }) => parent);
  const pids = [root];
  for (const pid of pids) pids.push(...(children.get(pid) ?? []).map((child) => child.pid));
  return pids.slice(1);
}

async function allProcesses(): Promise<Kinship[]> {
  if (process.platform === "linux") {
    return (await readProcessStats()).filter(({ isDead }) => !isDead);
  }
  const looking = promisify(execFile)("ps", ["-axo", "pid=,ppid="]);
  const { stdout } = await looking;
  return stdout
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/).map(Number))
    .map(([pid = 0, parent = 0]) => ({ pid, parent }))
    .filter(({ pid }) => pid !== looking.child.pid);
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // it ended in between
  }
}
