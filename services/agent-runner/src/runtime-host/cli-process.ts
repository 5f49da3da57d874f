import { within } from "@switchyard/contracts/timeouts";
import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { cutTextStart } from "@switchyard/contracts/cut-text";
import { endGroup } from "@switchyard/service/process/process-group";
import { confineCli } from "./confined-cli.ts";
import type { HostStart } from "./host-protocol.ts";

/** A CLI in a separate process group, without the host's environment. */
export interface CliProcess {
  readonly child: ChildProcessWithoutNullStreams;
  readonly group: number;
  /**
   * Explains how it ended, when it ends within a moment, with the end of its standard error, and the hosts that it could not
   * reach.
   */
  explain(): Promise<string>;
  /** Ends the whole group. */
  end(): Promise<void>;
}

const GRACE_MS = 3_000;
const KEPT_CHARS = 2_000;
/** The end of its output is seen before its exit. */
const EXIT_MS = 500;

export interface CliLaunch {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Its own directories in the sandbox: the one that it may write to, and the one of its sockets. */
  readonly directory: string;
  readonly sockets: string;
}

/** Starts the CLI, in the sandbox if there is to be one. Rejects when it cannot be started. */
export async function startCli(
  { command, sandbox }: Pick<HostStart, "command" | "sandbox">,
  launch: CliLaunch,
): Promise<CliProcess> {
  const { args, env, cwd } = launch;
  const [program = "", ...rest] = command;
  const plain = { command: program, args: [...rest, ...args], cwd };
  const confined = sandbox === null ? null : await confineCli(plain, { sandbox, ...launch });
  const started = confined?.launch ?? plain;
  const filter = confined?.filter ?? null;
  const spawned = spawn(started.command, started.args, {
    cwd,
    env,
    detached: true,
    stdio: ["pipe", "pipe", "pipe", filter === null ? "ignore" : "pipe"],
  });
  // The first three are pipes, as requested in the options.
  const child = spawned as ChildProcessWithoutNullStreams;
  const reader = child.stdio[3];
  if (filter !== null && reader instanceof Writable) {
    reader.on("error", () => {}); // the exit of the process reports it
    reader.end(filter);
  }
  let said = "";
  child.stderr.setEncoding("utf8");
  child.stderr.on("data", (text: string) => (said = cutTextStart(said + text, KEPT_CHARS)));
  child.stdin.on("error", () => {}); // the exit of the process reports it
  const exited = once(child, "exit");
  exited.catch(() => {}); // a program that cannot be started is reported below
  await once(child, "spawn").catch((error: unknown) => {
    confined?.outlet.close();
    throw new Error(
      `${program} cannot be started: ${String(error)}; is it installed where the runner is?`,
    );
  });
  const { pid: group } = child;
  if (group === undefined) throw new Error(`${program} has started and has no process id`);
  return {
    child,
    group,
    async explain() {
      await within(exited, { ms: EXIT_MS });
      const words = said.trim();
      const refused = [...(confined?.outlet.refused ?? [])].join(", ");
      return [
        ...exitText(child),
        ...(words === "" ? [] : [`it said: ${words}`]),
        ...(refused === ""
          ? []
          : [`it may not connect to ${refused} ("hosts" in the models file)`]),
      ].join("; ");
    },
    async end() {
      await endGroup(group, GRACE_MS);
      confined?.outlet.close();
    },
  };
}

function exitText({
  exitCode,
  signalCode,
}: Pick<ChildProcessWithoutNullStreams, "exitCode" | "signalCode">): string[] {
  if (exitCode !== null) return [`it ended with exit code ${exitCode}`];
  return signalCode === null ? [] : [`it was ended by ${signalCode}`];
}

/** Yields the lines of JSON that a CLI writes; other lines are skipped. */
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
