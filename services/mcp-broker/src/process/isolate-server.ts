import { homedir } from "node:os";
import { join, sep, isAbsolute } from "node:path";
import { fileURLToPath } from "node:url";
import { access, constants, mkdir } from "node:fs/promises";
import { privatePaths } from "@switchyard/service/process/private-paths";
import { programPaths } from "@switchyard/service/process/program-paths";
import {
  bubblewrapSearch,
  findBubblewrap,
  SandboxError,
  sandboxed,
  type Sandbox,
} from "@switchyard/service/process/sandbox";
import { seccompFilter } from "@switchyard/service/process/seccomp-filter";
import type { ServerSandbox } from "@switchyard/project/mcp-servers/sandbox-config";
import type { ServerConfig, StdioConfig } from "@switchyard/project/mcp-servers/server-config";
import { PROGRAM_VARIABLES } from "@switchyard/service/take-environment";
import type { Program } from "./child-program.ts";
import { ownUser, privateDirectory } from "./server-users.ts";

/**
 * Isolates a stdio server from what belongs to the broker: its keys, its environment with the secrets of all servers, its memory.
 *
 * - A sandbox of bubblewrap, wherever one can be made: processes of its own, a file system that is read-only except for the
 *   paths that its entry names, without keys and credentials.
 * - Else nothing for a server that its entry marks as trusted.
 * - Else, for a broker that is root, a user of the server's own.
 * - Else the server is not started.
 */
export interface IsolationOptions {
  /** The broker's environment; it names bubblewrap and the files to hide. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stateDir: string;
  readonly setting: SandboxSetting;
  /** True: the broker may start processes as other users. */
  readonly ownUsers: boolean;
  /** Called when a server is started with the broker's own rights because nothing else works here. */
  readonly onUnconfined: (reason: string) => void;
}

/**
 * The isolation of stdio servers whose entry does not configure a sandbox. `require`: they are isolated, or not started unless they
 * are trusted. `prefer`: on a machine without isolation they are all trusted. `off`: none is isolated.
 */
export type SandboxSetting = "require" | "prefer" | "off";

type Stdio = Pick<ServerConfig, "id" | "roots" | "trusted" | "instanceOf"> & StdioConfig;

/** Returns a program with everything that it is started with. Rejects with SandboxError when the server may not be started like this. */
export type IsolateServer = (server: Stdio) => Promise<Program>;

const DEFAULT: ServerSandbox = {
  profile: "default",
  readable: [],
  writable: [],
  hidden: [],
  network: true,
};

/** The stream from which bubblewrap reads the filter of system calls: the first behind standard input, output and error. */
const FILTER_FD = 3;

export function createServerIsolation(options: IsolationOptions): IsolateServer {
  const { env, stateDir, setting, ownUsers, onUnconfined } = options;
  const search = bubblewrapSearch(env);
  const plain = async (server: Stdio): Promise<Program> => {
    const { variables } = await childEnvironment({ env, stateDir, server: server.id });
    return programOf(server, variables);
  };
  const inSandbox = async (server: Stdio, sandbox: ServerSandbox): Promise<Program> => {
    const bubblewrap = await findBubblewrap(search);
    const own = await privateDirectory(stateDir, server.id);
    return sandboxedProgram(options, { server, sandbox, bubblewrap, own });
  };
  return async (server) => {
    const { sandbox } = server;
    if (sandbox === "off" || (sandbox === null && setting === "off")) return plain(server);
    if (sandbox !== null) return inSandbox(server, sandbox);
    try {
      return await inSandbox(server, DEFAULT);
    } catch (error) {
      if (!(error instanceof SandboxError)) throw error;
      if (server.trusted || setting === "prefer") {
        onUnconfined(error.message);
        return plain(server);
      }
      if (ownUsers) return asOwnUser(options, server);
      throw notTrusted(error);
    }
  };
}

function programOf(
  { command, args, cwd, env: declared }: Stdio,
  variables: Readonly<Record<string, string>>,
): Program {
  return { command, args, cwd, env: { ...variables, ...declared } };
}

async function sandboxedProgram(
  { env, stateDir }: IsolationOptions,
  made: {
    readonly server: Stdio;
    readonly sandbox: ServerSandbox;
    readonly bubblewrap: string;
    /** The server's private directory. */
    readonly own: string;
  },
): Promise<Program> {
  const { server, sandbox, bubblewrap, own } = made;
  const { variables } = await childEnvironment({ env, stateDir, server: server.id });
  // The machine's temporary directory is left out, because the sandbox has its own.
  const { TMPDIR: _, ...inside } = variables;
  const plain = programOf(server, { ...inside, ...cachesIn(own) });
  const filter = sandbox.profile === "strict" ? seccompFilter() : null;
  const more = filter === null ? [] : ["--seccomp", String(FILTER_FD)];
  const view = viewOf(made, { env, stateDir, program: plain });
  return {
    ...plain,
    ...sandboxed(plain, view, bubblewrap, more),
    ...(filter === null ? {} : { filter }),
  };
}

