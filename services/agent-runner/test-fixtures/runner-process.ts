import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { after } from "node:test";
import { until } from "@switchyard/local-servers/until";

export type LogLine = Record<string, unknown> & { msg?: string };

/** A runner, followed by its log. */
export interface Runner {
  /** Every line so far. */
  readonly lines: readonly LogLine[];
  /** Waits for a line with one of these messages, also among the lines that came before. */
  logged(...messages: string[]): Promise<LogLine>;
}

/** A runner as its own process. */
export interface RunnerProcess extends Runner {
  readonly pid: number;
  kill(signal: NodeJS.Signals): void;
  /** Resolves with the exit code; null when a signal ended the process. */
  readonly exited: Promise<number | null>;
}

const MAIN = fileURLToPath(new URL("../src/main.ts", import.meta.url));

/** Starts the runner's own `main.ts`; it is killed when the test ends. Resolves when it is ready. */
export async function startRunner(
  env: Record<string, string>,
  main = MAIN,
): Promise<RunnerProcess> {
  const child = spawn(process.execPath, [main], {
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
  if (child.stdout === null) throw new Error("the runner has no stdout");
  createInterface({ input: child.stdout }).on("line", (text) => {
    lines.push(JSON.parse(text) as LogLine);
  });
  return {
    ...withLog(lines),
    pid: child.pid ?? 0,
    exited,
    kill: (signal) => child.kill(signal),
  };
}

/** A runner that adds to these lines. */
export function withLog(lines: readonly LogLine[]): Runner {
  return {
    lines,
    async logged(...messages) {
      try {
        return await until(() => lines.find(({ msg = "" }) => messages.includes(msg)));
      } catch (cause) {
        throw new Error(`the runner has not logged: ${messages.join(", or ")}`, { cause });
      }
    },
  };
}
