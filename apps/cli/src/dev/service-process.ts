import { spawn, type ChildProcessByStdio } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { CliError } from "../cli-error.ts";
import { EXIT } from "../exit-codes.ts";
import { splitLines } from "./line-splitter.ts";
import { parseLogLine } from "./log-line.ts";
import type { Running } from "./supervise.ts";

export interface ServiceSpec {
  readonly name: string;
  /** Absolute path of its main.ts. */
  readonly entry: string;
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

const START_TIMEOUT_MS = 30_000;
/** Longer than the service's own drain limit, which is the one that should decide. */
const STOP_TIMEOUT_MS = 15_000;
const READY_POLL_MS = 25;

/**
 * Starts a service and waits until it says so (`service ready`) and its readiness probe agrees.
 * It gets a process group of its own, so that Ctrl-C reaches us alone and we stop things in order;
 * and a pipe as stdin, whose end tells it that we are gone, however we went.
 */
export async function launchService(
  spec: ServiceSpec,
  onLine: (line: string) => void,
  signal: AbortSignal,
): Promise<Running> {
  signal.throwIfAborted();
  const child: Child = spawn(process.execPath, [spec.entry], {
    cwd: spec.cwd,
    env: { ...spec.env, YARD_EXIT_WITH_PARENT: "1" },
    stdio: ["pipe", "pipe", "pipe"],
    detached: true,
  });
  child.stdin.on("error", () => {}); // it is gone; `exited` tells
  const exited = exitOf(child);
  const ready = readyAddress(child, onLine);
  const kill = (): void => killGroup(child);
  signal.addEventListener("abort", kill, { once: true });
  try {
    const early = exited.then((how) => {
      throw startFailure(spec.name, how, child.exitCode);
    });
    const deadline = AbortSignal.timeout(START_TIMEOUT_MS);
    const healthUrl = await Promise.race([ready, early, rejectedBy(deadline, spec.name)]);
    await Promise.race([untilReady(healthUrl, deadline, spec.name), early]);
    return { pid: child.pid ?? 0, healthUrl, exited, kill, stop: () => stopChild(child, exited) };
  } catch (error) {
    kill();
    await exited;
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener("abort", kill);
  }
}

function exitOf(child: Child): Promise<string> {
  return new Promise((resolve) => {
    child.once("error", (error) => resolve(`could not be run: ${error.message}`));
    // `close` comes after the last line of output was read, `exit` may come before.
    child.once("close", (code, signal) =>
      resolve(signal === null ? `exit code ${code}` : `signal ${signal}`),
    );
  });
}

function readyAddress(child: Child, onLine: (line: string) => void): Promise<string> {
  return new Promise((resolve) => {
    splitLines(child.stderr, onLine);
    splitLines(child.stdout, (line) => {
      onLine(line);
      const parsed = parseLogLine(line);
      if (parsed.kind !== "record" || parsed.message !== "service ready") return;
      const url = parsed.fields["healthUrl"];
      if (typeof url === "string") resolve(url);
    });
  });
}

async function untilReady(healthUrl: string, signal: AbortSignal, name: string): Promise<void> {
  while (!signal.aborted) {
    const response = await fetch(new URL("/readyz", healthUrl), { signal }).catch(() => null);
    await response?.body?.cancel();
    if (response?.ok === true) return;
    await delay(READY_POLL_MS);
  }
  throw notReady(name);
}

function rejectedBy(signal: AbortSignal, name: string): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(notReady(name)), { once: true });
  });
}

function notReady(name: string): CliError {
  return new CliError("timeout", `${name} was not ready after ${START_TIMEOUT_MS / 1_000} s`, {
    hint: "its log lines above say what it waits for",
  });
}

function startFailure(name: string, how: string, exitCode: number | null): CliError {
  const code = exitCode === EXIT.dependencyDown ? "disconnected" : "start_failed";
  return new CliError(code, `${name} did not start (${how})`, {
    hint: "its log lines above say why",
  });
}

async function stopChild(child: Child, exited: Promise<string>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGTERM");
  const patience = new AbortController();
  const deadline = delay(STOP_TIMEOUT_MS, undefined, { signal: patience.signal }).then(
    () => killGroup(child),
    () => {},
  );
  await exited;
  patience.abort();
  await deadline;
}

function killGroup(child: Child): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // the group is gone already
  }
}
