import { readFile } from "node:fs/promises";
import type { ChildRecords } from "./child-records.ts";
import { readProcessStats } from "@switchyard/service/process/process-stat";

export type ChildMemory = ReturnType<typeof watchChildren>;

/** The children that are running now, and what they take. */
export function watchChildren(records: ChildRecords) {
  /** Servers by the process that leads their group. */
  const running = new Map<number, string>();
  const watched: ChildRecords = {
    ...records,
    expect(server, onTrouble) {
      const record = records.expect(server, onTrouble);
      let child: number | null = null;
      return {
        ...record,
        onSpawned(pid) {
          child = pid;
          running.set(pid, server);
          record.onSpawned(pid);
        },
        onGone() {
          if (child !== null) running.delete(child);
          return record.onGone();
        },
      };
    },
  };
  return {
    /** Writes the same records and remembers the running children. */
    records: watched,
    /** Resident bytes of each server's process groups; empty where there is no `/proc`. */
    measure: (): Promise<ReadonlyMap<string, number>> => measure(running),
  };
}

async function measure(running: ReadonlyMap<number, string>): Promise<Map<string, number>> {
  const bytes = new Map<string, number>();
  if (running.size === 0) return bytes;
  const stats = await readProcessStats().catch(() => []);
  const members = stats.flatMap(({ pid, group }) => {
    const server = running.get(group);
    return server === undefined ? [] : [{ pid, server }];
  });
  const sizes = await Promise.all(members.map(({ pid }) => residentBytes(pid)));
  for (const [index, { server }] of members.entries())
    bytes.set(server, (bytes.get(server) ?? 0) + (sizes[index] ?? 0));
  return bytes;
}

/** `VmRSS` of proc(5), which is in kB; 0 for a process that has ended meanwhile. */
async function residentBytes(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(text)?.[1] ?? 0) * 1_024;
}
