import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { isRecord } from "../json/json-record.ts";

/** What the one who asked is told instead. */
export const MALFORMED_ANSWER = "the server's answer is not valid JSON-RPC response";
const INTERNAL_ERROR = -32_603;

/**
 * The message as the protocol layer understands it. That drops an answer which has both a result and
 * an error, neither, or anything beside them, and whoever asked would wait until the time is over.
 */
export function wellFormedAnswer(message: JSONRPCMessage): JSONRPCMessage {
  if ("method" in message) return message;
  const { id, result, error }: Readonly<Record<string, unknown>> = { ...message };
  if (typeof id !== "string" && typeof id !== "number") return message;
  const isPlain = Object.keys(message).length === 3;
  // Some servers write both members, one of them null.
  if (isNothing(error) && isRecord(result))
    return isPlain ? message : { jsonrpc: "2.0", id, result };
  if (isNothing(result) && isErrorObject(error))
    return isPlain ? message : { jsonrpc: "2.0", id, error };
  return {
    jsonrpc: "2.0",
    id,
    error: { code: INTERNAL_ERROR, message: MALFORMED_ANSWER },
  };
}

function isNothing(member: unknown): boolean {
  return member === undefined || member === null;
}

function isErrorObject(error: unknown): error is { code: number; message: string } {
  return (
    isRecord(error) && Number.isSafeInteger(error["code"]) && typeof error["message"] === "string"
  );
}
