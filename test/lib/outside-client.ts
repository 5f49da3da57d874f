import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { CodingCli } from "../../services/agent-runner/test-fixtures/coding-clis.ts";
import {
  startModelServer,
  type ModelServer,
} from "../../services/agent-runner/test-fixtures/model-server.ts";

/** The command of an MCP server, or its URL. */
export type OutsideServer =
  | {
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
    }
  | { readonly url: string; readonly key: string };

interface Client {
  /** Below an empty home directory. */
  readonly files: Readonly<Record<string, string>>;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

const PROMPT = "Use the tools.";
const SERVER = "switchyard";
/** For configurations that name a variable, and read the key from it. */
const KEY_VARIABLE = "SWITCHYARD_KEY";
const TIMEOUT_MS = 180_000;

/** Each client with its own model at `url`, and our server in its own configuration. */
const CLIENTS: Readonly<
  Record<CodingCli["cli"], (about: { url: string; server: OutsideServer; home: string }) => Client>
> = {
  claude: ({ url, server, home }) => ({
    files: {
      "mcp.json": JSON.stringify({
        mcpServers: {
          [SERVER]:
            "url" in server
              ? { type: "http", url: server.url, headers: headersOf(server) }
              : { type: "stdio", ...server },
        },
      }),
    },
    args: [
      "--mcp-config",
      join(home, "mcp.json"),
      ...`-p --strict-mcp-config --allowedTools mcp__${SERVER} --output-format stream-json --verbose --model claude-sonnet-4-5`.split(
        " ",
      ),
      PROMPT,
    ],
    env: {
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: "sk-fake",
      ENABLE_TOOL_SEARCH: "false",
      DISABLE_AUTOUPDATER: "1",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    },
  }),
  codex: ({ url, server, home }) => ({
    files: {
      "codex/config.toml": [
        'model = "fake"\nmodel_provider = "fake"\napproval_policy = "never"\nsandbox_mode = "read-only"',
        "analytics.enabled = false\ncheck_for_update_on_startup = false",
        `[model_providers.fake]\nname = "fake"\nbase_url = "${url}"\nenv_key = "FAKE_KEY"\nwire_api = "responses"`,
        `[mcp_servers.${SERVER}]`,
        'default_tools_approval_mode = "approve"\nrequired = true\nstartup_timeout_sec = 60',
        ...("url" in server
          ? [`url = "${server.url}"\nbearer_token_env_var = "${KEY_VARIABLE}"`]
          : [
              `command = ${JSON.stringify(server.command)}\nargs = ${JSON.stringify(server.args)}`,
              `[mcp_servers.${SERVER}.env]`,
              ...Object.entries(server.env).map(
                ([name, value]) => `${name} = ${JSON.stringify(value)}`,
              ),
            ]),
      ].join("\n"),
    },
    args: ["exec", "--json", "--skip-git-repo-check", PROMPT],
    env: {
      CODEX_HOME: join(home, "codex"),
      FAKE_KEY: "sk-fake",
      ...("url" in server && { [KEY_VARIABLE]: server.key }),
    },
  }),
  gemini: ({ url, server }) => ({
    files: {
      ".gemini/settings.json": JSON.stringify({
        security: { auth: { selectedType: "gemini-api-key" } },
        general: { enableAutoUpdate: false },
        telemetry: { enabled: false },
        privacy: { usageStatisticsEnabled: false },
        mcpServers: {
          [SERVER]: {
            ...("url" in server ? { httpUrl: server.url, headers: headersOf(server) } : server),
            trust: true,
          },
        },
      }),
    },
    args: ["-p", PROMPT, "-m", "gemini-2.5-flash", "--output-format", "stream-json"],
    env: {
      GEMINI_CLI_TRUST_WORKSPACE: "true",
      GEMINI_API_KEY: "fake",
      GOOGLE_GEMINI_BASE_URL: url,
    },
  }),
  opencode: ({ url, server }) => ({
    files: {
      "opencode.json": JSON.stringify({
        model: "fake/fake",
        small_model: "fake/fake",
        autoupdate: false,
        share: "disabled",
        provider: {
          fake: {
            npm: "@ai-sdk/openai-compatible",
            options: { baseURL: url, apiKey: "sk-fake" },
            models: { fake: { tool_call: true, limit: { context: 128_000, output: 4_096 } } },
          },
        },
        mcp: {
          [SERVER]:
            "url" in server
              ? { type: "remote", url: server.url, headers: headersOf(server), enabled: true }
              : {
                  type: "local",
                  command: [server.command, ...server.args],
                  environment: server.env,
                  enabled: true,
                },
        },
      }),
    },
    args: ["run", "--format", "json", PROMPT],
    env: { OPENCODE_DISABLE_AUTOUPDATE: "1", OPENCODE_DISABLE_MODELS_FETCH: "1" },
  }),
};

function headersOf({ key }: { readonly key: string }): Readonly<Record<string, string>> {
  return { Authorization: `Bearer ${key}` };
}

/** Runs a coding CLI once, with our server in its configuration as a person would add it. */
export async function runOutsideClient(
  cli: CodingCli["cli"],
  program: string,
  about: { readonly url: string; readonly server: OutsideServer; readonly home: string },
): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }> {
  const { files, args, env } = CLIENTS[cli](about);
  const { home } = about;
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(home, path, ".."), { recursive: true });
    await writeFile(join(home, path), text, { mode: 0o600 });
  }
  const PATH = process.env["PATH"] ?? "";
  return new Promise((resolve) => {
    const child = execFile(
      program,
      args,
      { cwd: home, env: { PATH, HOME: home, TERM: "dumb", ...env }, timeout: TIMEOUT_MS },
      (_error, stdout, stderr) => resolve({ code: child.exitCode, stdout, stderr }),
    );
    child.stdin?.end();
  });
}

/**
 * A model that lists agents, requests a history that is denied, and then a call that needs an approval, which `approve` gives. It
 * answers "All done." when that call was made.
 */
export async function startToolUser(
  { toolName }: Pick<CodingCli, "toolName">,
  approve: () => Promise<void>,
): Promise<ModelServer> {
  const model = await startModelServer();
  let approving: Promise<void> | undefined;
  let calls = 0;
  const asks = (name: string, args = "{}") => {
    calls += 1;
    return { calls: [{ id: `call_${calls}`, args, ...toolName(name) }] };
  };
  model.answerBy(async (body) => {
    const said = JSON.stringify(body);
    if (!said.includes("sessions_history")) return { text: ["A title"] };
    if (said.includes("Memory belongs to an agent")) return { text: ["All done."] };
    if (said.includes("this one is closed")) {
      // Over HTTP the call does not wait: it is repeated after the approval.
      await approving;
      approving ??= approve();
      return asks("memory_read", '{"name":"x"}');
    }
    if (said.includes("allowAny")) return asks("sessions_history", '{"sessionKey":"secret"}');
    return asks("agents_list");
  });
  return model;
}
