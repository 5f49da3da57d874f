import type { ToolResult } from "../tool.ts";

/** The answer of a platform tool: the model reads indented JSON of what programs get as data. */
export function jsonResult(structured: Record<string, unknown>): ToolResult {
  return { text: JSON.stringify(structured, null, 2), structured };
}
