import { delimiter, dirname, join } from "node:path";
import { HOME } from "../locations.ts";
import { isLogLevel, isQuieter } from "./log-line.ts";

/**
 * The person's own PATH: `npx`, native modules of MCP servers and the commands of agents work with the Node.js that they were installed for, which need
 * not be ours. Ours comes last, for a machine that has none; npm scripts put it first.
 */
export function personsPath(path: string): string {
  const ours = new Set([dirname(process.execPath), join(HOME, "node_modules", ".bin")]);
  const own = path.split(delimiter).filter((entry) => entry !== "" && !ours.has(entry));
  return [...own, dirname(process.execPath)].join(delimiter);
}

/** Variables that every process needs. Services that start no program and call no model get only these: our environment holds API keys. */
export function basics(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  // NODE_COMPILE_CACHE: see the file `yard`.
  const system = [
    "PATH",
    "HOME",
    "TMPDIR",
    "TZ",
    "LANG",
    "LC_ALL",
    "NODE_EXTRA_CA_CERTS",
    "NODE_COMPILE_CACHE",
    // A benchmark preloads a script into the services.
    "NODE_OPTIONS",
  ];
  const forAll = Object.keys(env).filter((name) => /^(?:OTEL|YARD_AUDIT)(?:_|$)/.test(name));
  const level = isLogLevel(env["YARD_LOG_LEVEL"]) ? env["YARD_LOG_LEVEL"] : "info";
  return {
    ...pick(env, [...system, ...forAll]),
    // The level is at least info: the lines that report a service as ready, with its address, have that level.
    YARD_LOG_LEVEL: isQuieter("info", level) ? level : "info",
  };
}

/** The person's environment without the variables that configure Switchyard itself. */
export function withoutOurs(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return pick(
    env,
    Object.keys(env).filter((name) => !OURS.has(name) && !PICKED.test(name)),
  );
}

/**
 * Settings of services that receive only selected variables. In one process, variables that the person has set for another installation
 * would reach them, too.
 */
const PICKED =
  /^YARD_(?:ADMINS|APPROVALS?|APPROVE|APPROVERS|BIN|CHAT|COMMAND|CONFIG|CONSOLE|HOOKS|HTTP|IMPORT|IMPORTED|ISSUERS|KEYS|OIDC|POLICY|SANDBOX|SCAN|SCHEDULES|SKILL|TOOLBOX|TOOLS|TRIGGERS|USER_SESSION|WEB|WEBHOOKS|WORKSPACES?)(?:_|$)/;

/**
 * `yard dev` sets these for each service, or leaves the default: the person's values are meant for the command
 * line, and replicas that share an address or a name could not be distinguished.
 */
const OURS = new Set([
  "YARD_NATS_URL",
  "YARD_NATS_NKEY_FILE",
  "YARD_USER",
  "YARD_REDIS_URL",
  "YARD_STATE_DIR",
  "YARD_LOG_LEVEL",
  "YARD_HEALTH_PORT",
  "YARD_PRIVATE_PATHS",
]);

/** An empty variable counts as unset, as in the services. */
export function chosen(env: NodeJS.ProcessEnv, name: string): string | undefined {
  const value = env[name];
  return value === "" ? undefined : value;
}

export function pick(env: NodeJS.ProcessEnv, names: readonly string[]): NodeJS.ProcessEnv {
  return Object.fromEntries(
    names.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])),
  );
}
