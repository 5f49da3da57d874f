import type { ServerDeclaration } from "@switchyard/contracts/mcp-broker/mcp-servers";
import type { McpClient } from "./client-formats.ts";

export interface DeclaredServer {
  readonly name: string;
  /** The declaration for Switchyard; null with a reason when the server cannot be imported. */
  readonly declaration: ServerDeclaration | null;
  readonly reason: string | null;
}

/** The servers in a client's file, as Switchyard declares them. Values that only the client could resolve are not imported. */
export function declaredServers(client: McpClient, servers: unknown): DeclaredServer[] {
  // The second form of opencode has one level more.
  const inner = isTable(servers) && isTable(servers["servers"]) ? servers["servers"] : servers;
  if (!isTable(inner)) return [];
  return Object.entries(inner).map(([name, entry]) => {
    const declaration = isTable(entry) ? declarationOf(client, entry) : {};
    const reason = reasonAgainst(name, declaration);
    return { name, declaration: reason === null ? declaration : null, reason };
  });
}

function reasonAgainst(name: string, declaration: ServerDeclaration): string | null {
  if (name === "switchyard") return "it is this installation";
  if (declaration["command"] === undefined && declaration["url"] === undefined)
    return "it has neither a command nor an address";
  const foreign = /\$\{(?:input|workspaceFolder|userHome|command):?[^}]*\}|\{file:[^}]*\}/.exec(
    JSON.stringify(declaration),
  );
  return foreign === null ? null : `only the client knows ${foreign[0]}`;
}

function declarationOf(client: McpClient, entry: Record<string, unknown>): ServerDeclaration {
  const words = Array.isArray(entry["command"]) ? entry["command"] : null;
  const command = words === null ? entry["command"] : words[0];
  const args = words === null ? entry["args"] : words.slice(1);
  const url = entry["httpUrl"] ?? entry["url"] ?? entry["serverUrl"];
  const env = entry["env"] ?? entry["environment"];
  const variable = entry["bearer_token_env_var"];
  const headers = {
    ...asTable(entry["headers"] ?? entry["http_headers"]),
    ...(typeof variable === "string" ? { Authorization: `Bearer \${${variable}}` } : {}),
  };
  const isSse = entry["type"] === "sse" || (client === "gemini" && entry["url"] !== undefined);
  const isOff = entry["enabled"] === false || entry["disabled"] === true;
  const declaration = {
    ...(command === undefined ? {} : { command }),
    ...(args === undefined ? {} : { args }),
    ...(url === undefined ? {} : { url }),
    ...(url !== undefined && isSse ? { transport: "sse" } : {}),
    ...(isTable(env) && Object.keys(env).length > 0 ? { env } : {}),
    ...(Object.keys(headers).length > 0 ? { headers } : {}),
    ...(isOff ? { enabled: false } : {}),
  };
  return withOurVariables(declaration);
}

/** `{env:A}`, `${env:A}` and `$A` of others are `${A}` here. */
function withOurVariables(value: ServerDeclaration): ServerDeclaration {
  const text = JSON.stringify(value)
    .replaceAll(/\$?\{env:([A-Za-z_]\w*)\}/g, "${$1}")
    .replaceAll(/\$([A-Za-z_]\w*)/g, "${$1}");
  return JSON.parse(text) as ServerDeclaration; // as it came, but for these words
}

function asTable(value: unknown): Record<string, unknown> {
  return isTable(value) ? value : {};
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
