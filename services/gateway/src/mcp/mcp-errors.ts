import { knownContent } from "@switchyard/contracts/content-blocks";
import { cutText } from "@switchyard/contracts/cut-text";
import { ServiceError } from "@switchyard/contracts/errors";
import {
  ProtocolError,
  ProtocolErrorCode,
  type CallToolResult,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import { Problem, statusOf } from "../problems/problem.ts";

/** Runs a handler; what it meets becomes a JSON-RPC error that says no more than it may. `onFault` hears of bugs. */
export async function withErrors<T>(
  onFault: (error: unknown) => void,
  handle: () => Promise<T>,
): Promise<T> {
  try {
    return await handle();
  } catch (error) {
    if (error instanceof ProtocolError) throw error;
    const { code, message, data } = toldOf(error, onFault);
    const isRequest = statusOf(code) === 400 || statusOf(code) === 404;
    const number = isRequest ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError;
    throw new ProtocolError(number, message, { code, data });
  }
}

/** The result of a call that was refused or failed: the model is to read it. */
export function failedCall(error: unknown, onFault: (error: unknown) => void): CallToolResult {
  const { code, message, data } = toldOf(error, onFault);
  const failed = errorResult(code, message);
  const returned = code === "invalid_result" ? ReturnedContent.safeParse(data).data : undefined;
  // The tool has run: what it returned is not lost.
  if (returned === undefined) return failed;
  const content = [...failed.content, ...knownContent(returned.content)];
  return { ...failed, content } as CallToolResult; // its blocks are of the protocol's types
}

const ReturnedContent = z.looseObject({ content: z.array(z.unknown()) });

export function errorResult(code: string, message: string): CallToolResult {
  return { content: [{ type: "text", text: `${code}: ${message}` }], isError: true };
}

export function unknownTool(name: string): ProtocolError {
  const text = `there is no tool ${cutText(name, 100)} for you: tools/list has those that you may call`;
  return new ProtocolError(ProtocolErrorCode.InvalidParams, text);
}

function toldOf(
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
