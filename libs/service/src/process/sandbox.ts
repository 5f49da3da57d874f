import { execFile } from "node:child_process";
import { statSync } from "node:fs";
import { access, constants } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { cutText } from "@switchyard/contracts/cut-text";

/** What a process in a bubblewrap sandbox reaches, beside a file system that it can only read. */
export interface Sandbox {
  readonly writable: readonly string[];
  readonly hidden: readonly string[];
  readonly network: boolean;
}

/** The sandbox cannot be had on this machine; the server is not started without it. */
export class SandboxError extends Error {
  override readonly name = "SandboxError";
}

export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string | null;
}

/**
 * For a service that is root: bubblewrap leaves root its capabilities, with which a process could mount again, writable,
 * what it shall only read, and show what is hidden.
 */
export const NO_CAPABILITIES = "--cap-drop ALL".split(" ");
/** Of the processes inside, and read-only: settings of the kernel in it may be root's to write even without a capability. */
export const OWN_PROC = "--proc /proc --remount-ro /proc".split(" ");
const READ_ONLY_ROOT = [
  "--ro-bind / / --dev /dev".split(" "),
  OWN_PROC,
  ["--tmpfs", "/tmp"],
].flat();
const PROBE_TIMEOUT_MS = 10_000;

/** The command that runs another one in the sandbox. `program` comes from {@link findBubblewrap}. */
export function sandboxed(launch: Launch, sandbox: Sandbox, program: string): Launch {
  const { command, args, cwd } = launch;
  const outer = [
    // Its end takes everything inside along, whatever kills it.
    "--die-with-parent",
    "--unshare-all",
    ...NO_CAPABILITIES,
    ...(sandbox.network ? ["--share-net"] : []),
    ...READ_ONLY_ROOT,
    ...sandbox.writable.flatMap((path) => ["--bind", path, path]),
    ...sandbox.hidden.flatMap(hide),
    ...(cwd === null ? [] : ["--chdir", cwd]),
    "--",
  ];
  return { command: program, args: [...outer, command, ...args], cwd };
}

/** Where bubblewrap may be. */
export interface BubblewrapSearch {
  /** The value of YARD_BWRAP_BIN. Undefined or empty: the `bwrap` on `path`. */
  readonly program: string | undefined;
  /** In the form of PATH. */
  readonly path: string;
}

const known = new Map<string, Promise<string>>();

/**
 * The bubblewrap of this machine, once it has proven that it can make a sandbox. Rejects with a
 * SandboxError that says what is missing. A failure is not remembered: it may be repaired meanwhile.
 */
export function findBubblewrap({ program, path }: BubblewrapSearch): Promise<string> {
  const key = JSON.stringify([program, path]);
  const found = known.get(key) ?? probe(program, path);
  known.set(key, found);
  found.catch(() => known.delete(key));
  return found;
}

async function probe(named: string | undefined, path: string): Promise<string> {
  const program = named === undefined || named === "" ? await findOn(path, "bwrap") : named;
  if (program === null)
    throw new SandboxError(
      'sandbox "bubblewrap" cannot be used: there is no bwrap on the PATH of this service; install bubblewrap, set YARD_BWRAP_BIN, or do without the sandbox',
    );
  const { args } = sandboxed(
    { command: "/bin/sh", args: ["-c", ":"], cwd: null },
    { writable: [], hidden: [], network: false },
    program,
  );
  try {
    await promisify(execFile)(program, args, { timeout: PROBE_TIMEOUT_MS, env: { PATH: path } });
    return program;
  } catch (error) {
    const stderr =
      error instanceof Error && "stderr" in error ? cutText(String(error.stderr).trim(), 500) : "";
    throw new SandboxError(
      `sandbox "bubblewrap" cannot be used: ${program} does not work here (${stderr || String(error)}); it needs user namespaces, which containers and some kernels refuse`,
      { cause: error },
    );
  }
}

async function findOn(path: string, name: string): Promise<string | null> {
  for (const directory of path.split(delimiter).filter((entry) => entry !== "")) {
    const file = join(directory, name);
    const isThere = await access(file, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return file;
  }
  return null;
}

/** What is not there needs not to be hidden. */
function hide(path: string): string[] {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return [];
  return found.isDirectory() ? ["--tmpfs", path] : ["--ro-bind", "/dev/null", path];
}
