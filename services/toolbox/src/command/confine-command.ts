import { within } from "@switchyard/contracts/timeouts";
import type { ChildProcess, StdioOptions } from "node:child_process";
import { writeFileSync } from "node:fs";
import { setPriority } from "node:os";
import { Writable } from "node:stream";
import type { CommandLimits } from "./command-limits.ts";
import type { ProcessCgroups } from "./process-cgroups.ts";
import { sandboxUsage } from "./sandbox-usage.ts";

/** The confinement of a command in a sandbox. */
export interface Confinement {
  /** Written to {@link FILTER_FD}; null for a machine without one. */
  readonly filter: Buffer | null;
  /** Processes and memory among these limits are also enforced from outside. */
  readonly limits: CommandLimits;
  /** Null where the kernel permits none. */
  readonly cgroups: ProcessCgroups | null;
}

/** The descriptor from which the command reads its system call filter. */
export const FILTER_FD = 3;
/** The descriptor to which the command writes the id of its first process, like `bwrap --info-fd`. */
export const INFO_FD = 4;
/** The descriptor on which the command waits before it starts, like `bwrap --block-fd`. */
export const BLOCK_FD = 5;

const LOOK_EVERY_MS = 200;
/** The time in which a sandbox that has just been started reports its first process. */
const SETUP_MS = 2_000;
/** Commands go behind the services of the machine, for the processor and when memory ends. */
const NICE = 10;
const FIRST_TO_BE_KILLED = "1000";

/** Returns the streams of a command: its output, and the control streams of its sandbox. */
export function stdioOf(confinement: Confinement | null): StdioOptions {
  if (confinement === null) return ["ignore", "pipe", "pipe"];
  return [
    "ignore",
    "pipe",
    "pipe",
    confinement.filter === null ? "ignore" : "pipe",
    "pipe",
    "pipe",
  ];
}

/**
 * Lowers the process's priority and makes it the first to be killed when memory is short; its children inherit both. A machine
 * that does not permit it runs without.
 */
export function putBehind(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    setPriority(pid, NICE);
    writeFileSync(`/proc/${pid}/oom_score_adj`, FIRST_TO_BE_KILLED);
  } catch {
    // It has ended, or there is no /proc.
  }
}

export interface Confined {
  /** Returns the limit for which the kernel ended a process of the command; null when it did not. */
  exceeded(): "memory" | null;
  /**
   * Kills the first process of the sandbox, and with it all others. bwrap binds that process to its own life only when the sandbox is set up, so
   * one that is killed earlier would leave it behind, and it would begin the command.
   */
  kill(): Promise<void>;
  release(): void;
}

/** Sends the sandbox its filter and monitors it until it is released. */
export function confine(
  child: ChildProcess,
  { filter, limits, cgroups }: Confinement,
  {
    onExceeded,
    onFailure,
  }: {
    onExceeded: (what: "processes" | "memory") => void;
    onFailure: (error: unknown) => void;
  },
): Confined {
  const [input, info, block] = [FILTER_FD, INFO_FD, BLOCK_FD].map((fd) => child.stdio[fd]);
  // A child that ended before it read reports that by its exit code.
  for (const stream of [input, block]) stream?.on("error", () => undefined);
  if (filter !== null && input instanceof Writable) input.end(filter);
  let initPid: number | null = null;
  let isEnding = false;
  const reported = Promise.withResolvers<void>();
  child.once("exit", () => reported.resolve());
  let group: ReturnType<ProcessCgroups["enter"]> | null = null;
  let text = "";
  info?.on("data", (chunk: Buffer) => {
    text += chunk.toString("latin1");
    const found = /"child-pid":\s*(\d+)/.exec(text)?.[1];
    if (found === undefined || initPid !== null) return;
    initPid = Number(found);
    reported.resolve();
    if (isEnding) return;
    try {
      group = cgroups?.enter(initPid) ?? null;
    } catch (cause) {
      return onFailure(new Error("the control group of a command cannot be used", { cause }));
    }
    if (block instanceof Writable) block.end("go");
  });
  const timer = setInterval(() => {
    const usage = initPid === null ? null : sandboxUsage(initPid, limits);
    if (usage === null) return;
    if (usage.processes > limits.processes) onExceeded("processes");
    else if (usage.memoryBytes > limits.memoryBytes) onExceeded("memory");
  }, LOOK_EVERY_MS);
  return {
    exceeded: () => (group?.ranOutOfMemory() === true ? "memory" : null),
    async kill() {
      isEnding = true;
      if (initPid === null) await within(reported.promise, { ms: SETUP_MS });
      // Its parent is still there, so the id is not another process's.
      if (initPid !== null && child.exitCode === null && child.signalCode === null)
        killIfThere(initPid);
    },
    release() {
      clearInterval(timer);
      void group?.leave();
    },
  };
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}
