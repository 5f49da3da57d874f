import type { CallToolResult, StandardSchemaV1 } from "@modelcontextprotocol/client";
import { isRecord } from "../json/json-record.ts";

/**
 * What a result of `tools/call` has to be, checked without a copy: the blocks are passed on whole,
 * and the reply is checked once more against our own contract. The SDK's schema of the method is
 * compiled for each request and describes every kind of block, which costs more than the call.
 */
export const callResult: StandardSchemaV1<unknown, CallToolResult> = {
  "~standard": {
    version: 1,
    vendor: "switchyard",
    validate(value) {
      const problem = problemOf(value);
      if (problem !== null) return { issues: [{ message: problem }] };
      const result = value as CallToolResult; // looked at above, field by field
      return result.content === undefined ? withoutContent(result) : { value: result };
    },
  },
};

/** Servers of 2024-10-07 answer with `toolResult`, which may be anything; it would be lost otherwise. */
function withoutContent(result: CallToolResult): StandardSchemaV1.Result<CallToolResult> {
  const { toolResult, ...rest } = result;
  if (toolResult === undefined) return { value: { ...rest, content: [] } };
  const text = typeof toolResult === "string" ? toolResult : jsonText(toolResult);
  if (text === null) return { issues: [{ message: "toolResult is nested too deeply" }] };
  return { value: { ...rest, content: [{ type: "text", text }] } };
}

/** Null for what is nested deeper than it can be written. */
function jsonText(value: unknown): string | null {
  try {
    return JSON.stringify(value);
  } catch {
    return null;
  }
}

function problemOf(value: unknown): string | null {
  if (!isRecord(value)) return "it is not an object";
  const { content = [], isError, structuredContent } = value;
  if (isError !== undefined && typeof isError !== "boolean") return "isError is not a boolean";
  if (structuredContent !== undefined && typeof structuredContent !== "object")
    return "structuredContent is not an object";
  if (!Array.isArray(content)) return "content is not a list";
  const broken = content.findIndex((block: unknown) => !isBlock(block));
  return broken === -1 ? null : `content[${broken}] is not a content block`;
}

function isBlock(block: unknown): boolean {
  if (!isRecord(block) || typeof block["type"] !== "string") return false;
  return block["type"] !== "text" || typeof block["text"] === "string";
}