function viewOf(
  {
    server,
    sandbox,
    own,
  }: { readonly server: Stdio; readonly sandbox: ServerSandbox; readonly own: string },
  { env, stateDir, program }: { env: IsolationOptions["env"]; stateDir: string; program: Program },
): Sandbox {
  const home = env["HOME"] ?? homedir();
  const { secret, personal } = privatePaths(env, home);
  const secrets = [...secret, stateDir];
  const { command, args, cwd } = program;
  const named = [...(cwd === null ? [] : [cwd]), ...rootsOf(server, env)];
  const isStrict = sandbox.profile === "strict";
  const shown = [
    ...programPaths({ command, args, path: program.env["PATH"] ?? "", home }),
    ...[command, ...args, ...named].flatMap(topOfTmp),
    ...(isStrict ? [] : engineSockets(command)),
  ];
  const writable = [...named, ...sandbox.writable];
  return {
    files: isStrict ? "system" : "all",
    // An argument may name a file in a directory that the server may write.
    readable: [...outside([...secrets, ...writable], shown), ...outside(secrets, sandbox.readable)],
    // The server's own directory lies below one that is hidden.
    writable: [...outside(secrets, writable), own],
    hidden: [...personal, ...sandbox.hidden],
    secret: secrets,
    network: sandbox.network,
  };
}

/** The roots that the server receives; the broker's workspace when its entry has none. */
function rootsOf({ roots }: Pick<Stdio, "roots">, env: IsolationOptions["env"]): string[] {
  const workspace = env["YARD_WORKSPACE"] ?? "";
  const named = roots ?? (workspace === "" ? [] : [workspace]);
  return named.map((root) => (root.startsWith("file:") ? fileURLToPath(root) : root));
}

/** The paths that are in none of the directories. */
function outside(directories: readonly string[], paths: readonly string[]): string[] {
  return paths.filter((path) =>
    directories.every((one) => path !== one && !path.startsWith(`${one}${sep}`)),
  );
}

/** The sandbox has a `/tmp` of its own; a checkout or a project in the machine's is shown. */
function topOfTmp(path: string): string[] {
  const [, tmp, top] = path.split(sep);
  return path.startsWith(sep) && tmp === "tmp" && top !== undefined && top !== ""
    ? [join("/tmp", top)]
    : [];
}

/** The command line of a container engine needs its socket. What it starts has the isolation of a container, and no socket. */
function engineSockets(command: string): string[] {
  const uid = process.getuid?.() ?? 0;
  const name = command.split(sep).at(-1);
  if (name === "docker")
    return ["/run/docker.sock", `/run/user/${uid}/docker.sock`, join(homedir(), ".docker")];
  if (name === "podman") return ["/run/podman", `/run/user/${uid}`];
  return [];
}

/** Caches of npx, uvx and others: each server has its own, so that none changes the program of another one. */
function cachesIn(directory: string): Record<string, string> {
  return {
    npm_config_cache: join(directory, "npm"),
    XDG_CACHE_HOME: join(directory, "cache"),
    UV_PYTHON_INSTALL_DIR: join(directory, "python"),
    UV_TOOL_DIR: join(directory, "tools"),
    DENO_DIR: join(directory, "deno"),
    BUN_INSTALL_CACHE_DIR: join(directory, "bun"),
  };
}

/**
 * The isolation for a broker that is root: the user may neither read the broker's files, nor look into its process or signal it.
 */
async function asOwnUser({ env, stateDir }: IsolationOptions, server: Stdio): Promise<Program> {
  const user = await ownUser(stateDir, server.id);
  const { variables } = await childEnvironment({ env, stateDir, server: server.id });
  const { id } = user;
  return { ...programOf(server, { ...variables, HOME: user.home }), userId: id };
}

function notTrusted(cause: SandboxError): SandboxError {
  return new SandboxError(
    `it is not marked as trusted, and nothing here keeps it from the broker's keys and the secrets of other servers: ${cause.message}. Permit user namespaces to the broker, or run the server in a container of its own and name its "url", or write "trusted": true in its entry`,
    { cause },
  );
}

interface ChildEnvironment {
  readonly variables: Readonly<Record<string, string>>;
  /** The directory that was made for this server because the broker has no home of its own; null where HOME is the broker's. */
  readonly privateHome: string | null;
}

/**
 * The initial variables of a server's process: only {@link PROGRAM_VARIABLES} of the broker's environment, since the rest holds the keys
 * of models and of other servers. HOME is always set, since programs without it write to a directory named
 * `~` or fail: it is the broker's where the broker may write there, else a directory of the server's own below `stateDir`.
 */
export async function childEnvironment({
  env,
  stateDir,
  server,
}: {
  env: Readonly<Record<string, string | undefined>>;
  stateDir: string;
  server: string;
}): Promise<ChildEnvironment> {
  const passed = PROGRAM_VARIABLES.flatMap((name): [string, string][] => {
    const value = env[name];
    return value === undefined || value === "" ? [] : [[name, value]];
  });
  const variables = { PATH: "", ...Object.fromEntries(passed) };
  if (await isWritable(env["HOME"])) return { variables, privateHome: null };
  const privateHome = join(stateDir, "mcp-homes", server);
  await mkdir(privateHome, { recursive: true, mode: 0o700 });
  return { variables: { ...variables, HOME: privateHome }, privateHome };
}

async function isWritable(directory: string | undefined): Promise<boolean> {
  if (directory === undefined || !isAbsolute(directory)) return false;
  return access(directory, constants.W_OK).then(
    () => true,
    () => false,
  );
}
