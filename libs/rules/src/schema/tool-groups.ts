import { parseToolPattern, type ToolPattern } from "@switchyard/contracts/tool-patterns";

/**
 * Names for tools that belong together, for rules, profiles and layers. Their entries are tools
 * without a server, under the names that Switchyard's own providers and those of other runtimes use.
 */
export const TOOL_GROUPS = {
  fs: [
    "read_file",
    "write_file",
    "edit_file",
    "list_files",
    "list_directory",
    "search_files",
    "read",
    "write",
    "edit",
    "apply_patch",
  ],
  runtime: ["execute_command", "exec", "process"],
  web: ["web_fetch", "web_search"],
  memory: ["memory_*"],
  sessions: ["sessions_*", "session_status"],
  messaging: ["message", "message_*"],
  cron: ["cron", "cron_*"],
  gateway: ["gateway", "gateway_*"],
  automation: ["cron", "cron_*", "gateway", "gateway_*"],
  ui: ["canvas", "browser", "image"],
  nodes: ["nodes"],
  /** Every tool that is not an MCP server's. */
  switchyard: ["?*"],
  /** Every MCP tool. */
  mcp: ["mcp__*"],
} as const satisfies Record<string, readonly string[]>;

/** Names that policies of other runtimes use for a whole family of tools. */
const FAMILIES = {
  message: "messaging",
  cron: "cron",
  gateway: "gateway",
} as const satisfies Record<string, keyof typeof TOOL_GROUPS>;

/** The tools of `group:fs`; null when there is no such group. */
export function toolGroupOf(text: string): readonly string[] | null {
  const name = text.replace(/^group:/, "");
  return isKey(TOOL_GROUPS, name) ? TOOL_GROUPS[name] : null;
}

/** Returns the patterns of an entry of a tool list: one, or those of its group. */
export function expandToolPattern(text: string): readonly ToolPattern[] {
  const group = text.startsWith("group:")
    ? toolGroupOf(text)
    : isKey(FAMILIES, text)
      ? TOOL_GROUPS[FAMILIES[text]]
      : null;
  return (group ?? [text]).map(parseToolPattern);
}

function isKey<T extends object>(table: T, key: string): key is Extract<keyof T, string> {
  return Object.hasOwn(table, key);
}
