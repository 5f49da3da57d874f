import { createHash } from "node:crypto";
import { homedir } from "node:os";
import { basename, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** The directory of the repository, where services, examples and node_modules are. */
export const HOME = fileURLToPath(new URL("../../..", import.meta.url)).replace(/\/$/, "");

/** The files that `yard dev` keeps: data, keys, chosen ports, and the record of the running instance. */
export interface StateDirectory {
  readonly path: string;
  readonly instanceFile: string;
  readonly portsFile: string;
  readonly keys: string;
  /** The operator's key, beside the directory of the others. */
  readonly operatorKey: string;
  readonly natsData: string;
  readonly redisData: string;
  /** The merged log of `yard dev`. */
  readonly logFile: string;
  /** State of the broker: the record of its child processes. */
  readonly brokerState: string;
  /** Paths that no program started by a service may see: data, keys and records of this installation. */
  readonly privatePaths: readonly string[];
}

/**
 * `.yard` in the repository, or YARD_STATE_DIR. The keys of the default directory are not in it but in the person's own state
 * directory: the workspace that agents read is the repository.
 */
export function stateDirectory(env: NodeJS.ProcessEnv): StateDirectory {
  const chosen = env["YARD_STATE_DIR"];
  const isChosen = chosen !== undefined && chosen !== "";
  const path = isChosen ? resolve(chosen) : join(HOME, ".yard");
  const own = isChosen ? path : join(privateDirectory(env), checkoutName());
  const keys = join(own, "keys");
  return {
    path,
    instanceFile: join(path, "dev.json"),
    portsFile: join(path, "ports.json"),
    keys,
    operatorKey: join(own, "operator.nk"),
    natsData: join(path, "data", "nats"),
    redisData: join(path, "data", "redis"),
    logFile: join(path, "logs", "dev.log"),
    brokerState: join(path, "data", "broker"),
    privatePaths: [...new Set([path, own])],
  };
}

/** The XDG state directory, https://specifications.freedesktop.org/basedir-spec/latest/. */
function privateDirectory(env: NodeJS.ProcessEnv): string {
  const chosen = env["XDG_STATE_HOME"];
  const base = chosen?.startsWith("/") ? chosen : join(homedir(), ".local", "state");
  return join(base, "switchyard");
}

/** Two checkouts have keys of their own. */
function checkoutName(): string {
  return `${basename(HOME)}-${createHash("sha256").update(HOME).digest("hex").slice(0, 12)}`;
}
