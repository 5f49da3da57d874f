import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

/**
 * Control groups that hold the number of processes of a command. They are for a service that is root: the kernel's other
 * limit (RLIMIT_NPROC) does not hold for root, and a fork bomb is faster than whoever counts.
 */
export interface ProcessCgroups {
  /** Puts a process, and what it starts from now on, into a group of its own. Throws when the system does not let it. */
  enter(pid: number): { leave(): Promise<void> };
}

/** Of this process, whose number is in the names beside it. */
let made = 0;

const PREFIX = "yard-command-";
const MOUNT = "/sys/fs/cgroup";
const LEAVE_TRIES = 40;
const LEAVE_EVERY_MS = 50;

/** Null where this process may make no such group: in most containers, and for users without a delegated group. */
export function openProcessCgroups(processes: number): ProcessCgroups | null {
  const parent = parentGroup();
  if (parent === null) return null;
  const make = (): string => {
    made += 1;
    const group = join(parent, `${PREFIX}${process.pid}-${made}`);
    mkdirSync(group);
    try {
      writeFileSync(join(group, "pids.max"), String(processes));
    } catch (error) {
      rmdirSync(group);
      throw error;
    }
    return group;
  };
  try {
    removeLeftBehind(parent);
    rmdirSync(make());
  } catch {
    return null;
  }
  return {
    enter(pid) {
      const group = make();
      try {
        writeFileSync(join(group, "cgroup.procs"), String(pid));
      } catch (error) {
        rmdirSync(group);
        throw error;
      }
      return { leave: () => removeGroup(group) };
    },
  };
}

/** Where groups of commands can be: beside the service's own in version 2, whose groups have processes or groups, and below it in version 1. */
function parentGroup(): string | null {
  let lines: string[];
  try {
    lines = readFileSync("/proc/self/cgroup", "utf8").split("\n");
  } catch {
    return null;
  }
  const own = (prefix: RegExp): string | undefined =>
    lines.find((line) => prefix.test(line))?.replace(prefix, "");
  const version1 = own(/^\d+:pids:/);
  if (version1 !== undefined) return join(MOUNT, "pids", version1);
  const version2 = own(/^0::/);
  if (version2 === undefined || !existsSync(join(MOUNT, "cgroup.controllers"))) return null;
  return join(MOUNT, dirname(version2));
}

/** The groups of services that were killed. One with a process in it cannot be removed. */
function removeLeftBehind(parent: string): void {
  for (const name of readdirSync(parent)) {
    if (!name.startsWith(PREFIX) || isAlive(Number.parseInt(name.slice(PREFIX.length), 10)))
      continue;
    try {
      rmdirSync(join(parent, name));
    } catch {
      // It is in use, or somebody else was faster.
    }
  }
}

function isAlive(pid: number): boolean {
  return existsSync(`/proc/${pid}`);
}

/** A group can be removed when its last process is gone, which takes a moment. */
async function removeGroup(group: string): Promise<void> {
  for (let tries = 0; tries < LEAVE_TRIES; tries += 1) {
    try {
      rmdirSync(group);
      return;
    } catch {
      await delay(LEAVE_EVERY_MS);
    }
  }
}
