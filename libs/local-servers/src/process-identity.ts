import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";

const run = promisify(execFile);

/**
 * A text that two processes never share, even when the system gives one the other's pid: boot and start time.
 * `null` when no such process runs (a zombie counts as gone).
 */
export async function processIdentity(pid: number): Promise<string | null> {
  return process.platform === "linux" ? linuxIdentity(pid) : psIdentity(pid);
}

async function linuxIdentity(pid: number): Promise<string | null> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => null);
  if (stat === null) return null;
  // proc(5): the second field is the command in parentheses and may itself hold spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, startTicks] = [fields[0], fields[19]];
  if (state === undefined || startTicks === undefined || "ZX".includes(state)) return null;
  const bootId = await readFile("/proc/sys/kernel/random/boot_id", "utf8").catch(() => "");
  return `${bootId.trim()}/${startTicks}`;
}

async function psIdentity(pid: number): Promise<string | null> {
  const { stdout } = await run("ps", ["-o", "stat=,lstart=", "-p", String(pid)]).catch(() => ({
    stdout: "",
  }));
  const [, state, started] = /^\s*(\S+)\s+(.+?)\s*$/.exec(stdout) ?? [];
  return state === undefined || started === undefined || state.startsWith("Z") ? null : started;
}
