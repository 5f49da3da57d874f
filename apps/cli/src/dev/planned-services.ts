import { delimiter, dirname, join, resolve } from "node:path";
import { RUNNER_USER } from "@switchyard/contracts/user-names";
import { DEMO_PROJECT, HOME, type StateDirectory } from "../locations.ts";
import { chosen, pick, withoutOurs } from "./persons-environment.ts";
import type { Project } from "./project.ts";

export interface PlannedOptions {
  readonly state: StateDirectory;
  readonly project: Project;
  /** Sources of skills and agents, in the form that the importer reads. */
  readonly skillRoots: string;
  readonly workspace: string;
  /** The program that makes sandboxes; null when there is none. */
  readonly bubblewrap: string | null;
  /** The folder of the built console; null where it could not be built. */
  readonly console: string | null;
  /** The port of HTTP at the last start; null for any free one. */
  readonly httpPort: number | null;
  /** Our own environment: model keys and the variables that MCP servers refer to come from there. */
  readonly env: NodeJS.ProcessEnv;
}

/** A service that is not assigned to a process yet. */
export interface Planned {
  /** Name in the log of `yard dev`. */
  readonly name: string;
  readonly user: string;
  /** Folder below `services`, and the name under which the service logs. */
  readonly directory: string;
  /** Variables of the person's environment that it receives unchanged. */
  readonly passed: NodeJS.ProcessEnv;
  /** Settings that `yard dev` chooses for it. */
  readonly own: NodeJS.ProcessEnv;
}

/** The services in the order of their start: each needs only those before it. */
export function plannedServices(options: PlannedOptions): Planned[] {
  const passed = withoutOurs(options.env);
  return SERVICES.map(({ name, user, directory, passes = false, own }) => ({
    name,
    user,
    directory,
    passed: passes ? passed : {},
    own: own(options),
  }));
}

interface ServiceRow extends Pick<Planned, "name" | "user" | "directory"> {
  /** True: it gets the person's environment, for keys and what its files name as `${VAR}`. */
  readonly passes?: boolean;
  readonly own: (options: PlannedOptions) => NodeJS.ProcessEnv;
}

