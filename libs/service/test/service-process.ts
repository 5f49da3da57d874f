import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { after } from "node:test";
import { fileURLToPath } from "node:url";
import { readLogRecords, type LogRecord } from "@switchyard/testing/log-records";

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
export function startFixture(
  env: Record<string, string>,
  args: readonly string[] = [],
): ServiceProcess {
  const script = fileURLToPath(new URL("fixture-service.ts", import.meta.url));
  const given = { NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"], ...env };
  return observe(spawn(process.execPath, [script, ...args], { env: given, stdio: "pipe" }));
}

/** Follows the log of a child process that writes JSON lines. */
export function observe(child: ChildProcessWithoutNullStreams): ServiceProcess {
  const errors: string[] = [];
  const log = readLogRecords(child.stdout, () => errors.join(""));
  child.stderr.on("data", (chunk: Buffer) => errors.push(chunk.toString()));
  let hasEnded = false;
  const exited = once(child, "close").then(([code, signal]: unknown[]) => {
    hasEnded = true;
    log.end();
    return { code: code as number | null, signal: signal as NodeJS.Signals | null }; // the types that Node documents
  });
  after(async () => {
    if (hasEnded) return;
    child.kill("SIGKILL");
    await exited;
  });

  const logged = (message: string) => log.logged((record) => record["msg"] === message);
  return { child, records: log.records, logged, exited };
}
