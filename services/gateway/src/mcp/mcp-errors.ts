import { knownContent } from "@switchyard/contracts/mcp-broker/content-blocks";
import { cutText } from "@switchyard/contracts/cut-text";
import { ServiceError } from "@switchyard/contracts/errors";
import {
  ProtocolError,
  ProtocolErrorCode,
  type CallToolResult,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import { Problem, statusOf } from "../problems/problem.ts";

/** Runs a handler and converts its errors to JSON-RPC errors without internal details. `onFault` is called with unexpected errors. */
export async function withErrors<T>(
  onFault: (error: unknown) => void,
  handle: () => Promise<T>,
): Promise<T> {
  try {
    return await handle();
  } catch (error) {
    if (error instanceof ProtocolError) throw error;
    const { code, message, data } = reportedErrorOf(error, onFault);
    const isRequest = statusOf(code) === 400 || statusOf(code) === 404;
    const number = isRequest ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError;
    throw new ProtocolError(number, message, { code, data });
  }
}

/** Returns the result of a call that was refused or failed, for the model to read. */
export function failedCall(error: unknown, onFault: (error: unknown) => void): CallToolResult {
  const { code, message, data } = reportedErrorOf(error, onFault);
  const failed = errorResult(code, message);
  const returned = code === "invalid_result" ? ReturnedContent.safeParse(data).data : undefined;
  // The tool has run: its result must not be lost.
  if (returned === undefined) return failed;
  const content = [...failed.content, ...knownContent(returned.content)];
  return { ...failed, content } as CallToolResult; // The blocks have the protocol's types.
}

const ReturnedContent = z.looseObject({ content: z.array(z.unknown()) });

export function errorResult(code: string, message: string): CallToolResult {
  return { content: [{ type: "text", text: `${code}: ${message}` }], isError: true };
}

export function unknownTool(name: string): ProtocolError {
  const text = `there is no tool ${cutText(name, 100)} for you: tools/list has those that you may call`;
  return new ProtocolError(ProtocolErrorCode.InvalidParams, text);
}

function reportedErrorOf(
  error: unknown,
  onFault: (error: unknown) => void,
): { code: string; message: string; data: unknown } {
  if (error instanceof ServiceError || error instanceof Problem) {
    const { code, message, data } = error;
    return { code, message, data };
  }
  onFault(error);
  return {
    code: "internal",
    message: "the gateway failed by a fault of its own; its log has the request id",
    data: null,
  };
}
