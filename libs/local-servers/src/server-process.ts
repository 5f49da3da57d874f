// A server as a child process: its own process group (Ctrl-C in a terminal reaches this process alone, so that it stops the server in
// order), its output in a file, and a watcher that ends it when this process dies without stopping it.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdir, open, readFile, stat } from "node:fs/promises";
import type { Socket } from "node:net";
import { dirname, join } from "node:path";

import { claimDataDir, type DataDirClaim } from "./data-dir-claim.ts";

export interface RunningServer extends ServerAddress {
  pid: number;
  /** Signals the server to end, and kills it after 5 s. Safe to call again. */
  stop(): Promise<void>;
  /** Sends a signal without waiting: for crash tests. */
  kill(signal: NodeJS.Signals): void;
  exited: Promise<void>;
}

export interface ServerAddress {
  url: string;
  host: string;
  port: number;
  version: string;
  /** NATS only: the HTTP monitoring endpoint. */
  monitorUrl?: string;
}

export interface ServerProcessOptions {
  name: string;
  binary: string;
  args: readonly string[];
  dataDir: string;
  /** Default `{dataDir}/{name}.log`; appended to. */
  logFile?: string | undefined;
  onExit?: ((code: number | null, signal: NodeJS.Signals | null) => void) | undefined;
  log?: ((line: string) => void) | undefined;
  startTimeoutMs?: number | undefined;
  /** Variables the program needs beyond the few every server gets; never the whole environment of this process. */
  env?: NodeJS.ProcessEnv;
  /** Runs once the data directory is claimed, before the server starts. */
  prepare?: () => Promise<void>;
  /** Resolves when the server answers its protocol; gives up when the signal aborts. */
  ready: (pid: number, signal: AbortSignal) => Promise<ServerAddress>;
}

/** The server could not be started. `output` is what it wrote during this start (its end, when long). */
export class ServerStartError extends Error {
  readonly output: string;

  constructor(message: string, output: string, options?: ErrorOptions) {
    super(output === "" ? message : `${message}; its last lines:\n${output}`, options);
    this.name = "ServerStartError";
    this.output = output;
  }
}

/** Longer than a server takes on a busy machine; one that cannot start ends by itself. */
const START_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 5_000;
const LAST_LINES = 15;

/** Starts a server and waits until it answers. Rejects with {@link ServerStartError} when it ends early or is not ready in time. */
export async function startServerProcess(options: ServerProcessOptions): Promise<RunningServer> {
  const { name, dataDir, log = () => {} } = options;
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const claim = await claimDataDir({ dataDir, name, log });
  try {
    return await startClaimed(options, claim);
  } catch (error) {
    await claim.release();
    throw error;
  }
}

async function startClaimed(
  options: ServerProcessOptions,
  claim: DataDirClaim,
): Promise<RunningServer> {
  const { name, binary, startTimeoutMs = START_TIMEOUT_MS } = options;
  const logFile = options.logFile ?? join(options.dataDir, `${name}.log`);
  await mkdir(dirname(logFile), { recursive: true });
  const logStart = await sizeOf(logFile);
  await options.prepare?.();
  const { child, pid, exit } = await spawnServer(options, logFile);
  const watcher = watchOverServer(pid);
  const ended = new AbortController();
  const exited = exit.then(async (ending) => {
    watcher.kill("SIGKILL");
    ended.abort();
    await claim.release();
    return ending;
  });
  const timeout = AbortSignal.timeout(startTimeoutMs);
  try {
    await claim.holds(pid);
    const address = await options.ready(pid, AbortSignal.any([ended.signal, timeout]));
    void exited.then(({ code, signal }) => options.onExit?.(code, signal));
    const gone = exited.then(() => undefined);
    return { ...address, pid, ...controls(child, gone) };
  } catch (error) {
    const endedItself = ended.signal.aborted;
    child.kill("SIGKILL");
    const { code, signal } = await exited;
    const reason = endedItself
      ? `ended with ${code === null ? signal : `code ${code}`} before it was ready`
      : timeout.aborted
        ? `was not ready after ${startTimeoutMs} ms`
        : `could not be started: ${messageOf(error)}`;
    const output = await lastLines(logFile, logStart);
    throw new ServerStartError(`${name} (${binary}) ${reason}`, output, { cause: error });
  }
}

function controls(
  child: ChildProcess,
  exited: Promise<void>,
): Pick<RunningServer, "stop" | "kill" | "exited"> {
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return exited;
    child.kill("SIGTERM");
    child.kill("SIGCONT"); // a server paused by SIGSTOP would not see the SIGTERM
    const killer = setTimeout(() => child.kill("SIGKILL"), STOP_TIMEOUT_MS);
    await exited;
    clearTimeout(killer);
  };
  return { stop, kill: (signal) => void child.kill(signal), exited };
}

interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

function exitOf(child: ChildProcess): Promise<Exit> {
  return new Promise((done) => void child.once("exit", (code, signal) => done({ code, signal })));
}

async function spawnServer(
  { name, binary, args, env }: ServerProcessOptions,
  logFile: string,
): Promise<{ child: ChildProcess; pid: number; exit: Promise<Exit> }> {
  const output = await open(logFile, "a", 0o600);
  try {
    const child = spawn(binary, args, {
      stdio: ["ignore", output.fd, output.fd],
      detached: true,
      env: { ...serverEnvironment(), ...env },
    });
    const exit = exitOf(child); // listens from the start: a program may end before the awaits below do
    await once(child, "spawn");
    if (child.pid === undefined) throw new Error("no pid");
    return { child, pid: child.pid, exit };
  } catch (error) {
    throw new ServerStartError(`${name} (${binary}) cannot be run: ${messageOf(error)}`, "", {
      cause: error,
    });
  } finally {
    await output.close();
  }
}

/** The servers get no secret of the calling process: API keys live in its environment. */
function serverEnvironment(): NodeJS.ProcessEnv {
  const names = ["PATH", "HOME", "TMPDIR", "TZ", "LANG", "LC_ALL", "LD_LIBRARY_PATH"];
  return Object.fromEntries(
    names.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  );
}

/** A shell that waits for the end of its standard input, which the system closes however this process dies. */
function watchOverServer(pid: number): ChildProcess {
  const script = 'read -r line; kill -TERM "$1" && sleep 5 && kill -KILL "$1"';
  const watcher = spawn("/bin/sh", ["-c", script, "sh", String(pid)], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
    env: serverEnvironment(),
  });
  watcher.on("error", () => {}); // without a shell the claim file still finds the server at the next start
  watcher.unref();
  // With `stdio: pipe` Node makes a Socket, which its types call a Writable; referenced, it would keep this process alive.
  (watcher.stdin as Socket | null)?.on("error", () => {}).unref();
  return watcher;
}

async function sizeOf(file: string): Promise<number> {
  return stat(file).then(
    ({ size }) => size,
    () => 0,
  );
}

async function lastLines(file: string, from: number): Promise<string> {
  const content = await readFile(file).catch(() => Buffer.alloc(0));
  return content
    .subarray(from)
    .toString("utf8")
    .trimEnd()
    .split("\n")
    .slice(-LAST_LINES)
    .join("\n");
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
