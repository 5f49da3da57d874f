import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** The directory of the repository, where services, examples and node_modules are. */
export const HOME = fileURLToPath(new URL("../../..", import.meta.url)).replace(/\/$/, "");

/** The files that `yard dev` keeps: data, keys, chosen ports, and the record of the running instance. */
export interface StateDirectory {
  readonly path: string;
  readonly instanceFile: string;
  readonly portsFile: string;
  readonly keys: string;
  readonly natsData: string;
  readonly redisData: string;
  /** State of the broker: the record of its child processes. */
  readonly brokerState: string;
}

/** `.yard` in the repository, or what YARD_STATE_DIR says. */
export function stateDirectory(env: NodeJS.ProcessEnv): StateDirectory {
  const chosen = env["YARD_STATE_DIR"];
  const path = chosen === undefined || chosen === "" ? join(HOME, ".yard") : resolve(chosen);
  return {
    path,
    instanceFile: join(path, "dev.json"),
    portsFile: join(path, "ports.json"),
    keys: join(path, "keys"),
    natsData: join(path, "data", "nats"),
    redisData: join(path, "data", "redis"),
    brokerState: join(path, "data", "broker"),
  };
}
