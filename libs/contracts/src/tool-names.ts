import { createHash } from "node:crypto";
import { z } from "zod";
import { ServerId, ToolName } from "./ids.ts";
import { parseToolPattern } from "./tool-patterns.ts";

/**
 * A tool has three identifiers that travel together; none of them is ever parsed out of another. `server` is null for tools that are not
 * MCP tools, and then `tool` equals `name`.
 */
export const ToolRef = z.strictObject({
  /** The canonical name, unique in the catalogue: the one for models and policies. */
  name: ToolName,
  server: ServerId.nullable(),
  /** The server's own name; for a resource, its URI. */
  tool: z.string().min(1).max(2_048),
});
export type ToolRef = z.infer<typeof ToolRef>;

const MAX_NAME = 64;
const HASH_LENGTH = 8;

/**
 * The canonical name `mcp__{server}__{tool}` of an MCP tool. A name that is too long, or that has
 * characters providers refuse, is cut and gets a hash of the raw name, so that two tools that look
 * alike after the cut stay two. Throws a TypeError on a bad server id.
 */
export function canonicalToolName(server: string, tool: string): string {
  if (!ServerId.safeParse(server).success) {
    throw new TypeError(`server id ${JSON.stringify(server)} must match [a-z0-9][a-z0-9-]{0,23}`);
  }
  const prefix = `mcp__${server}__`;
  const safe = tool.replaceAll(/[^a-zA-Z0-9_-]/g, "_");
  if (safe === tool && tool !== "" && prefix.length + tool.length <= MAX_NAME) return prefix + tool;
  const hash = createHash("sha256")
    .update(`${server}\0${tool}`)
    .digest("hex")
    .slice(0, HASH_LENGTH);
  return `${prefix}${safe.slice(0, MAX_NAME - prefix.length - HASH_LENGTH - 1)}_${hash}`;
}

/** The reference of an MCP tool, with its canonical name. */
export function mcpToolRef(server: string, tool: string): ToolRef {
  return { name: canonicalToolName(server, tool), server, tool };
}

/** The reference of a built-in or platform tool. */
export function builtinToolRef(name: string): ToolRef {
  return { name, server: null, tool: name };
}

/**
 * The form of a name that no two names may share: some clients fold `-` into `_` and some ignore case, so they cannot distinguish tools
 * that differ only there.
 */
export function foldedToolName(name: string): string {
  return name.toLowerCase().replaceAll("-", "_");
}

/** The description that a model sees: the server's own after a prefix that names the server. */
export function mcpToolDescription(server: string, description: string | undefined): string {
  const prefix = `[MCP: ${server}]`;
  return description === undefined ? prefix : `${prefix} ${description}`;
}

/** The server's own description, extracted from the result of `mcpToolDescription`; undefined when there is none. */
export function ownToolDescription(server: string, description: string): string | undefined {
  const prefix = `[MCP: ${server}]`;
  if (!description.startsWith(prefix)) return description;
  return description === prefix ? undefined : description.slice(prefix.length + 1);
}

/**
 * The tool that a person means by `mcp__server__tool`, `server.tool`, or the name of a built-in tool. Null for a pattern and for a text
 * that cannot be a tool.
 */
export function writtenToolRef(text: string): ToolRef | null {
  if (/[*?]/.test(text) || text.length > 512) return null;
  const read = parseToolPattern(text);
  if (read.kind === "server") {
    return ServerId.safeParse(read.server).success ? mcpToolRef(read.server, read.tool) : null;
  }
  const isBuiltin = ToolName.safeParse(text).success && !text.startsWith("mcp_");
  return isBuiltin ? builtinToolRef(text) : null;
}
