import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { after } from "node:test";
import { fileURLToPath } from "node:url";

export type LogRecord = Readonly<Record<string, unknown>>;

/** The policy service as a child process, seen through its log. */
export interface PolicyProcess {
  readonly records: readonly LogRecord[];
  /** Returns the first line that matches, already written or later. Rejects when the process ends without it. */
  logged(fits: (record: LogRecord) => boolean): Promise<LogRecord>;
  /** Sends SIGTERM. */
  stop(): void;
  /** Sends SIGKILL. */
  kill(): void;
  /** The exit code; null when a signal ended it. */
  readonly exited: Promise<number | null>;
}

/** Starts the service with only the given environment and the cache of compiled code; it is killed when the test file ends. */
export function startPolicy(env: Readonly<Record<string, string>>): PolicyProcess {
  const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));
  const child = spawn(process.execPath, [main], {
    env: { NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"], ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const records: LogRecord[] = [];
  const lookers = new Set<() => void>();
  const look = () => lookers.forEach((looker) => looker());
  createInterface({ input: child.stdout }).on("line", (line) => {
    records.push(JSON.parse(line) as LogRecord); // a service writes only log records there
    look();
  });
  let hasEnded = false;
  const exited = once(child, "close").then(([code]: unknown[]) => {
    hasEnded = true;
    look();
    return code as number | null; // as Node documents
  });
  after(async () => {
    if (!hasEnded) child.kill("SIGKILL");
    await exited;
  });
  const logged = (fits: (record: LogRecord) => boolean) =>
    new Promise<LogRecord>((resolve, reject) => {
      const looker = () => {
        const found = records.find(fits);
        if (found === undefined && !hasEnded) return;
        lookers.delete(looker);
        if (found === undefined) reject(new Error(`not logged: ${JSON.stringify(records)}`));
        else resolve(found);
      };
      lookers.add(looker);
      looker();
    });
  return {
    records,
    logged,
    exited,
    stop: () => child.kill("SIGTERM"),
    kill: () => child.kill("SIGKILL"),
  };
}
