import { delimiter, dirname, join, resolve } from "node:path";
import { cipherKeyFile } from "../cipher-keys.ts";
import { seedFile } from "../nkey-seed.ts";
import { HOME, type StateDirectory } from "../locations.ts";
import { redisLogin } from "../redis-login.ts";
import { isLogLevel, isQuieter } from "./log-line.ts";
import type { Project } from "./project.ts";
import type { ServiceSpec } from "./service-process.ts";

export interface ServicePlanOptions {
  readonly state: StateDirectory;
  readonly project: Project;
  /** Where skills and agents come from, as the importer reads it. */
  readonly skillRoots: string;
  readonly workspace: string;
  readonly runners: number;
  readonly natsUrl: string;
  readonly redisUrl: string;
  /** True when we started it, with a user for each service. */
  readonly redisIsOurs: boolean;
  readonly runTokenKeyFile: string;
  /** Encrypts logins at MCP servers, where the environment has no key for that. */
  readonly loginKey: string;
  /** Holds the token with which the person is `cli` over HTTP. */
  readonly laptopTokenFile: string;
  /** What sandboxes are made with; null where there is none. */
  readonly bubblewrap: string | null;
  /** The folder of the built console; null where it could not be built. */
  readonly console: string | null;
  /** Our own environment: model keys and the variables that MCP servers refer to come from there. */
  readonly env: NodeJS.ProcessEnv;
}

/** Less than the patience of whoever pressed Ctrl-C. */
const DRAIN_MS = 10_000;

/** The services in the order of their start: each needs only those before it. */
export function servicePlan(options: ServicePlanOptions): ServiceSpec[] {
  const { state, project, workspace, runners, env } = options;
  const models = project.modelsFile === null ? {} : { YARD_MODELS_FILE: project.modelsFile };
  const bubblewrap = options.bubblewrap === null ? {} : { YARD_BWRAP_BIN: options.bubblewrap };
  const hidden = { YARD_PRIVATE_PATHS: state.privatePaths.join(delimiter) };
  return [
    service(options, "policy", "policy", "policy", {
      YARD_POLICY_FILE: project.policyFile,
      YARD_RUN_TOKEN_KEY_FILE: options.runTokenKeyFile,
      YARD_APPROVE_OWN: ownApprovals(env),
      YARD_LAPTOP_TOKEN_FILE: options.laptopTokenFile,
    }),
    service(options, "importer", "importer", "skill-importer", {
      YARD_SKILL_ROOTS: options.skillRoots,
      YARD_IMPORT_WATCH: "1",
      ...scanFiles(env),
    }),
    service(options, "broker", "broker", "mcp-broker", {
      ...withoutOurs(env),
      ...bubblewrap,
      ...hidden,
      // The servers are those of the person: where nothing isolates them they run as in other MCP clients.
      YARD_MCP_SANDBOX: chosen(env, "YARD_MCP_SANDBOX") ?? "prefer",
      YARD_MCP_TOKEN_KEY: chosen(env, "YARD_MCP_TOKEN_KEY") ?? options.loginKey,
      YARD_MCP_SERVERS_FILE: project.mcpServersFile,
      // Servers of a laptop are on the laptop.
      YARD_MCP_ALLOW_PRIVATE_HOSTS: chosen(env, "YARD_MCP_ALLOW_PRIVATE_HOSTS") ?? "loopback",
      YARD_STATE_DIR: state.brokerState,
      YARD_HOME: HOME,
      YARD_WORKSPACE: workspace,
    }),
    service(options, "toolbox", "toolbox", "toolbox", {
      YARD_WORKSPACE: workspace,
      // For gateway_*, which the policy gives to owners alone.
      YARD_CONFIG_DIR: project.directory,
      // Read when it is there.
      YARD_TOOLS_FILE: join(project.directory, "tools.json"),
      // A sandbox shows the system's own directories, and need not show those of the person.
      YARD_COMMAND_PATH: personsPath(chosen(env, "PATH") ?? "") + delimiter + COMMAND_PATH,
      ...pick(env, TOOLBOX_SETTINGS),
      ...bubblewrap,
      ...hidden,
    }),
    ...Array.from({ length: runners }, (_, index) =>
      service(options, runners === 1 ? "runner" : `runner-${index + 1}`, "runner", "agent-runner", {
        ...withoutOurs(env),
        ...models,
        ...bubblewrap,
        ...hidden,
        // Another installation may have a run of the same name.
        YARD_RUNTIME_DIR: chosen(env, "YARD_RUNTIME_DIR") ?? join(state.path, "runtimes"),
      }),
    ),
    service(options, "channels", "channels", "channels", {
      // Tokens of bots are in the person's environment.
      ...withoutOurs(env),
      ...(project.channelsFile !== null && { YARD_CHANNELS_FILE: project.channelsFile }),
      // What `yard channels login` brings.
      YARD_CHANNELS_SECRETS_FILE: join(state.keys, "channels.env"),
      YARD_CHANNELS_LOOPBACK: "cli",
    }),
    service(options, "scheduler", "scheduler", "scheduler", {
      ...pick(env, SCHEDULER_SETTINGS),
      ...(project.triggersFile !== null && { YARD_TRIGGERS_FILE: project.triggersFile }),
      // What a laptop tells the end of a job is on the laptop.
      YARD_SCHEDULES_ALLOW_PRIVATE_HOSTS:
        chosen(env, "YARD_SCHEDULES_ALLOW_PRIVATE_HOSTS") ?? "loopback",
    }),
    service(options, "gateway", "gateway", "gateway", {
      ...hooksFor(project, env),
      ...pick(env, GATEWAY_SETTINGS),
      YARD_WEBHOOKS_KEY_FILE: cipherKeyFile(state.keys, "webhooks"),
      // What a laptop is told is on the laptop.
      YARD_WEBHOOKS_ALLOW_PRIVATE_HOSTS:
        chosen(env, "YARD_WEBHOOKS_ALLOW_PRIVATE_HOSTS") ?? "loopback",
      ...(options.console !== null && { YARD_CONSOLE_DIR: options.console }),
    }),
  ];
}

