import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { after } from "node:test";
import { fileURLToPath } from "node:url";

type LogRecord = Readonly<Record<string, unknown>>;

/** A service that runs as a child process, seen through its log. */
export interface ServiceProcess {
  readonly child: ChildProcessWithoutNullStreams;
  readonly records: readonly LogRecord[];
  /** The first line with this message, already written or to come. Rejects when the process ends without it. */
  logged(message: string): Promise<LogRecord>;
  /** Resolves after the last line of the log was read. */
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

/** Starts the fixture service with only the given environment and the cache of compiled code; it is killed when the test file ends. */
export function startFixture(env: Record<string, string>): ServiceProcess {
  const script = fileURLToPath(new URL("fixture-service.ts", import.meta.url));
  const given = { NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"], ...env };
  return observe(spawn(process.execPath, [script], { env: given, stdio: "pipe" }));
}

/** Follows the log of a child process that writes JSON lines. */
export function observe(child: ChildProcessWithoutNullStreams): ServiceProcess {
  const records: LogRecord[] = [];
  const errors: string[] = [];
  const listeners = new Set<() => void>();
  const notify = () => listeners.forEach((listener) => listener());
  createInterface({ input: child.stdout }).on("line", (line) => {
    records.push(JSON.parse(line) as LogRecord); // the services write nothing else there
    notify();
  });
  child.stderr.on("data", (chunk: Buffer) => errors.push(chunk.toString()));
  let hasEnded = false;
  const exited = once(child, "close").then(([code, signal]: unknown[]) => {
    hasEnded = true;
    notify();
    return { code: code as number | null, signal: signal as NodeJS.Signals | null }; // the types that Node documents
  });
  after(async () => {
    if (hasEnded) return;
    child.kill("SIGKILL");
    await exited;
  });

  const logged = (message: string) =>
    new Promise<LogRecord>((resolve, reject) => {
      const look = () => {
        const found = records.find((record) => record["msg"] === message);
        if (found === undefined && !hasEnded) return;
        listeners.delete(look);
        if (found !== undefined) resolve(found);
        else
          reject(
            new Error(`never logged "${message}": ${JSON.stringify(records)} ${errors.join("")}`),
          );
      };
      listeners.add(look);
      look();
    });
  return { child, records, logged, exited };
}
