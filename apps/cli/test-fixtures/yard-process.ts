import assert from "node:assert/strict";
import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after } from "node:test";
import { EXIT_WITH_PARENT } from "@switchyard/service/exit-with-parent";
import { cacheDir } from "@switchyard/local-servers/installed-binary";
import { processIdentity } from "@switchyard/local-servers/process-identity";
import { until } from "@switchyard/local-servers/until";
import type { YardResult } from "./yard-result.ts";
import { runHosted, type HostedCommand } from "./hosted-yard.ts";

const MAIN = join(import.meta.dirname, "..", "src", "main.ts");

/** Longer than any command takes to end on a loaded machine. */
const ENDS_MS = 180_000;

/** The environment of a person at a terminal, without what the machine running the tests has set for Switchyard. */
export function yardEnvironment(stateDir: string): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(
    ([name]) => !name.startsWith("YARD_") || name.endsWith("_BIN"),
  );
  return {
    ...Object.fromEntries(own),
    // A test that sets HOME uses the downloaded servers of this machine all the same: fetching them takes 15 s of processor time.
    XDG_CACHE_HOME: dirname(cacheDir(process.env)),
    YARD_STATE_DIR: stateDir,
    NO_COLOR: "1",
  };
}

/**
 * Runs one command to its end, without input in a process that has run others; with YARD_TEST_PROCESSES=1 each has its own.
 * Its output with --json has to fit the command's schema.
 */
export async function yard(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  cwd = process.cwd(),
  input: string | Uint8Array = "",
): Promise<YardResult> {
  const isHosted = input === "" && process.env["YARD_TEST_PROCESSES"] !== "1";
  const ended = isHosted
    ? await runHosted({ args, env, cwd }, ENDS_MS)
    : await runProcess({ args, env, cwd }, input);
  const { code, stdout, stderr } = ended;
  if (code === null)
    throw new Error(
      `yard ${args.join(" ")} was killed, or had not ended after ${ENDS_MS} ms: ${stdout}${stderr}`,
    );
  if (args.includes("--json")) {
    // Loaded here: its contracts take longer than most commands that are run without it.
    const { jsonProblem } = await import("./json-output/json-output.ts");
    assert.equal(jsonProblem(args, ended), null, `yard ${args.join(" ")}`);
  }
  return ended;
}

async function runProcess(
  { args, env, cwd }: HostedCommand,
  input: string | Uint8Array,
): Promise<YardResult> {
  const child = spawn(process.execPath, [MAIN, ...args], { env, cwd });
  child.stdin.end(input);
  const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
  const late = setTimeout(() => child.kill("SIGKILL"), ENDS_MS);
  const [code] = (await once(child, "close")) as [number | null];
  clearTimeout(late);
  return { code, stdout: stdout(), stderr: stderr() };
}

export interface YardStarted {
  readonly pid: number;
  /** All that it printed so far. */
  output(): string;
  stdout(): string;
  /** Resolves when the output has this text; rejects when it ends before. */
  printed(text: string): Promise<void>;
  kill(signal: NodeJS.Signals): void;
  readonly exited: Promise<number | null>;
}

/** Starts `yard dev`; whatever it started is gone when the test ends, or the process of the tests. */
export function yardDev(args: readonly string[], env: NodeJS.ProcessEnv): YardStarted {
  const project = args.includes("--project") ? [] : ["--demo"];
  return yardStarted(["dev", EXIT_WITH_PARENT, ...project, ...args], env);
}

/** Starts a command and lets it run; it is ended when the test ends. */
export function yardStarted(args: readonly string[], env: NodeJS.ProcessEnv): YardStarted {
  const child = spawn(process.execPath, [MAIN, ...args], { env });
  const exited = once(child, "close").then(([code]) => code as number | null);
  const stdout = collect(child.stdout);
  const stderr = collect(child.stderr);
  after(async () => {
    child.kill("SIGTERM");
    await exited;
  });
  return {
    pid: child.pid ?? 0,
    output: () => stdout() + stderr(),
    stdout,
    printed: (text) => untilPrinted(child, exited, () => stdout() + stderr(), text),
    kill: (signal) => void child.kill(signal),
    exited,
  };
}

/** The processes that an instance recorded. */
export function instanceProcesses(
  stateDir: string,
): { name: string; pid: number; identity: string; healthUrl: string | null }[] {
  return JSON.parse(readFileSync(join(stateDir, "dev.json"), "utf8")).processes;
}

/** Names of those that still run. */
export async function survivors(
  processes: readonly { name: string; pid: number; identity: string }[],
): Promise<string[]> {
  const alive = await Promise.all(
    processes.map(async ({ name, pid, identity }) =>
      (await processIdentity(pid)) === identity ? [name] : [],
    ),
  );
  return alive.flat();
}

/** Resolves when all of them are gone; rejects with the names of those that stay. */
export async function gone(
  processes: readonly { name: string; pid: number; identity: string }[],
): Promise<void> {
  await until(
    () => survivors(processes),
    (names) => names.length === 0,
  );
}

function collect(stream: NodeJS.ReadableStream): () => string {
  const chunks: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  return () => Buffer.concat(chunks).toString("utf8");
}

// oxlint-disable-next-line max-params -- the child, its end, its output and what to wait for
async function untilPrinted(
  child: ChildProcessWithoutNullStreams,
  exited: Promise<number | null>,
  output: () => string,
  text: string,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const look = (): void => {
    if (output().includes(text)) resolve();
  };
  child.stdout.on("data", look);
  child.stderr.on("data", look);
  void exited.then((code) =>
    reject(new Error(`yard ended with ${code} before "${text}":\n${output()}`)),
  );
  look();
  try {
    await promise;
  } finally {
    child.stdout.off("data", look);
    child.stderr.off("data", look);
  }
}
