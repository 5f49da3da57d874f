import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { CodingCli } from "../../services/agent-runner/test-fixtures/coding-clis.ts";

/** How an MCP server is started. */
interface Server {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

interface Client {
  /** Below an empty home directory. */
  readonly files: Readonly<Record<string, string>>;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

const PROMPT = "Use the tools.";
const SERVER = "switchyard";
const TIMEOUT_MS = 180_000;

/** Each client with its own model at `url`, and our server in its own configuration. */
const CLIENTS: Readonly<
  Record<CodingCli["cli"], (about: { url: string; server: Server; home: string }) => Client>
> = {
  claude: ({ url, server, home }) => ({
    files: {
      "mcp.json": JSON.stringify({ mcpServers: { [SERVER]: { type: "stdio", ...server } } }),
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
        `[mcp_servers.${SERVER}]\ncommand = ${JSON.stringify(server.command)}\nargs = ${JSON.stringify(server.args)}`,
        'default_tools_approval_mode = "approve"\nrequired = true\nstartup_timeout_sec = 60',
        `[mcp_servers.${SERVER}.env]`,
        ...Object.entries(server.env).map(([name, value]) => `${name} = ${JSON.stringify(value)}`),
      ].join("\n"),
    },
    args: ["exec", "--json", "--skip-git-repo-check", PROMPT],
    env: { CODEX_HOME: join(home, "codex"), FAKE_KEY: "sk-fake" },
  }),
  gemini: ({ url, server }) => ({
    files: {
      ".gemini/settings.json": JSON.stringify({
        security: { auth: { selectedType: "gemini-api-key" } },
        general: { enableAutoUpdate: false },
        telemetry: { enabled: false },
        privacy: { usageStatisticsEnabled: false },
        mcpServers: { [SERVER]: { ...server, trust: true } },
      }),
    },
    args: ["-p", PROMPT, "-m", "gemini-2.5-flash", "--output-format", "stream-json"],
    env: {
      GEMINI_CLI_TRUST_WORKSPACE: "true",
      GEMINI_API_KEY: "fake",
      GOOGLE_GEMINI_BASE_URL: url,
    },
  }),
  opencode: ({ url, server: { command, args, env } }) => ({
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
          [SERVER]: { type: "local", command: [command, ...args], environment: env, enabled: true },
        },
      }),
    },
    args: ["run", "--format", "json", PROMPT],
    env: { OPENCODE_DISABLE_AUTOUPDATE: "1", OPENCODE_DISABLE_MODELS_FETCH: "1" },
  }),
};

/** Runs a coding CLI once, as somebody has it who has added our server to its configuration. */
export async function runOutsideClient(
  cli: CodingCli["cli"],
  program: string,
  about: { readonly url: string; readonly server: Server; readonly home: string },
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
