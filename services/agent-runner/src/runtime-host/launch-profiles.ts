import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { DriverOptions } from "./driver.ts";
import type { Cli } from "./host-protocol.ts";
import { SERVER_NAME } from "./tool-bridge.ts";

export interface Launched {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

type Profile = (options: DriverOptions) => Promise<Launched>;

/** The limit for a call that waits for a person and for its tool; the runner has limits of its own. */
const DAY_MS = 86_400_000;

/** The launch of each CLI: its own tools switched off as far as it allows, and no file outside the run's directory. */
const PROFILES: Readonly<Record<Cli, Profile>> = {
  acp: ({ start }) => Promise.resolve({ args: [], env: acpModel(start) }),
  claude,
  codex,
  gemini,
  opencode,
};

/** The arguments and the whole environment of a CLI. */
export async function launchOf(options: DriverOptions): Promise<Launched> {
  const { start, home } = options;
  const { args, env } = await PROFILES[start.cli](options);
  const PATH = process.env["PATH"] ?? "";
  const common = { PATH, LANG: "C.UTF-8", TERM: "dumb", HOME: home };
  return { args, env: { ...common, ...env, ...start.env } };
}

/** Returns variables for an agent of the operator's own: the configured model, under our names. */
function acpModel({ model, apiKey, baseURL }: DriverOptions["start"]): Record<string, string> {
  return defined({
    SWITCHYARD_MODEL: model,
    SWITCHYARD_MODEL_KEY: apiKey,
    SWITCHYARD_MODEL_URL: baseURL,
  });
}

async function claude({ start, bridge: door, home }: DriverOptions): Promise<Launched> {
  // It has no less than low.
  const effort = start.thinking === "none" || start.thinking === "minimal" ? "low" : start.thinking;
  const config = join(home, "mcp.json");
  const server = { type: "stdio", ...door, timeout: DAY_MS };
  await writePrivate(config, JSON.stringify({ mcpServers: { [SERVER_NAME]: server } }));
  const flags = `-p --input-format stream-json --output-format stream-json --verbose --include-partial-messages --restricted --strict-mcp-config --disable-slash-commands`;
  return {
    args: [
      ...flags.split(" "),
      "--tools",
      "",
      "--allowedTools",
      `mcp__${SERVER_NAME}`,
      "--mcp-config",
      config,
      ...(start.model === null ? [] : ["--model", start.model]),
      ...(effort === null ? [] : ["--effort", effort]),
    ],
    env: defined({
      CLAUDE_CONFIG_DIR: join(home, "claude"),
      ANTHROPIC_API_KEY: start.apiKey,
      ANTHROPIC_BASE_URL: start.baseURL,
      ENABLE_TOOL_SEARCH: "false",
      DISABLE_AUTOUPDATER: "1",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      CLAUDE_CODE_MCP_ALLOWLIST_ENV: "1",
      CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT: "0",
    }),
  };
}

const CODEX_OFF =
  "shell_tool unified_exec view_image goals plugins remote_plugin apps hooks image_generation tool_suggest skill_search sleep_tool shell_snapshot browser_use in_app_browser computer_use skill_mcp_dependency_install";

async function codex({ start, bridge: door, home }: DriverOptions): Promise<Launched> {
  const provider =
    start.baseURL === null && start.apiKey === null
      ? []
      : [
          '[model_providers.configured]\nname = "configured"\nwire_api = "responses"',
          `base_url = ${quote(start.baseURL ?? "https://api.openai.com/v1")}`,
          ...(start.apiKey === null ? [] : ['env_key = "SWITCHYARD_MODEL_KEY"']),
        ];
  const config = [
    ...(provider.length === 0 ? [] : ['model_provider = "configured"']),
    ...(start.model === null ? [] : [`model = ${quote(start.model)}`]),
    ...(start.thinking === null ? [] : [`model_reasoning_effort = ${quote(start.thinking)}`]),
    'approval_policy = "never"\nsandbox_mode = "read-only"\nweb_search = "disabled"',
    "project_doc_max_bytes = 0\ncheck_for_update_on_startup = false",
    "analytics.enabled = false\nagents.enabled = false",
    `[features]\n${CODEX_OFF.split(" ")
      .map((name) => `${name} = false`)
      .join("\n")}`,
    ...provider,
    `[mcp_servers.${SERVER_NAME}]\ncommand = ${quote(door.command)}\nargs = ${quote(door.args)}`,
    'required = true\ntool_timeout_sec = 86400\ndefault_tools_approval_mode = "approve"',
    `[mcp_servers.${SERVER_NAME}.env]`,
    ...Object.entries(door.env).map(([name, value]) => `${name} = ${quote(value)}`),
  ];
  const codexHome = join(home, "codex");
  await writePrivate(join(codexHome, "config.toml"), `${config.join("\n")}\n`);
  return {
    args: ["app-server"],
    env: defined({ CODEX_HOME: codexHome, SWITCHYARD_MODEL_KEY: start.apiKey }),
  };
}

const GEMINI_OFF =
  "run_shell_command write_file replace read_file read_many_files list_directory glob grep_search google_web_search web_fetch save_memory write_todos ask_user enter_plan_mode exit_plan_mode invoke_agent activate_skill update_topic list_background_processes read_background_output";

async function gemini({ start, home }: DriverOptions): Promise<Launched> {
  const off = { enabled: false };
  const settings = {
    security: { auth: { selectedType: "gemini-api-key" } },
    general: { enableAutoUpdate: false },
    telemetry: off,
    privacy: { usageStatisticsEnabled: false },
    hooksConfig: off,
    skills: off,
    experimental: { enableAgents: false },
  };
  await writePrivate(join(home, ".gemini", "settings.json"), JSON.stringify(settings));
  const policy = join(home, "policy.toml");
  const rules = GEMINI_OFF.split(" ").map(
    (name) => `[[rule]]\ntoolName = "${name}"\ndecision = "deny"\npriority = 999\n`,
  );
  await writePrivate(policy, rules.join("\n"));
  return {
    args: ["--acp", ...(start.model === null ? [] : ["-m", start.model]), "--policy", policy],
    env: defined({
      GEMINI_CLI_HOME: home,
      GEMINI_CLI_NO_RELAUNCH: "true",
      GEMINI_CLI_TRUST_WORKSPACE: "true",
      GEMINI_API_KEY: start.apiKey,
      GOOGLE_GEMINI_BASE_URL: start.baseURL,
    }),
  };
}

const OPENCODE_OFF =
  "DISABLE_PROJECT_CONFIG PURE DISABLE_DEFAULT_PLUGINS DISABLE_CLAUDE_CODE DISABLE_EXTERNAL_SKILLS DISABLE_AUTOUPDATE DISABLE_MODELS_FETCH DISABLE_LSP_DOWNLOAD";

async function opencode({ start, home }: DriverOptions): Promise<Launched> {
  const { model, baseURL, apiKey } = start;
  const options = defined({ baseURL, apiKey });
  const own =
    baseURL === null || model === null
      ? defined({ model })
      : {
          model: `configured/${model}`,
          provider: {
            configured: {
              npm: "@ai-sdk/openai-compatible",
              name: "configured",
              options,
              models: { [model]: { name: model } },
            },
          },
        };
  const config = {
    ...own,
    permission: { "*": "deny", [`${SERVER_NAME}_*`]: "allow" },
    experimental: { mcp_timeout: DAY_MS },
    share: "disabled",
    autoupdate: false,
  };
  const places = ["CONFIG", "DATA", "CACHE", "STATE"].map((name) => [
    `XDG_${name}_HOME`,
    join(home, name.toLowerCase()),
  ]);
  return {
    args: ["acp"],
    env: {
      OPENCODE_CONFIG_CONTENT: JSON.stringify(config),
      ...Object.fromEntries(places),
      ...Object.fromEntries(OPENCODE_OFF.split(" ").map((name) => [`OPENCODE_${name}`, "1"])),
    },
  };
}

/** Strings and lists of strings are written in TOML as in JSON. */
function quote(value: string | readonly string[]): string {
  return JSON.stringify(value);
}

function defined(values: Readonly<Record<string, string | null>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => (value === null ? [] : [[name, value]])),
  );
}

/** Writes a file that only this user may read. */
async function writePrivate(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await writeFile(path, text, { mode: 0o600 });
}
