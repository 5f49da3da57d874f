import { spawn, type ChildProcess } from "node:child_process";
import type { Readable } from "node:stream";

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ProgramOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string | Readable;
  readonly timeoutMs?: number;
}

const running = new Set<ChildProcess>();

/** Kills every program that is still running, with what it started: at the end no one waits for them. */
export function endPrograms(): void {
  for (const child of running) killGroup(child);
}

function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch {
    // It ended in this moment.
  }
}

/** Runs a program to its end, whatever its exit code is; one that takes longer than its time (by default five minutes) is killed. */
export async function tryProgram(
  [program = "", ...args]: readonly string[],
  { cwd, env, input, timeoutMs = 300_000 }: ProgramOptions = {},
): Promise<Ended> {
  const child = spawn(program, args, {
    ...(cwd === undefined ? {} : { cwd }),
    env: { ...process.env, ...env },
    detached: true, // a process group of its own, so that a shell's children end with it
  });
  running.add(child);
  const timer = setTimeout(() => killGroup(child), timeoutMs);
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => out.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => err.push(chunk));
  child.stdin.on("error", () => {}); // a program may end before it has read its input
  if (typeof input === "object") input.pipe(child.stdin);
  else child.stdin.end(input ?? "");
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  }).finally(() => {
    clearTimeout(timer);
    running.delete(child);
  });
  const text = (chunks: Buffer[]): string => Buffer.concat(chunks).toString("utf8");
  return { code, stdout: text(out), stderr: text(err) };
}

/** Runs a program and returns its standard output. Throws with the end of its output when it fails. */
export async function runProgram(
  command: readonly string[],
  options: ProgramOptions = {},
): Promise<string> {
  const { code, stdout, stderr } = await tryProgram(command, options);
  if (code === 0) return stdout;
  const said = `${stdout}\n${stderr}`.trim().split("\n").slice(-15).join("\n");
  throw new Error(`${command.join(" ")} ended with ${code ?? "a signal"}:\n${said}`);
}
