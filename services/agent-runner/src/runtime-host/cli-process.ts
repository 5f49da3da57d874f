import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { cutTextStart } from "@switchyard/contracts/cut-text";
import { endGroup } from "@switchyard/service/process/process-group";
import { sandboxed } from "@switchyard/service/process/sandbox";
import type { HostStart } from "./host-protocol.ts";

/** A CLI in a process group of its own, with nothing of the host's environment. */
export interface CliProcess {
  readonly child: ChildProcessWithoutNullStreams;
  readonly group: number;
  /** The last of what it wrote to standard error. */
  lastWords(): string;
  /** Ends the whole group. */
  end(): Promise<void>;
}

const GRACE_MS = 3_000;
const KEPT_CHARS = 2_000;

export interface CliLaunch {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** What it may write, in the sandbox: its directory, and that of the socket. */
  readonly writable: readonly string[];
}

/** Starts the CLI, in the sandbox if there is to be one. Rejects when it cannot be started. */
export async function startCli(
  { command, sandbox }: Pick<HostStart, "command" | "sandbox">,
  { args, env, cwd, writable }: CliLaunch,
): Promise<CliProcess> {
  const [program = "", ...rest] = command;
  const plain = { command: program, args: [...rest, ...args], cwd };
  const launch =
    sandbox === null
      ? plain
      : sandboxed(plain, { writable, hidden: sandbox.hidden, network: true }, sandbox.program);
  const child = spawn(launch.command, launch.args, {
    cwd,
    env,
    detached: true,
    stdio: ["pipe", "pipe", "pipe"],
  });
  let said = "";
  child.stderr.setEncoding("utf8");
  child.stderr.on("data", (text: string) => (said = cutTextStart(said + text, KEPT_CHARS)));
  child.stdin.on("error", () => {}); // its end says it
  await once(child, "spawn").catch((error: unknown) => {
    throw new Error(
      `${program} cannot be started: ${String(error)}; is it installed where the runner is?`,
    );
  });
  const { pid: group } = child;
  if (group === undefined) throw new Error(`${program} has started and has no process id`);
  return {
    child,
    group,
    lastWords: () => said.trim(),
    async end() {
      await endGroup(group, GRACE_MS);
    },
  };
}

/** The lines of JSON that a CLI writes; what is none is passed over. */
export async function* jsonLines(
  child: ChildProcessWithoutNullStreams,
): AsyncGenerator<Record<string, unknown>> {
  for await (const line of createInterface({ input: child.stdout })) {
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch {
      continue; // some print a greeting
    }
    if (typeof value === "object" && value !== null) yield value as Record<string, unknown>;
  }
}
