import { spawn, type ChildProcessByStdio } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import {
  ENVIRONMENT_FROM_STDIN,
  environmentLine,
} from "@switchyard/service/environment-from-stdin";
import { EXIT_WITH_PARENT } from "@switchyard/service/exit-with-parent";
import { lastingVariables } from "@switchyard/service/take-environment";
import { splitLines } from "./line-splitter.ts";
import { parseLogLine } from "./log-line.ts";
import {
  beginning,
  notReady,
  START_TIMEOUTS,
  startFailure,
  type StartTimeouts,
} from "./service-start.ts";
import type { Running } from "./supervise.ts";

export interface ServiceSpec {
  readonly name: string;
  /** Absolute path of its main.ts. */
  readonly entry: string;
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** The name shown in the log for each service of a process, by the name that the service logs under. */
  readonly speakers?: ReadonlyMap<string, string>;
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/** A process that loads its code, and waits for its environment. */
export interface LoadingProcess {
  readonly child: Child;
  /** Resolves with the reason when it has ended. */
  readonly exited: Promise<string>;
}

/** Longer than the service's own drain limit, which is the one that should decide. */
const STOP_TIMEOUT_MS = 15_000;
const READY_POLL_MS = 25;

/**
 * Starts a process of services without its environment, of which it gets only what Node.js reads at once. It has a process group of its own,
 * so that Ctrl-C reaches us alone and we stop things in order; and a pipe as stdin, whose end notifies it that this process is gone, for whatever reason.
 */
export function loadService(entry: string, env: NodeJS.ProcessEnv): LoadingProcess {
  const child: Child = spawn(process.execPath, [entry, EXIT_WITH_PARENT, ENVIRONMENT_FROM_STDIN], {
    env: lastingVariables(env),
    stdio: ["pipe", "pipe", "pipe"],
    detached: true,
  });
  child.stdin.on("error", () => {}); // it is gone; `exited` reports it
  return { child, exited: exitOf(child) };
}

/** Starts a service and waits until it logs that it is ready (`service ready`) and its readiness probe agrees. */
export async function launchService(
  spec: ServiceSpec,
  options: {
    /** Called with each line that it writes, and the name that the line is shown under. */
    readonly onLine: (line: string, speaker: string) => void;
    /** Gives up the start. */
    readonly signal: AbortSignal;
    readonly startTimeouts?: StartTimeouts;
    /** Its process, if it has been started before. */
    readonly loading?: LoadingProcess;
  },
): Promise<Running> {
  const { signal, startTimeouts = START_TIMEOUTS } = options;
  signal.throwIfAborted();
  const { child, exited } = options.loading ?? loadService(spec.entry, spec.env);
  child.stdin.write(environmentLine(spec));
  const begun = beginning(startTimeouts);
  const ready = readyAddress(child, (line) => {
    const speaker = speakerOf(spec, line);
    begun.noteLine(line, speaker === spec.name ? null : speaker);
    options.onLine(line, speaker);
  });
  const over = AbortSignal.any([begun.givenUp, signal]);
  try {
    const early = exited.then((how) => {
      throw startFailure(spec.name, { how, exitCode: child.exitCode, lines: begun.lines });
    });
    const healthUrl = await Promise.race([ready, early, rejectedBy(over)]);
    await Promise.race([untilReady(healthUrl, over, (answer) => begun.polled(answer)), early]);
    return {
      pid: child.pid ?? 0,
      healthUrl,
      exited,
      kill: () => killProcess(child),
      stop: () => stopChild(child, exited),
    };
  } catch (error) {
    await stopChild(child, exited);
    signal.throwIfAborted();
    throw begun.givenUp.aborted ? notReady(spec.name, begun) : error;
  } finally {
    begun.end();
  }
}

/** The name that a line is shown under. */
export function speakerOf({ name, speakers }: ServiceSpec, line: string): string {
  if (speakers === undefined) return name;
  const parsed = parseLogLine(line);
  return (parsed.kind === "record" ? speakers.get(parsed.service) : undefined) ?? name;
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

async function untilReady(
  healthUrl: string,
  signal: AbortSignal,
  onAnswer: (answer: string) => void,
): Promise<void> {
  for (;;) {
    const response = await fetch(new URL("/readyz", healthUrl), { signal }).catch(() => null);
    const body = (await response?.text().catch(() => "")) ?? "";
    signal.throwIfAborted(); // what was cut short is not an answer
    if (response?.ok === true) return;
    onAnswer(response === null ? "no answer" : body.trim());
    await delay(READY_POLL_MS);
  }
}

function rejectedBy(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const give = (): void => reject(signal.reason as Error); // what an abort is rejected with everywhere
    if (signal.aborted) give();
    else signal.addEventListener("abort", give, { once: true });
  });
}

async function stopChild(child: Child, exited: Promise<string>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGTERM");
  const startTimeouts = new AbortController();
  const deadline = delay(STOP_TIMEOUT_MS, undefined, { signal: startTimeouts.signal }).then(
    () => killProcess(child),
    () => {},
  );
  await exited;
  startTimeouts.abort();
  await deadline;
}

/** Kills its process group. */
export function killProcess(child: Child): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // the group is gone already
  }
}