const COMMAND_PATH = "/usr/local/bin:/usr/bin:/bin";
/** What a person may set for the toolbox of their own machine. */
const TOOLBOX_SETTINGS = [
  "YARD_COMMAND_PATH",
  "YARD_SANDBOX",
  "YARD_SANDBOX_NETWORK",
  "YARD_SANDBOX_READABLE",
  "YARD_TOOLBOX_MODE",
  "YARD_WEB_ALLOW_PRIVATE_HOSTS",
];

const GATEWAY_SETTINGS = [
  "YARD_HTTP_PORT",
  "YARD_HTTP_REQUESTS_PER_MINUTE",
  "YARD_HTTP_STREAMS",
  "YARD_HTTP_UNKNOWN_RUN_MS",
  "YARD_WEBHOOKS_PER_CALLER",
  "YARD_WEBHOOKS_RETRY_MS",
  "YARD_WEBHOOKS_DISABLE_AFTER_MS",
];

/** The file of webhooks, and of the person's environment what it names and no more. */
function hooksFor({ hooks }: Project, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  if (hooks === null) return {};
  return { ...pick(withoutOurs(env), hooks.variables), YARD_HOOKS_FILE: hooks.file };
}

const SCHEDULER_SETTINGS = [
  // A benchmark looks into its memory.
  "NODE_OPTIONS",
  "YARD_SCHEDULES_AGENT",
  "YARD_SCHEDULES_PER_CALLER",
  "YARD_SCHEDULES_HEARTBEAT_MS",
  "YARD_SCHEDULES_ALERT_AFTER",
];

