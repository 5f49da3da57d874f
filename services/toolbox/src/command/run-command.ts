import { spawn, type ChildProcess } from "node:child_process";
import { endGroup } from "@switchyard/service/process/process-group";
import { systemErrorCode } from "../tool-error.ts";
import { confine, putBehind, stdioOf, type Confined, type Confinement } from "./confine-command.ts";
import { createOutputHead } from "./output-head.ts";
import { watchRoom, type WorkspaceRoom } from "../workspace/workspace-size.ts";

export interface Command {
  /** The program and its arguments; never through a shell of ours. */
  readonly words: readonly string[];
  readonly cwd: string;
  /** The whole environment of the command: none of this process's own. */
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** The limit for each stream. */
  readonly outputLimitBytes: number;
  /** The confinement of a command in a sandbox; null without one. */
  readonly confinement: Confinement | null;
  /** Null where the command may write as much as the disk holds. */
  readonly room: WorkspaceRoom | null;
}

/** The limit that a command exceeded. */
export type Exceeded = "processes" | "memory" | "disk";
export type Ending = "itself" | "timeout" | "cancelled" | Exceeded;

export interface CommandEnd {
  /** Null when a signal ended it. */
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly ended: Ending;
  readonly stdout: string;
  readonly stderr: string;
  readonly stdoutBytes: number;
  readonly stderrBytes: number;
}

/** The time of a process group between SIGTERM and SIGKILL. */
const GRACE_MS = 2_000;
/** A process that left the group may keep our ends of its streams open for this time. */
const LAST_OUTPUT_MS = 500;

/**
 * Runs a command as a process group of its own and waits until every process of it has ended: at its end, after its time, or when
 * the signal aborts. Never rejects because of the command.
 */
export async function runCommand(command: Command): Promise<CommandEnd> {
  const { words, cwd, env, outputLimitBytes } = command;
  const [program = "", ...args] = words;
  const [stdout, stderr] = [createOutputHead(outputLimitBytes), createOutputHead(outputLimitBytes)];
  let running: Promise<ProcessEnd>;
  try {
    const child = spawn(program, args, {
      cwd,
      env,
      detached: true,
      stdio: stdioOf(command.confinement),
    });
    putBehind(child.pid);
    child.stdout?.on("data", (chunk: Buffer) => stdout.add(chunk));
    child.stderr?.on("data", (chunk: Buffer) => stderr.add(chunk));
    running = waitForEnd(child, command);
  } catch (error) {
    // Some errors are thrown, others arrive as an event.
    running = Promise.resolve(notStarted(error));
  }
  const { failed, ...end } = await running;
  if (failed !== null) stderr.add(Buffer.from(`${program}: ${failed}\n`));
  return {
    ...end,
    stdout: stdout.text(),
    stderr: stderr.text(),
    stdoutBytes: stdout.size,
    stderrBytes: stderr.size,
  };
}

export function isExceeded(ended: Ending): ended is Exceeded {
  return ended === "processes" || ended === "memory" || ended === "disk";
}

interface ProcessEnd extends Pick<CommandEnd, "exitCode" | "signal" | "ended"> {
  /** The reason why there was no process at all. */
  readonly failed: string | null;
}

async function waitForEnd(
  child: ChildProcess,
  { timeoutMs, signal, confinement, room }: Command,
): Promise<ProcessEnd> {
  const exited = Promise.withResolvers<"itself">();
  const closed = Promise.withResolvers<void>();
  const stopped = Promise.withResolvers<Exclude<Ending, "itself">>();
  child.once("exit", () => exited.resolve("itself"));
  child.once("close", () => closed.resolve());
  child.once("error", exited.reject);
  const timer = setTimeout(() => stopped.resolve("timeout"), timeoutMs);
  const cancel = (): void => stopped.resolve("cancelled");
  signal.addEventListener("abort", cancel, { once: true });
  if (signal.aborted) cancel();
  let confined: Confined | null = null;
  let leaveRoom: (() => void) | null = null;
  try {
    if (confinement !== null)
      confined = confine(child, confinement, {
        onExceeded: stopped.resolve,
        // It waits for its leave to begin, and gets none.
        onFailure: (error) => {
          if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
          stopped.reject(error);
        },
      });
    if (room !== null) leaveRoom = watchRoom(room, () => stopped.resolve("disk"));
    const ended = await Promise.race([exited.promise, stopped.promise]);
    if (ended !== "itself") await confined?.kill();
    // SIGKILL without SIGTERM: the command would use the grace period to continue.
    if (isExceeded(ended)) child.kill("SIGKILL");
    // Processes that a command leaves in the background would outlive the call.
    if (child.pid !== undefined) await endGroup(child.pid, GRACE_MS);
    await exited.promise;
    await closeStreams(child, closed.promise);
    const exceeded = ended === "itself" ? (confined?.exceeded() ?? null) : null;
    const { exitCode, signalCode } = child;
    return { exitCode, signal: signalCode, ended: exceeded ?? ended, failed: null };
  } catch (error) {
    return notStarted(error);
  } finally {
    confined?.release();
    leaveRoom?.();
    clearTimeout(timer);
    signal.removeEventListener("abort", cancel);
  }
}

/** Reads the rest of the pipes. */
async function closeStreams(child: ChildProcess, closed: Promise<void>): Promise<void> {
  const timer = setTimeout(() => {
    for (const stream of child.stdio) stream?.destroy();
  }, LAST_OUTPUT_MS);
  await closed;
  clearTimeout(timer);
}

/** Reports a program that cannot run as a shell does; any other error is a fault. */
function notStarted(error: unknown): ProcessEnd {
  const end = { signal: null, ended: "itself" } as const;
  switch (systemErrorCode(error)) {
    case "ENOENT":
    case "ENOTDIR":
    case "ENAMETOOLONG":
    case "ELOOP":
      return { ...end, exitCode: 127, failed: "command not found" };
    case "EACCES":
    case "EPERM":
    case "EISDIR":
    case "ENOEXEC":
    case "ETXTBSY":
      return { ...end, exitCode: 126, failed: "cannot be executed" };
    case "E2BIG":
      return { ...end, exitCode: 126, failed: "argument list too long" };
    case "EAGAIN":
    case "ENOMEM":
      return { ...end, exitCode: 126, failed: "no process can be started now; try again later" };
    default:
      throw error;
  }
}
