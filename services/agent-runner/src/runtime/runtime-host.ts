import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Environment } from "@switchyard/service/env";
import { endGroup } from "@switchyard/service/process/process-group";
import type { HostCommand, HostEvent, HostStart } from "../runtime-host/host-protocol.ts";

const MAIN = fileURLToPath(new URL("../runtime-host/main.ts", import.meta.url));
const CLI_GRACE_MS = 1_000;
/** Longer than the time that the host gives the CLI. */
const END_MS = 8_000;

/** The process that has the CLI of one run. */
export interface RuntimeHost {
  readonly pid: number;
  /** Calls that the CLI waits for, by the host's ids. */
  readonly pending: Set<string>;
  /** True when the CLI has reported a cost. */
  saysCost: boolean;
  /** True when its turn is over, or it has failed or ended. */
  readonly isOver: () => boolean;
  send(command: HostCommand): void;
  /** The next event; null when none came within the time, in milliseconds. */
  next(withinMs?: number): Promise<HostEvent | null>;
  /** Ends the CLI's process group, and then the host. */
  end(): Promise<void>;
}

/** Starts a host. It gets nothing of the runner's environment but where programs are. */
export function startHost(start: HostStart, runnerEnv: Environment): RuntimeHost {
  const { PATH, NODE_COMPILE_CACHE, TMPDIR } = runnerEnv;
  const env = { PATH, NODE_COMPILE_CACHE, TMPDIR };
  const child = spawn(process.execPath, [MAIN], { env, stdio: ["pipe", "pipe", "ignore"] });
  const events: HostEvent[] = [];
  let arrived = Promise.withResolvers<void>();
  let isOver = false;
  let group: number | null = null;
  const add = (event: HostEvent): void => {
    if (event.type === "started") group = event.group;
    if (event.type === "end" || event.type === "failed") isOver = true;
    events.push(event);
    arrived.resolve();
  };
  const lines = createInterface({ input: child.stdout });
  lines.on("line", (line) => {
    const event = eventIn(line);
    if (event !== null) add(event);
  });
  child.stdin.on("error", () => {}); // the end of the process is reported by its exit
  const closed = Promise.withResolvers<number | null>();
  child.once("close", (code) => closed.resolve(code));
  // It cannot be started. `once` of node:events would reject, and an error of one run would end the runner.
  child.on("error", () => closed.resolve(null));
  const settle = async (): Promise<void> => {
    const code = await closed.promise;
    // A host that was killed could not end its CLI.
    if (code !== 0 && group !== null) await endGroup(group, CLI_GRACE_MS);
    if (!isOver)
      add({
        type: "failed",
        message: "the host of the CLI ended before its turn did",
        isRetryable: true,
      });
  };
  const exited = settle();
  const send = (command: HostCommand): void =>
    void child.stdin.write(`${JSON.stringify(command)}\n`);
  send(start);
  return {
    pid: child.pid ?? 0,
    pending: new Set(),
    saysCost: false,
    isOver: () => isOver,
    send,
    async next(withinMs) {
      while (events.length === 0) {
        arrived = Promise.withResolvers();
        const timer = Promise.withResolvers<"late">();
        const late =
          withinMs === undefined ? undefined : setTimeout(() => timer.resolve("late"), withinMs);
        const came = await Promise.race([arrived.promise, timer.promise]);
        clearTimeout(late);
        if (came === "late") return null;
      }
      return events.shift() ?? null;
    },
    async end() {
      isOver = true;
      child.stdin.end();
      const timer = setTimeout(() => child.kill("SIGKILL"), END_MS);
      await exited;
      clearTimeout(timer);
    },
  };
}

/** Null for half a line: the host was killed while it wrote. */
function eventIn(line: string): HostEvent | null {
  try {
    return JSON.parse(line) as HostEvent; // our own process wrote it, of the same version
  } catch {
    return null;
  }
}

/** A CLI could not complete its turn; `isRetryable` states whether a retry may help. */
export class RuntimeFailure extends Error {
  override readonly name = "RuntimeFailure";
  readonly isRetryable: boolean;

  constructor(message: string, isRetryable: boolean) {
    super(message);
    this.isRetryable = isRetryable;
  }
}
