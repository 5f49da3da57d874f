import { homedir } from "node:os";
import { dirname, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { programPaths } from "@switchyard/service/process/program-paths";
import { sandboxed, type Launch } from "@switchyard/service/process/sandbox";
import { seccompFilter } from "@switchyard/service/process/seccomp-filter";
import type { HostStart } from "./host-protocol.ts";
import { openOutlet, type Outlet } from "./outlet.ts";

const INSIDE = fileURLToPath(new URL("inside-sandbox.ts", import.meta.url));
/** The file descriptor from which bubblewrap reads the filter of system calls. */
export const FILTER_FD = 3;
const TMP_BYTES = 1024 * 1024 * 1024;

export interface ConfinedCli {
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
