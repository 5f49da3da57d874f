import { createHash } from "node:crypto";
import { realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { basename, delimiter, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { shellWord } from "./shell-word.ts";

/** The directory of the repository, or of the package of npm, where services and examples are. */
export const HOME = fileURLToPath(new URL("../../..", import.meta.url)).replace(/\/$/, "");

/** True where npm has installed it. Nothing is written there: another person may own it, and an update removes it. */
export const IS_INSTALLED = HOME.includes(`${sep}node_modules${sep}`);

/** The files that `yard dev` keeps: data, keys, chosen ports, and the record of the running instance. */
export interface StateDirectory {
  readonly path: string;
  readonly instanceFile: string;
  readonly portsFile: string;
  readonly keys: string;
  /** The operator's key, beside the directory of the others. */
  readonly operatorKey: string;
  /** The directory in which older versions had the keys of a project; null when it never had them elsewhere. */
  readonly formerKeys: string | null;
  readonly natsData: string;
  readonly redisData: string;
  /** The merged log of `yard dev`. */
  readonly logFile: string;
  /** State of the services: records of the broker's child processes, and directories of runs of coding CLIs. */
  readonly servicesState: string;
  /** Paths that no program started by a service may see: data, keys and records of this installation. */
  readonly privatePaths: readonly string[];
}

/** The project of the demo. */
export const DEMO_PROJECT = join(HOME, "examples");

/** The folder of a project for its settings, and for its state, which Git ignores. */
export const STATE_FOLDER = ".switchyard";

/**
 * The project of a directory: the one that `YARD_PROJECT` or `CLAWFT_PROJECT` names, else the nearest one upwards [D43] that has a `.switchyard` or
 * `.clawft` directory, or `agents/`, `mcp-servers.json` and a policy, as `yard init` writes them. A `.git` alone makes nothing a
 * project, and neither the home directory [X33] nor this repository is one. Null outside of every project.
 */
export function projectAt(directory: string, env: NodeJS.ProcessEnv): string | null {
  const named = env["YARD_PROJECT"] ?? env["CLAWFT_PROJECT"];
  if (named !== undefined && isAbsolute(named)) return named;
  const home = env["HOME"] ?? homedir();
  for (let at = directory; at !== home && at !== HOME && at !== dirname(at); at = dirname(at))
    if (isProject(at)) return at;
  return null;
}

function isProject(directory: string): boolean {
  const has = (name: string): boolean =>
    statSync(join(directory, name), { throwIfNoEntry: false }) !== undefined;
  if (has(STATE_FOLDER) || has(".clawft")) return true;
  return has("agents") && has("mcp-servers.json") && (has("policies") || has("policy.yaml"));
}

/**
 * The state of a project: by default of the one that the working directory is in, outside of every project that of the demo. It is `.switchyard`
 * in the project, for the demo `.yard` of the repository or `demo` in the person's own state directory, or what YARD_STATE_DIR names. The keys are in it, but those of the
 * demo, whose agents read the repository: they are in the person's own state directory (decision 007).
 */
export function stateDirectory(
  env: NodeJS.ProcessEnv,
  project: string | null = projectAt(process.cwd(), env),
): StateDirectory {
  const chosen = env["YARD_STATE_DIR"];
  const isChosen = chosen !== undefined && chosen !== "";
  const root = project === null || project === DEMO_PROJECT ? HOME : project;
  const path = isChosen
    ? resolve(chosen)
    : root === HOME
      ? demoState(env)
      : join(root, STATE_FOLDER);
  const persons = join(privateDirectory(env), privateName(root));
  const own = isChosen || root !== HOME ? path : persons;
  const keys = join(own, "keys");
  return {
    path,
    instanceFile: join(path, "dev.json"),
    portsFile: join(path, "ports.json"),
    keys,
    operatorKey: join(own, "operator.nk"),
    formerKeys: isChosen || root === HOME ? null : join(persons, "keys"),
    natsData: join(path, "data", "nats"),
    redisData: join(path, "data", "redis"),
    logFile: join(path, "logs", "dev.log"),
    // The name is from when only the broker had state; what its servers downloaded is there.
    servicesState: join(path, "data", "broker"),
    privatePaths: [...new Set([path, own])],
  };
}

function demoState(env: NodeJS.ProcessEnv): string {
  return IS_INSTALLED ? join(privateDirectory(env), "demo") : join(HOME, ".yard");
}

/** The command by which a person calls `yard` from a directory: its path in a clone, since nothing puts it on PATH. */
export function yardFrom(directory: string): string {
  if (IS_INSTALLED) return packagedCommand(HOME, process.env["PATH"] ?? "");
  const program = join(HOME, "yard");
  const path = relative(directory, program);
  const isNear = !/^(?:\.\.\/){3}/.test(path);
  return shellWord(isNear ? (path.startsWith("..") ? path : `./${path}`) : program);
}

/** Without the scope npx would run a stranger's package where ours is not installed. */
const BY_NPX = "npx @switchyard/yard";

/**
 * The command of an installed package: `yard` where PATH leads to this very package, as after `npm install -g`. The folder that npx adds to PATH does not
 * count, because a person's shell does not have it.
 */
export function packagedCommand(home: string, path: string): string {
  for (const folder of path.split(delimiter)) {
    if (folder.endsWith(join("node_modules", ".bin"))) continue;
    const program = join(folder, "yard");
    if (statSync(program, { throwIfNoEntry: false })?.isFile() !== true) continue;
    return realpathSync(program).startsWith(home + sep) ? "yard" : BY_NPX;
  }
  return BY_NPX;
}

/** Replaces the command in a text, as it is in the package or in a clone, by the one that a person calls it by in the working directory. */
export function withOwnCommand(text: string): string {
  if (IS_INSTALLED) return text.includes(BY_NPX) ? text.replaceAll(BY_NPX, yardFrom("")) : text;
  return text.replaceAll(IN_CLONE, () => yardFrom(process.cwd()));
}

const IN_CLONE = /(?<![\w/.])\.\/yard(?= )/g;

/** The XDG state directory, https://specifications.freedesktop.org/basedir-spec/latest/. */
function privateDirectory(env: NodeJS.ProcessEnv): string {
  const chosen = env["XDG_STATE_HOME"];
  const base = chosen?.startsWith("/") ? chosen : join(homedir(), ".local", "state");
  return join(base, "switchyard");
}

/** Two projects have keys of their own, whatever their folders are called. */
function privateName(root: string): string {
  return `${basename(root)}-${createHash("sha256").update(root).digest("hex").slice(0, 12)}`;
}
