import { join } from "node:path";

export const MCP_CLIENTS = ["claude", "codex", "gemini", "opencode", "cursor", "vscode"] as const;
export type McpClient = (typeof MCP_CLIENTS)[number];

/** The file of this program's token when the client starts; no file contains the token itself. */
export const TOKEN_VARIABLE = "YARD_HTTP_TOKEN";
const INPUT = "switchyard-token";

export interface ClientFormat {
  readonly title: string;
  /** Its file: of the project that is the working directory, else of the person. */
  readonly file: (place: { cwd: string; home: string; env: NodeJS.ProcessEnv }) => string;
  readonly syntax: "json" | "toml";
  /** The key that holds the servers. */
  readonly servers: string;
  /** The entry that reaches Switchyard's MCP endpoint. */
  readonly entry: (url: string) => Record<string, unknown>;
  /** Other required parts of the file: items of lists, by the list's key. */
  readonly items?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

const bearer = (reference: string): Record<string, string> => ({
  Authorization: `Bearer ${reference}`,
});

/** The formats that the clients' own documentation describes. */
export const CLIENT_FORMATS: Readonly<Record<McpClient, ClientFormat>> = {
  claude: {
    title: "Claude Code",
    file: ({ cwd }) => join(cwd, ".mcp.json"),
    syntax: "json",
    servers: "mcpServers",
    entry: (url) => ({ type: "http", url, headers: bearer(`\${${TOKEN_VARIABLE}}`) }),
  },
  codex: {
    title: "Codex",
    file: ({ home, env }) => join(env["CODEX_HOME"] ?? join(home, ".codex"), "config.toml"),
    syntax: "toml",
    servers: "mcp_servers",
    entry: (url) => ({ url, bearer_token_env_var: TOKEN_VARIABLE }),
  },
  gemini: {
    title: "Gemini CLI",
    file: ({ home, env }) => join(env["GEMINI_CLI_HOME"] ?? home, ".gemini", "settings.json"),
    syntax: "json",
    servers: "mcpServers",
    entry: (url) => ({ httpUrl: url, headers: bearer(`$${TOKEN_VARIABLE}`) }),
  },
  opencode: {
    title: "opencode",
    file: ({ cwd }) => join(cwd, "opencode.json"),
    syntax: "json",
    servers: "mcp",
    entry: (url) => ({ type: "remote", url, headers: bearer(`{env:${TOKEN_VARIABLE}}`) }),
  },
  cursor: {
    title: "Cursor",
    file: ({ cwd }) => join(cwd, ".cursor", "mcp.json"),
    syntax: "json",
    servers: "mcpServers",
    entry: (url) => ({ url, headers: bearer(`\${env:${TOKEN_VARIABLE}}`) }),
  },
  vscode: {
    title: "VS Code",
    file: ({ cwd }) => join(cwd, ".vscode", "mcp.json"),
    syntax: "json",
    servers: "servers",
    entry: (url) => ({ type: "http", url, headers: bearer(`\${input:${INPUT}}`) }),
    // VS Code prompts for it once and stores it as a secret.
    items: {
      inputs: {
        type: "promptString",
        id: INPUT,
        description: `Token of Switchyard (${TOKEN_VARIABLE})`,
        password: true,
      },
    },
  },
};
