import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { Writable } from "node:stream";
import { endGroup } from "@switchyard/service/process/process-group";

export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  /** The whole environment of the child: nothing of this process's own. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | null;
  /** The user and the group that it runs as; by default those of this process. */
  readonly userId?: number;
  /** Written to its fourth stream, where bubblewrap reads the filter of system calls from. */
  readonly filter?: Buffer;
}

/** The program could not be started at all. */
export class SpawnError extends Error {
  override readonly name = "SpawnError";
}

/** Starts a program as the leader of a process group, so that every process it starts can be ended with it. */
export function spawnProgram(program: Program): ChildProcessWithoutNullStreams {
  const { command, args, env, cwd, userId, filter } = program;
  const child = spawn(command, args, {
    env,
    ...(cwd === null ? {} : { cwd }),
    ...(userId === undefined ? {} : { uid: userId, gid: userId }),
    stdio: ["pipe", "pipe", "pipe", filter === undefined ? "ignore" : "pipe"],
    shell: false,
    detached: true,
  });
  const reader = child.stdio[3];
  if (filter !== undefined && reader instanceof Writable) {
    // A child that ended before it read reports that by its exit.
    reader.on("error", () => undefined);
    reader.end(filter);
  }
  // The first three are pipes, as `stdio` above requests.
  return child as ChildProcessWithoutNullStreams;
}

export function spawnError(error: unknown, { command, cwd }: Program): SpawnError {
  const code = error instanceof Error && "code" in error ? error.code : null;
  if (code === "ENOENT" && cwd !== null && !existsSync(cwd)) {
    return new SpawnError(`working directory not found: ${cwd}`);
  }
  if (code === "ENOENT") return new SpawnError(`command not found: ${command}`);
  if (code === "EACCES") return new SpawnError(`command not executable: ${command}`);
  return new SpawnError(`cannot start ${command}: ${String(error)}`);
}

export function exitText(code: number | null, signal: NodeJS.Signals | null): string {
  return signal === null ? `process exited with code ${code}` : `process was killed by ${signal}`;
}

/** Closes its stdin, then ends its whole group with SIGTERM and SIGKILL; each step waits for `graceMs`. */
export async function endProgram(
  child: ChildProcessWithoutNullStreams,
  graceMs: number,
): Promise<void> {
  const { pid } = child;
  if (pid === undefined) return; // it never started
  child.stdin.end();
  if (child.exitCode === null && child.signalCode === null)
    await once(child, "exit", { signal: AbortSignal.timeout(graceMs) }).catch(() => undefined);
  await endGroup(pid, graceMs);
  child.stdout.destroy();
  child.stderr.destroy();
  child.stdin.destroy();
}
