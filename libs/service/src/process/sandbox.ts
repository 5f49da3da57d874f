import { execFile } from "node:child_process";
import { realpathSync, statSync } from "node:fs";
import { access, constants } from "node:fs/promises";
import { delimiter, dirname, join, sep } from "node:path";
import { promisify } from "node:util";
import { cutText } from "@switchyard/contracts/cut-text";

/**
 * The files that a process in a bubblewrap sandbox can reach. Of two paths the deeper one counts, so a directory that is hidden may have
 * one below it that is shown, and the other way round. Missing paths are left out.
 */
export interface Sandbox {
  /** `all`, the default: every file of the machine, read-only. `system`: the system's programs and libraries alone. */
  readonly files?: "all" | "system";
  readonly readable?: readonly string[];
  readonly writable: readonly string[];
  /** Files and directories that look empty, unless the same path is among the readable or writable ones. */
  readonly hidden: readonly string[];
  /** The same, whatever the other lists contain for that path. */
  readonly secret?: readonly string[];
  readonly network: boolean;
  /** The size of `/tmp`, in bytes; left out, the kernel's default: half of the memory. */
  readonly tmpBytes?: number;
}

/** The sandbox is not available on this machine; the server is not started without it. */
export class SandboxError extends Error {
  override readonly name = "SandboxError";
}

export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string | null;
}

/**
 * Needed for a service that is root: bubblewrap leaves root its capabilities, with which a process could mount read-only paths again as
 * writable, and show what is hidden.
 */
export const NO_CAPABILITIES = "--cap-drop ALL".split(" ");
/** Shows the processes inside only, and read-only: root may write kernel settings in it even without a capability. */
export const OWN_PROC = "--proc /proc --remount-ro /proc".split(" ");
const PROBE_TIMEOUT_MS = 10_000;

/** The directories that programs consist of. They hold no user's data, and all of them are mounted read-only. */
const SYSTEM = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store"];
/** The entries of /etc that programs cannot do without. */
const SYSTEM_FILES = [
  "alternatives",
  "ca-certificates",
  "fonts",
  "group",
  "hosts",
  "ld.so.cache",
  "ld.so.conf",
  "ld.so.conf.d",
  "localtime",
  "mime.types",
  "nsswitch.conf",
  "passwd",
  "pki",
  "protocols",
  "resolv.conf",
  "services",
  "ssl",
].map((name) => `/etc/${name}`);

/** The command that runs another one in the sandbox. `program` comes from {@link findBubblewrap}; `more` are its other arguments. */
export function sandboxed(
  launch: Launch,
  sandbox: Sandbox,
  program: string,
  more: readonly string[] = [],
): Launch {
  const { command, args, cwd } = launch;
  const outer = [
    // Its end also ends everything inside, whatever kills it.
    "--die-with-parent",
    "--unshare-all",
    ...NO_CAPABILITIES,
    ...(sandbox.network ? ["--share-net"] : []),
    ...more,
    ...mountArguments(sandbox),
    ...(cwd === null ? [] : ["--chdir", cwd]),
    "--",
  ];
  return { command: program, args: [...outer, command, ...args], cwd };
}

/** The arguments of bubblewrap that make the file system of a sandbox. */
export function mountArguments(sandbox: Sandbox): string[] {
  const { files = "all", tmpBytes } = sandbox;
  const size = tmpBytes === undefined ? [] : ["--size", String(tmpBytes)];
  const root = files === "all" ? "--ro-bind / / --dev /dev".split(" ") : ["--dev", "/dev"];
  return [...root, ...OWN_PROC, ...size, "--tmpfs", "/tmp", ...viewArguments(sandbox)];
}

/** The view of a path from inside. */
type Look = "shown" | "writable" | "hidden";

/** A deeper path comes later, and so on top; a path that looks like its directory needs no mount. */
function viewArguments(sandbox: Sandbox): string[] {
  const { files = "all", readable = [], writable, hidden, secret = [] } = sandbox;
  const isSystem = files === "system";
  const looks = new Map<string, Look>([
    ["/", isSystem ? "hidden" : "shown"],
    ["/tmp", "hidden"],
  ]);
  const set = (paths: readonly string[], look: Look): void => {
    for (const path of paths) for (const name of namesOf(path, isSystem)) looks.set(name, look);
  };
  if (isSystem) set([...SYSTEM, ...SYSTEM_FILES], "shown");
  set(hidden, "hidden");
  set(readable, "shown");
  set(writable, "writable");
  set(secret, "hidden");
  const inOrder = [...looks].toSorted(([one], [other]) => depthOf(one) - depthOf(other));
  return inOrder.flatMap(([path, look]) =>
    look === lookAround(path, looks) ? [] : argumentsOf(path, look),
  );
}

/** The look of the directory that contains a path; null for those that are made before. */
function lookAround(path: string, looks: ReadonlyMap<string, Look>): Look | null | undefined {
  if (path === "/" || path === "/tmp") return looks.get(path);
  const parent = dirname(path);
  return looks.get(parent) ?? lookAround(parent, looks);
}

/** The target of a path; where the links on the way are missing, the path, too. Empty for a path that does not exist. */
function namesOf(path: string, isSystem: boolean): string[] {
  try {
    const real = realpathSync(path);
    return isSystem ? [...new Set([path, real])] : [real];
  } catch {
    return [];
  }
}

function depthOf(path: string): number {
  return path.split(sep).filter((part) => part !== "").length;
}

function argumentsOf(path: string, look: Look): string[] {
  if (look === "shown") return ["--ro-bind", path, path];
  if (look === "writable") return ["--bind", path, path];
  return statSync(path).isDirectory() ? ["--tmpfs", path] : ["--ro-bind", "/dev/null", path];
}

/** The places to search for bubblewrap. */
export interface BubblewrapSearch {
  /** The program, where it was found already. */
  readonly program?: string;
  /** In the form of PATH. */
  readonly path: string;
}

/** The bubblewrap of `YARD_BIN_DIR`, else that on the PATH of the service. */
export function bubblewrapSearch(env: Readonly<Record<string, unknown>>): BubblewrapSearch {
  const { YARD_BIN_DIR: own = "", PATH: path = "" } = env;
  return { path: [own, path].join(delimiter) };
}

const known = new Map<string, Promise<string>>();

/**
 * The bubblewrap of this machine, once it has proven that it can make a sandbox. Rejects with a SandboxError that names what is missing. A
 * failure is not cached: it may be repaired meanwhile.
 */
export function findBubblewrap({ program, path }: BubblewrapSearch): Promise<string> {
  const key = JSON.stringify([program, path]);
  const found = known.get(key) ?? probe(program, path);
  known.set(key, found);
  found.catch(() => known.delete(key));
  return found;
}

async function probe(named: string | undefined, path: string): Promise<string> {
  const program = named ?? (await findOn(path, "bwrap"));
  if (program === null)
    throw new SandboxError(
      'sandbox "bubblewrap" cannot be used: there is no bwrap on the PATH of this service; install bubblewrap, name its directory in YARD_BIN_DIR, or do without the sandbox',
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

/** The file that a command of this name runs; null where none of the directories of `path` has it. */
export async function findOn(path: string, name: string): Promise<string | null> {
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
