import { replaceEnvironment } from "./take-environment.ts";

/** The argument of a process whose environment is the first line of its standard input. */
export const ENVIRONMENT_FROM_STDIN = "--environment-from-stdin";

interface Surroundings {
  /** Working directory. */
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
}

/** The line that a parent writes. */
export function environmentLine({ cwd, env }: Surroundings): string {
  return `${JSON.stringify({ cwd, env })}\n`;
}

/**
 * Waits for the environment of this process on its standard input, and takes it and the working directory over. So a parent can start a process
 * that loads its code before its settings are known, and secrets are not in the block of the kernel that other processes of the same user read.
 * The end of standard input before the line ends the process with code 0: the parent needs it no longer. Rejects when the line is not one of
 * {@link environmentLine}; the message does not quote it.
 */
export async function environmentFromStdin(): Promise<void> {
  const line = await firstLine(process.stdin);
  if (line === null) process.exit(0);
  const { cwd, env } = surroundingsIn(line);
  process.chdir(cwd);
  replaceEnvironment(process.env, env);
}

/** Null when the input ends before. Nothing may follow the line. */
function firstLine(input: NodeJS.ReadStream): Promise<string | null> {
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    const settle = (line: string | null): void => {
      input.off("data", onData).off("end", onEnd).off("close", onEnd).off("error", onEnd).pause();
      resolve(line);
    };
    const onData = (part: Buffer): void => {
      parts.push(part);
      if (part.includes("\n")) settle(Buffer.concat(parts).toString());
    };
    const onEnd = (): void => settle(null);
    input.on("data", onData).on("end", onEnd).on("close", onEnd).on("error", onEnd);
  });
}

function surroundingsIn(line: string): Surroundings {
  try {
    return JSON.parse(line) as Surroundings; // of environmentLine: the parent is a process of ours
  } catch {
    throw new Error("the environment on standard input cannot be read"); // no cause: it could quote a secret
  }
}
