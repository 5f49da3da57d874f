import type { ToolInfo } from "./mcp.ts";
import { ownToolDescription } from "../tool-names.ts";

/** A tool of an MCP server as MCP clients get it: https://modelcontextprotocol.io/specification/2025-11-25/schema#tool. */
export interface ClientTool {
  readonly name: string;
  readonly inputSchema: ToolInfo["inputSchema"];
  readonly [member: string]: unknown;
}

/** The tool under this name with all members of its definition; the broker gave them the form that clients accept. */
export function clientTool(
  { server, description, inputSchema, definition }: ToolInfo,
  name: string,
): ClientTool {
  const own = ownToolDescription(server, description);
  return { ...definition, ...(own !== undefined && { description: own }), name, inputSchema };
}

/**
 * The tool for clients of revisions before 2026-07-28, in which the schema of an output is one of an object: the official SDK refuses a whole
 * list for another one.
 */
export function withObjectOutput<T extends object>(tool: T): T {
  if (!("outputSchema" in tool)) return tool;
  const { outputSchema, ...rest } = tool;
  const isOfObject = isJsonObject(outputSchema) && outputSchema["type"] === "object";
  // Without an optional member it is the same type.
  return isOfObject ? tool : (rest as unknown as T);
}

/** The structured content of a result as clients of an era accept it: before 2026-07-28 it is an object, since then any JSON. */
export function clientStructuredContent(
  content: unknown,
  era: "legacy" | "modern",
): { readonly structuredContent?: unknown } {
  const isAccepted = era === "legacy" ? isJsonObject(content) : content !== undefined;
  return isAccepted ? { structuredContent: content } : {};
}

function isJsonObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
