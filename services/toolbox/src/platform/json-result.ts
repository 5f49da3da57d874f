import type { ToolResult } from "../tool.ts";

/** Builds the result of a platform tool: the model reads indented JSON of the data for programs. */
export function jsonResult(structured: Record<string, unknown>): ToolResult {
  return { text: JSON.stringify(structured, null, 2), structured };
}
