import { execFile } from "node:child_process";
import { readFile, readlink } from "node:fs/promises";
import { promisify } from "node:util";
import { readProcessStat } from "@switchyard/service/process/process-stat";

const run = promisify(execFile);

/**
 * The facts that distinguish a process from a later one with the same number: the scope in which numbers are unique (`scope`: the
 * boot and the PID namespace) and when it started.
 */
export interface ProcessIdentity {
  readonly scope: string;
  readonly startedAt: string;
}

/** The identity of a living process; null when there is none with this number, or only a dead one. */
export async function processIdentity(pid: number): Promise<ProcessIdentity | null> {
  const startedAt = process.platform === "linux" ? linuxStart(pid) : await psStart(pid);
  return startedAt === null ? null : { scope: await processScope(), startedAt };
}

/** The scope of process numbers as this process sees them. */
export async function processScope(): Promise<string> {
  if (process.platform !== "linux") return process.platform;
  const [boot, namespace] = await Promise.all([
    readFile("/proc/sys/kernel/random/boot_id", "utf8"),
    readlink("/proc/self/ns/pid"),
  ]);
  return `${boot.trim()} ${namespace}`;
}

function linuxStart(pid: number): string | null {
  const stat = readProcessStat(pid);
  return stat === null || stat.isDead ? null : stat.startedAt;
}

async function psStart(pid: number): Promise<string | null> {
  try {
    const { stdout } = await run("ps", ["-o", "lstart=", "-p", String(pid)]);
    return stdout.trim() || null;
  } catch {
    return null; // ps fails when there is no such process
  }
}
