import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { after } from "node:test";

type LogLine = Record<string, unknown> & { msg?: string };

/** A runner as its own process, followed by its log. */
export interface RunnerProcess {
  readonly pid: number;
  /** Every line so far. */
  readonly lines: readonly LogLine[];
  /** Waits for a line with this message, also among the lines that came before. */
  logged(message: string): Promise<LogLine>;
  kill(signal: NodeJS.Signals): void;
  /** Resolves with the exit code; null when a signal ended the process. */
  readonly exited: Promise<number | null>;
}

const MAIN = fileURLToPath(new URL("../src/main.ts", import.meta.url));

/** Starts the runner's own `main.ts`; it is killed when the test ends. Resolves when it is ready. */
export async function startRunner(env: Record<string, string>): Promise<RunnerProcess> {
  const child = spawn(process.execPath, [MAIN], {
    env: {
      PATH: process.env["PATH"],
      NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
      YARD_LOG_LEVEL: "info",
      ...env,
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit").then(([code]) => code as number | null);
  after(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
    await exited;
  });
  const runner = followLog(child, exited);
  await Promise.race([
    runner.logged("service ready"),
    exited.then((code) => {
      throw new Error(`the runner ended with ${code}: ${JSON.stringify(runner.lines)}`);
    }),
  ]);
  return runner;
}

function followLog(child: ChildProcess, exited: Promise<number | null>): RunnerProcess {
  const lines: LogLine[] = [];
  const waiting = new Map<string, ((line: LogLine) => void)[]>();
  if (child.stdout === null) throw new Error("the runner has no stdout");
  createInterface({ input: child.stdout }).on("line", (text) => {
    const line = JSON.parse(text) as LogLine;
    lines.push(line);
    const message = line.msg ?? "";
    for (const resolve of waiting.get(message) ?? []) resolve(line);
    waiting.delete(message);
  });
  return {
    pid: child.pid ?? 0,
    lines,
    exited,
    kill: (signal) => child.kill(signal),
    logged(message) {
      const known = lines.find((line) => line.msg === message);
      if (known !== undefined) return Promise.resolve(known);
      return new Promise((resolve) => {
        waiting.set(message, [...(waiting.get(message) ?? []), resolve]);
      });
    },
  };
}
