import {
  cleanContent,
  type CleanContent,
  type ContentFinding,
} from "@switchyard/contracts/mcp-broker/content-blocks";
import { isRecord, type JsonRecord } from "@switchyard/contracts/json-record";

/** The result of a tool, in the form that MCP prescribes. */
export interface ToolResult {
  readonly content: CleanContent["content"];
  /** Missing: the tool has none. */
  readonly structuredContent?: unknown;
  /** Missing: false. */
  readonly isError?: boolean;
  readonly _meta?: JsonRecord;
}

export interface NormalResult {
  /** The object that came in when nothing had to be changed. */
  readonly result: ToolResult;
  readonly findings: readonly ContentFinding[];
}

/**
 * The result of `tools/call` from a server's answer. The tool has run already, so an answer is never refused for its form: a
 * caller that got an error would run the tool again. `null` in an optional member is dropped, and `content` is repaired block by
 * block.
 */
export function normalToolResult(answer: unknown): NormalResult {
  const { raw, findings } = membersOfAnswer(answer);
  const { structuredContent, isError, _meta: meta } = raw;
  const { content, findings: ofContent } = contentOf(raw);
  findings.push(...ofContent);
  const isFlag = isError === undefined || typeof isError === "boolean";
  const failed = isFlag ? isError : isTruthy(isError);
  if (!isFlag)
    findings.push({ pointer: "/isError", problem: `it is not a boolean; read as ${failed}` });
  const isMeta = meta === undefined || isRecord(meta);
  if (!isMeta) findings.push({ pointer: "/_meta", problem: "it is not an object; left out" });
  if (structuredContent === null)
    findings.push({ pointer: "/structuredContent", problem: "it is null; left out" });
  if (findings.length === 0 && content === raw["content"])
    return { result: raw as unknown as ToolResult, findings }; // each member was looked at
  const { structuredContent: _1, isError: _2, _meta: _3, toolResult: _4, ...others } = raw;
  const result = {
    ...others,
    content,
    ...(structuredContent !== null && structuredContent !== undefined && { structuredContent }),
    ...(failed !== undefined && { isError: failed }),
    ...(isRecord(meta) && { _meta: meta }),
  };
  return { result, findings };
}

/** A server may answer with the content alone, or with nothing. */
function membersOfAnswer(answer: unknown): { raw: JsonRecord; findings: ContentFinding[] } {
  if (isRecord(answer)) return { raw: answer, findings: [] };
  const findings = [{ pointer: "", problem: "it is not an object; read as its content" }];
  return { raw: { content: answer }, findings };
}

/** A failure must not become a success because a server wrote 1 or "true". */
function isTruthy(value: unknown): boolean {
  return Boolean(value) && value !== "false" && value !== "0";
}

/** Servers of 2024-10-07 answer with `toolResult`, which may be anything. */
function contentOf({ content, toolResult }: JsonRecord): CleanContent {
  if (content !== undefined || toolResult === undefined) return cleanContent(content);
  const text = typeof toolResult === "string" ? toolResult : jsonText(toolResult);
  return { content: [{ type: "text", text }], findings: [] };
}

function jsonText(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch {
    return "[nested too deeply to be passed on]";
  }
}
