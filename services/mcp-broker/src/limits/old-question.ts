import { ProtocolError } from "@modelcontextprotocol/client";
import { isRecord } from "@switchyard/contracts/json-record";

/**
 * Sentences with which servers report that a tool asked its client in the way of revisions before 2026-07-28, in which the server sends a
 * request of its own. They are matched whole: a tool's text that repeats such a sentence of its input is another text.
 */
const REFUSALS = [
  // The Python SDK 2 answers with an error: `NoBackChannelError` in mcp/shared/exceptions.py.
  /^Cannot send '[\w/]+': this transport context has no back-channel for server-initiated requests\.$/,
  // FastMCP 4 answers with a result that is an error: `_ELICIT_MODERN_ERROR` in fastmcp/server/context.py.
  /^elicitation via server-initiated requests is unavailable on 2026-07-28 connections\.$/,
  // So does the TypeScript SDK 2: `_assertPushApiInServedEra` of @modelcontextprotocol/server.
  /^Server-to-client requests are not available on protocol revision [\d-]+: '[\w/]+' cannot be sent while serving a request on that revision\. /,
];

/** True for the text of an error with which a server reports that it could not ask its client in a connection of 2026-07-28. */
export function isOldQuestion(text: string): boolean {
  return REFUSALS.some((refusal) => refusal.test(text));
}

/** A request ended where the server wanted to ask something in the way of earlier revisions. Its effects before that remain. */
export class OldQuestionError extends Error {
  override readonly name = "OldQuestionError";
}

/** Sends a request in a connection of 2026-07-28. Rejects with OldQuestionError where the server could ask with an earlier revision alone. */
export async function unlessAsked<T>(send: () => Promise<T>): Promise<T> {
  let result: T;
  try {
    result = await send();
  } catch (error) {
    if (error instanceof ProtocolError && isOldQuestion(error.message))
      throw new OldQuestionError(error.message, { cause: error });
    throw error;
  }
  const text = failureText(result);
  if (isOldQuestion(text)) throw new OldQuestionError(text);
  return result;
}

/** The text of a tool's result that is an error and nothing but this text; else empty. */
function failureText(result: unknown): string {
  if (!isRecord(result) || result["isError"] !== true || !Array.isArray(result["content"]))
    return "";
  const [block, ...others] = result["content"] as unknown[];
  const text = isRecord(block) && block["type"] === "text" ? block["text"] : "";
  return others.length === 0 && typeof text === "string" ? text : "";
}
