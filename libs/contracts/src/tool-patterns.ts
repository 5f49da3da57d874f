import { withoutAlias } from "./toolbox/builtin-aliases.ts";
import { matchesGlob } from "./glob.ts";

/** A tool by its facts: those of a `ToolRef`. This file needs nothing of Node.js: browsers use it, too. */
interface NamedTool {
  readonly name: string;
  readonly server: string | null;
  readonly tool: string;
}

/** A parsed pattern: `server` null matches only tools without a server, `everything` all of them. */
export type ToolPattern =
  | { readonly kind: "everything" }
  | { readonly kind: "bare"; readonly name: string }
  | { readonly kind: "server"; readonly server: string; readonly tool: string };

const SERVER_GLOB = "[a-z0-9*?-]+";
const SPELLINGS = [
  new RegExp(`^mcp__(${SERVER_GLOB})__(.+)$`), // canonical
  new RegExp(`^mcp_(${SERVER_GLOB})_([^_].*)$`), // Gemini CLI, openwork
  new RegExp(`^(?!mcp__)(${SERVER_GLOB})__(.+)$`), // clawft
  new RegExp(`^(${SERVER_GLOB})\\.(.+)$`), // AgentSpace
];

/**
 * Reads a tool pattern. `mcp__github__*`, `github__*`, `github.*` and `mcp_github_*` mean the same;
 * `*` alone is every tool, `mcp__*` every MCP tool; any other pattern is a glob over the names of
 * tools that have no server, so that a loose `read*` never reaches into an MCP server.
 */
export function parseToolPattern(pattern: string): ToolPattern {
  if (pattern === "*") return { kind: "everything" };
  if (pattern === "mcp__*" || pattern === "mcp_*")
    return { kind: "server", server: "*", tool: "*" };
  for (const spelling of SPELLINGS) {
    const [, server, tool] = spelling.exec(pattern) ?? [];
    if (server !== undefined && tool !== undefined) return { kind: "server", server, tool };
  }
  return { kind: "bare", name: withoutAlias(pattern) };
}

const NOT_ASCII = /\P{ASCII}/u;

/** True when the pattern selects the tool. Case-sensitive, in Unicode NFC; see {@link parseToolPattern}. */
export function matchesTool(pattern: string | ToolPattern, ref: NamedTool): boolean {
  const parsed = typeof pattern === "string" ? parseToolPattern(pattern) : pattern;
  switch (parsed.kind) {
    case "everything":
      return true;
    case "bare":
      return ref.server === null && matchesGlob(parsed.name, ref.name);
    case "server": {
      if (ref.server === null || !matchesGlob(parsed.server, ref.server)) return false;
      // A shortened name can be copied from the catalogue into a pattern, so both spellings count.
      const shown = ref.name.slice(`mcp__${ref.server}__`.length);
      return (
        matchesGlob(parsed.tool, ref.tool) ||
        matchesGlob(parsed.tool, shown) ||
        (NOT_ASCII.test(ref.tool) && matchesGlob(parsed.tool, ref.tool.normalize("NFC")))
      );
    }
    default:
      return parsed satisfies never;
  }
}