// oxlint-disable-next-line max-params -- three names of one thing: in the log, on the bus, in the repository
function service(
  options: ServicePlanOptions,
  name: string,
  user: string,
  directory: string,
  own: NodeJS.ProcessEnv,
): ServiceSpec {
  const redis = redisLogin({
    url: options.redisUrl,
    isOurs: options.redisIsOurs,
    keys: options.state.keys,
    user,
  });
  return {
    name,
    entry: join(HOME, "services", directory, "src", "main.ts"),
    cwd: options.workspace,
    env: {
      ...basics(options.env),
      ...own,
      PATH: personsPath(options.env["PATH"] ?? ""),
      YARD_NATS_URL: options.natsUrl,
      YARD_NATS_NKEY_FILE: seedFile(options.state.keys, user),
      YARD_REDIS_URL: redis.url,
      ...(redis.passwordFile === null ? {} : { YARD_REDIS_PASSWORD_FILE: redis.passwordFile }),
      YARD_HEALTH_PORT: "0",
      YARD_DRAIN_MS: String(DRAIN_MS),
      // Whoever ends for that is started again.
      YARD_RESTARTS: "1",
    },
  };
}

/** Which of its own calls the user of the machine may approve: on a laptop one person starts, calls and approves. */
export function ownApprovals(env: NodeJS.ProcessEnv): string {
  return chosen(env, "YARD_APPROVE_OWN") ?? "all";
}

/** Files of the person's own for the scanner. The services have another working directory than the person. */
function scanFiles(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const names = ["YARD_SCAN_INDICATORS", "YARD_SCAN_SUPPRESSIONS"];
  return Object.fromEntries(
    names.flatMap((name) => {
      const path = chosen(env, name);
      return path === undefined ? [] : [[name, resolve(path)]];
    }),
  );
}

/**
 * The person's own PATH: `npx`, native modules of MCP servers and the commands of agents work with the Node.js that they were installed for, which need
 * not be ours. Ours comes last, for a machine that has none; npm scripts put it first.
 */
function personsPath(path: string): string {
  const ours = new Set([dirname(process.execPath), join(HOME, "node_modules", ".bin")]);
  const own = path.split(delimiter).filter((entry) => entry !== "" && !ours.has(entry));
  return [...own, dirname(process.execPath)].join(delimiter);
}

/** What every process needs. Services that start nothing and ask no model get no more: our environment holds API keys. */
function basics(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
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
  ];
  const forAll = Object.keys(env).filter((name) => /^(?:OTEL|YARD_AUDIT)(?:_|$)/.test(name));
  const level = isLogLevel(env["YARD_LOG_LEVEL"]) ? env["YARD_LOG_LEVEL"] : "info";
  return {
    ...pick(env, [
      ...system,
      ...forAll,
      "YARD_REDIS_PASSWORD_FILE",
      "YARD_REDIS_SENTINEL_PASSWORD_FILE",
    ]),
    // Never quieter than info: that a service is ready, and where, is such a line.
    YARD_LOG_LEVEL: isQuieter("info", level) ? level : "info",
  };
}

/** The person's environment without the variables that configure Switchyard itself. */
function withoutOurs(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return pick(
    env,
    Object.keys(env).filter((name) => !OURS.has(name)),
  );
}

/**
 * Set for each service by us, or left at its default: whatever the person has there is meant for the command
 * line, and replicas that share an address or a name could not be told apart.
 */
const OURS = new Set([
  "YARD_NATS_URL",
  "YARD_NATS_NKEY_FILE",
  "YARD_USER",
  "YARD_REDIS_URL",
  "YARD_REDIS_PASSWORD_FILE",
  "YARD_REDIS_SENTINEL_PASSWORD_FILE",
  "YARD_STATE_DIR",
  "YARD_LOG_LEVEL",
  "YARD_INSTANCE",
  "YARD_HEALTH_HOST",
  "YARD_HTTP_PORT",
  "YARD_HEALTH_PORT",
  "YARD_PRIVATE_PATHS",
]);

/** An empty variable counts as unset, as in the services. */
function chosen(env: NodeJS.ProcessEnv, name: string): string | undefined {
  const value = env[name];
  return value === "" ? undefined : value;
}

function pick(env: NodeJS.ProcessEnv, names: readonly string[]): NodeJS.ProcessEnv {
  return Object.fromEntries(
    names.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])),
  );
}
