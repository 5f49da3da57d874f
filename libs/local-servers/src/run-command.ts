import { execFile } from "node:child_process";

export interface CommandResult {
  /** `null` when the command could not be run or did not end in time. */
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs a program to its end; never rejects. A parameter of everything here that starts programs. */
export type RunCommand = (
  command: string,
  args: readonly string[],
  options: { timeoutMs: number; env?: NodeJS.ProcessEnv; cwd?: string },
) => Promise<CommandResult>;

const OUTPUT_LIMIT_BYTES = 16 * 1024 * 1024;

export const runCommand: RunCommand = (command, args, { timeoutMs, env, cwd }) =>
  new Promise((done) => {
    const limits = {
      timeout: timeoutMs,
      killSignal: "SIGKILL",
      maxBuffer: OUTPUT_LIMIT_BYTES,
      encoding: "utf8",
    } as const;
    execFile(
      command,
      args,
      { ...limits, ...(env === undefined ? {} : { env }), ...(cwd === undefined ? {} : { cwd }) },
      (error, stdout, stderr) => {
        if (error === null) return done({ code: 0, stdout, stderr });
        if (error.killed === true)
          return done({ code: null, stdout, stderr: `no answer within ${timeoutMs / 1000} s` });
        if (typeof error.code === "number") return done({ code: error.code, stdout, stderr });
        return done({ code: null, stdout, stderr: error.message });
      },
    );
  });

/** The first line of a command's output, for a message of one line. */
export function firstLine(text: string): string {
  return text.trim().split("\n")[0] || "no message";
}
