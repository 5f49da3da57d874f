import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { homedir } from "node:os";
import { dirname, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { within } from "@switchyard/contracts/timeouts";
import { cutTextStart } from "@switchyard/contracts/cut-text";
import { endGroup } from "@switchyard/service/process/process-group";
import { programPaths } from "@switchyard/service/process/program-paths";
import { sandboxed, type Launch } from "@switchyard/service/process/sandbox";
import { seccompFilter } from "@switchyard/service/process/seccomp-filter";
import type { HostStart } from "./host-protocol.ts";
import { openOutlet, type Outlet } from "./outlet.ts";

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

const INSIDE = fileURLToPath(new URL("inside-sandbox.ts", import.meta.url));
/** The file descriptor from which bubblewrap reads the filter of system calls. */
const FILTER_FD = 3;
const TMP_BYTES = 1024 * 1024 * 1024;

interface ConfinedCli {
  readonly launch: Launch;
  /** The filter of system calls; null for a machine without one. */
  readonly filter: Buffer | null;
  readonly outlet: Outlet;
}

/**
 * Confines a CLI to a sandbox that shows the system's programs, the CLI's own files, its own directory and nothing else of the
 * machine: no home directory, no key, no data of the installation, no other run. It has its own network; the outlet leads to its
 * model and to the hosts that the operator configures.
 */
export async function confineCli(
  plain: Launch,
  made: {
    readonly sandbox: NonNullable<HostStart["sandbox"]>;
    readonly env: Readonly<Record<string, string>>;
    /** The directory of the run, which it may write, and that of its sockets. */
    readonly directory: string;
    readonly sockets: string;
  },
): Promise<ConfinedCli> {
  const { sandbox, env, directory, sockets } = made;
  const upstream = env["HTTPS_PROXY"] ?? env["https_proxy"];
  const outlet = await openOutlet({
    directory: sockets,
    hosts: sandbox.hosts,
    upstream: upstream !== undefined && URL.canParse(upstream) ? new URL(upstream) : null,
  });
  const { command, args } = plain;
  const program = { command, args, path: env["PATH"] ?? "", home: homedir() };
  // An argument may name a file in the CLI's own directory, which stays writable.
  const programs = outside([...sandbox.secret, directory], programPaths(program));
  const view = {
    files: "system",
    readable: [...programs, dirname(INSIDE), sockets],
    writable: [directory],
    hidden: [],
    // The directory of the run may be in one of them.
    secret: sandbox.secret,
    network: false,
    tmpBytes: TMP_BYTES,
  } as const;
  const { proxy, ports } = outlet;
  const inner = {
    ...plain,
    command: process.execPath,
    args: ["--no-warnings", INSIDE, JSON.stringify({ proxy, ports }), command, ...args],
  };
  const filter = seccompFilter();
  const more = filter === null ? [] : ["--seccomp", String(FILTER_FD)];
  return { launch: sandboxed(inner, view, sandbox.program, more), filter, outlet };
}

/** The paths that are in none of the directories. */
function outside(directories: readonly string[], paths: readonly string[]): string[] {
  return paths.filter((path) =>
    directories.every((one) => path !== one && !path.startsWith(`${one}${sep}`)),
  );
}