const SERVICES: readonly ServiceRow[] = [
  {
    name: "policy",
    user: "policy",
    directory: "policy",
    own: ({ project, env }) => ({
      YARD_POLICY_FILE: project.policyFile,
      YARD_APPROVE_OWN: ownApprovals(env),
    }),
  },
  {
    name: "importer",
    user: "importer",
    directory: "skill-importer",
    own: ({ skillRoots, env }) => ({
      YARD_SKILL_ROOTS: skillRoots,
      ...scanFiles(env),
    }),
  },
  {
    name: "broker",
    user: "broker",
    directory: "mcp-broker",
    passes: true,
    own: (options) => {
      const { state, project, workspace, env } = options;
      return {
        ...isolationOf(options),
        // The servers are the person's own: without a sandbox they run as in other MCP clients.
        YARD_MCP_SANDBOX: chosen(env, "YARD_MCP_SANDBOX") ?? "prefer",
        YARD_MCP_SERVERS_FILE: project.mcpServersFile,
        // A laptop's HTTP servers are on the laptop.
        YARD_MCP_ALLOW_PRIVATE_HOSTS: chosen(env, "YARD_MCP_ALLOW_PRIVATE_HOSTS") ?? "loopback",
        YARD_STATE_DIR: state.servicesState,
        YARD_HOME: HOME,
        YARD_WORKSPACE: workspace,
      };
    },
  },
  {
    name: "toolbox",
    user: "toolbox",
    directory: "toolbox",
    own: (options) => {
      const { project, workspace, env } = options;
      return {
        YARD_WORKSPACE: workspace,
        // The gateway_* tools read it; the policy permits them to owners only.
        YARD_CONFIG_DIR: project.directory,
        // The file is optional.
        YARD_TOOLS_FILE: join(project.directory, "tools.json"),
        ...pick(env, TOOLBOX_SETTINGS),
        ...isolationOf(options),
      };
    },
  },
  {
    name: "runner",
    user: RUNNER_USER,
    directory: "agent-runner",
    passes: true,
    own: (options) => {
      const { state, project } = options;
      return {
        ...(project.modelsFile !== null && { YARD_MODELS_FILE: project.modelsFile }),
        ...isolationOf(options),
        // Another installation may have a run of the same name.
        YARD_STATE_DIR: state.servicesState,
      };
    },
  },
  {
    name: "channels",
    user: "channels",
    directory: "channels",
    // Tokens of bots are in the person's environment.
    passes: true,
    own: ({ project, env }) => ({
      ...pick(env, ["YARD_HTTP_URL"]),
      // The demo's file has an account to try messages with, for a project without accounts.
      YARD_CHANNELS_FILE: project.channelsFile ?? join(DEMO_PROJECT, "channels.json"),
    }),
  },
  {
    name: "scheduler",
    user: "scheduler",
    directory: "scheduler",
    own: ({ project, env }) => ({
      ...pick(env, ["YARD_SCHEDULES_AGENT"]),
      ...(project.triggersFile !== null && { YARD_TRIGGERS_FILE: project.triggersFile }),
      ...webhookHosts(env),
    }),
  },
  {
    name: "gateway",
    user: "gateway",
    directory: "gateway",
    own: (options) => {
      const { project, env } = options;
      return {
        ...hooksFor(project, env),
        ...(options.httpPort !== null && { YARD_HTTP_PORT: String(options.httpPort) }),
        ...pick(env, GATEWAY_SETTINGS),
        ...webhookHosts(env),
        ...(options.console !== null && { YARD_CONSOLE_DIR: options.console }),
      };
    },
  },
];

/** Webhooks about events and about the end of a job go to this machine. */
function webhookHosts(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const name = "YARD_WEBHOOKS_ALLOW_PRIVATE_HOSTS";
  return { [name]: chosen(env, name) ?? "loopback" };
}

/** The program that sandboxes are made with, and the paths that none of them may show. */
function isolationOf({ bubblewrap, state }: PlannedOptions): NodeJS.ProcessEnv {
  return {
    ...(bubblewrap !== null && { YARD_BIN_DIR: dirname(bubblewrap) }),
    YARD_PRIVATE_PATHS: state.privatePaths.join(delimiter),
  };
}

/** Lets the user of the machine approve calls of its own: on a laptop one person starts, calls and approves. */
export function ownApprovals(env: NodeJS.ProcessEnv): string {
  return chosen(env, "YARD_APPROVE_OWN") ?? "all";
}

/** Toolbox settings that a person may set on their own machine. */
const TOOLBOX_SETTINGS = [
  "YARD_SANDBOX",
  "YARD_SANDBOX_NETWORK",
  "YARD_SANDBOX_READABLE",
  "YARD_WEB_ALLOW_PRIVATE_HOSTS",
];

const GATEWAY_SETTINGS = [
  "YARD_A2A_AGENT",
  "YARD_HTTP_PORT",
  "YARD_HTTP_REQUESTS_PER_MINUTE",
  "YARD_HTTP_URL",
];

/** The file of webhooks, and only those variables of the person's environment that it names. */
function hooksFor({ hooks }: Project, env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  if (hooks === null) return {};
  return { ...pick(withoutOurs(env), hooks.variables), YARD_HOOKS_FILE: hooks.file };
}

/** The person's own files for the scanner. The services have another working directory than the person. */
function scanFiles(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const names = ["YARD_SCAN_INDICATORS", "YARD_SCAN_SUPPRESSIONS"];
  return Object.fromEntries(
    names.flatMap((name) => {
      const path = chosen(env, name);
      return path === undefined ? [] : [[name, resolve(path)]];
    }),
  );
}
