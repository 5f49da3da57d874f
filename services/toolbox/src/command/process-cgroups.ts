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

/** The limits for all processes of a command together. */
export interface GroupLimits {
  readonly processes: number;
  /** Includes files in memory, such as those in `/tmp`, and memory that belongs to no process. */
  readonly memoryBytes: number;
}

/**
 * Control groups that limit the number of processes and the memory of a command, each where the system permits it. The kernel's
 * other limits do not apply to root (RLIMIT_NPROC) or count each process by itself (RLIMIT_DATA), and a fork bomb is faster than
 * a process that counts.
 */
export interface ProcessCgroups {
  readonly holds: { readonly processes: boolean; readonly memory: boolean };
  /** Moves a process, with its later children, into a group of its own. Throws when the system does not permit it. */
  enter(pid: number): EnteredGroup;
}

export interface EnteredGroup {
  /** True when the kernel ended a process of the group because its memory was used up. */
  ranOutOfMemory(): boolean;
  leave(): Promise<void>;
}

/** Counts the groups of this process, whose id is also in their names. */
let made = 0;

const PREFIX = "yard-command-";
const MOUNT = "/sys/fs/cgroup";
const LEAVE_TRIES = 40;
const LEAVE_EVERY_MS = 50;

interface Hierarchy {
  readonly parent: string;
  /** The files that limit a group, with their contents; the first of each list must exist. */
  readonly processes: readonly Setting[];
  readonly memory: readonly Setting[];
}
type Setting = readonly [file: string, value: string];

/** Null where this process may make no such group: in most containers, and for users without a delegated group. */
export function openProcessCgroups(limits: GroupLimits): ProcessCgroups | null {
  // A group of version 2 may have one of the limits and lack the other, as it was delegated.
  const usable = hierarchiesOf(limits, readOwnGroups()).flatMap((one) =>
    canLimit(one) ? [one] : parts(one).filter(canLimit),
  );
  if (usable.length === 0) return null;
  const holds = {
    processes: usable.some(({ processes }) => processes.length > 0),
    memory: usable.some(({ memory }) => memory.length > 0),
  };
  return {
    holds,
    enter(pid) {
      const groups: string[] = [];
      const leave = async (): Promise<void> => {
        await Promise.all(groups.map(removeGroup));
      };
      try {
        for (const hierarchy of usable) {
          const group = makeGroup(hierarchy);
          groups.push(group);
          writeFileSync(join(group, "cgroup.procs"), String(pid));
        }
      } catch (error) {
        void leave();
        throw error;
      }
      return { leave, ranOutOfMemory: () => groups.some(hasKilled) };
    },
  };
}

/**
 * Returns where groups with these limits can be created, from the kernel's description of the groups of this process
 * (`/proc/self/cgroup`). In version 1 each kind of limit has groups of its own.
 */
export function hierarchiesOf(
  { processes, memoryBytes }: GroupLimits,
  system: OwnGroups,
): Hierarchy[] {
  const pids: Setting[] = [["pids.max", String(processes)]];
  const bytes = String(memoryBytes);
  const version2: Setting[] = [
    ["memory.max", bytes],
    ["memory.swap.max", "0"],
    ["memory.oom.group", "1"],
  ];
  const version1: Setting[] = [
    ["memory.limit_in_bytes", bytes],
    ["memory.memsw.limit_in_bytes", bytes],
  ];
  const own = ownGroups(system);
  const found: Hierarchy[] = [];
  if (own.pids !== null) found.push({ parent: own.pids, processes: pids, memory: [] });
  if (own.memory !== null) found.push({ parent: own.memory, processes: [], memory: version1 });
  if (own.both !== null) {
    found.push({ parent: own.both, processes: pids, memory: version2 });
  }
  return found;
}

function parts(one: Hierarchy): Hierarchy[] {
  return [
    { ...one, memory: [] },
    { ...one, processes: [] },
  ].filter((part) => part.processes.length + part.memory.length > 0);
}

function canLimit(hierarchy: Hierarchy): boolean {
  try {
    removeLeftBehind(hierarchy.parent);
    rmdirSync(makeGroup(hierarchy));
    return true;
  } catch {
    return false;
  }
}

function makeGroup({ parent, processes, memory }: Hierarchy): string {
  made += 1;
  const group = join(parent, `${PREFIX}${process.pid}-${made}`);
  mkdirSync(group);
  try {
    for (const settings of [processes, memory])
      for (const [index, [file, value]] of settings.entries())
        limit(join(group, file), value, index === 0);
  } catch (error) {
    rmdirSync(group);
    throw error;
  }
  return group;
}

function limit(file: string, value: string, isNeeded: boolean): void {
  try {
    writeFileSync(file, value);
  } catch (error) {
    if (isNeeded) throw error;
  }
}

function hasKilled(group: string): boolean {
  return ["memory.events", "memory.oom_control"].some((name) => {
    try {
      return saysKilled(readFileSync(join(group, name), "latin1"));
    } catch {
      return false;
    }
  });
}

/** `oom_kill` counts in `memory.events` of version 2, and in version 1 in `memory.oom_control`. */
export function saysKilled(text: string): boolean {
  return /^oom_kill [1-9]/m.test(text);
}

/** The kernel's description of the control groups of this process. */
interface OwnGroups {
  /** The lines of `/proc/self/cgroup`; empty where there is none. */
  readonly text: string;
  /** True when only version 2 is mounted. */
  readonly isUnified: boolean;
}

function readOwnGroups(): OwnGroups {
  try {
    const text = readFileSync("/proc/self/cgroup", "utf8");
    return { text, isUnified: existsSync(join(MOUNT, "cgroup.controllers")) };
  } catch {
    return { text: "", isUnified: false };
  }
}

/**
 * Returns where groups of commands can be created: beside the service's own in version 2, whose groups have processes or groups,
 * and below it in version 1.
 */
function ownGroups({ text, isUnified }: OwnGroups): {
  pids: string | null;
  memory: string | null;
  both: string | null;
} {
  const lines = text.split("\n");
  const own = (prefix: RegExp): string | undefined =>
    lines.find((line) => prefix.test(line))?.replace(prefix, "");
  const [pids, memory] = [own(/^\d+:pids:/), own(/^\d+:memory:/)];
  if (pids !== undefined || memory !== undefined)
    return {
      pids: pids === undefined ? null : join(MOUNT, "pids", pids),
      memory: memory === undefined ? null : join(MOUNT, "memory", memory),
      both: null,
    };
  const version2 = own(/^0::/);
  const both = version2 === undefined || !isUnified ? null : join(MOUNT, dirname(version2));
  return { pids: null, memory: null, both };
}

/** The groups of services that were killed. One with a process in it cannot be removed. */
function removeLeftBehind(parent: string): void {
  for (const name of readdirSync(parent)) {
    if (!name.startsWith(PREFIX) || isAlive(Number.parseInt(name.slice(PREFIX.length), 10)))
      continue;
    try {
      rmdirSync(join(parent, name));
    } catch {
      // It is in use, or another process removed it first.
    }
  }
}

function isAlive(pid: number): boolean {
  return existsSync(`/proc/${pid}`);
}

/** A group can be removed when its last process has ended, which takes a moment. */
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
