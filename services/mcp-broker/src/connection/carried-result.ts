import type { JSONRPCMessage, StandardSchemaV1 } from "@modelcontextprotocol/client";
import { isRecord, type JsonRecord } from "@switchyard/contracts/json-record";
import type { Received } from "../normalise/message-reader.ts";

const CARRIED = "switchyard/result";

/** The smallest result of each method that the SDK's schemas of both eras accept. */
const ENVELOPES: Readonly<Record<string, JsonRecord>> = {
  // An error needs no structured content, whatever the tool declares.
  "tools/call": { content: [], isError: true },
  "tools/list": { tools: [] },
  "resources/list": { resources: [] },
  "resources/templates/list": { resourceTemplates: [] },
  "resources/read": { contents: [] },
  "prompts/list": { prompts: [] },
  "prompts/get": { messages: [] },
  "completion/complete": { completion: { values: [] } },
};

/**
 * The message with its result in an envelope that every schema of the SDK accepts. The SDK checks results inside, where one block of an
 * unknown type would discard the result of a tool that has run. A question of the server (`input_required`) is the SDK's own to
 * answer and passes as it is.
 */
export function carried({ message, answers }: Received): JSONRPCMessage {
  if (!("result" in message) || answers === null || !Object.hasOwn(ENVELOPES, answers))
    return message;
  const { result } = message;
  if (result["resultType"] === "input_required") return message;
  const complete = { resultType: "complete", ttlMs: 0, cacheScope: "private" };
  return {
    ...message,
    result: { ...ENVELOPES[answers], ...complete, _meta: { [CARRIED]: result } },
  };
}

/** The server's result, out of its envelope if it has one. */
export function uncarriedResult(result: JsonRecord): JsonRecord {
  const meta = result["_meta"];
  const inside = isRecord(meta) ? meta[CARRIED] : undefined;
  return isRecord(inside) ? inside : result;
}

/** The SDK's schema of the method is compiled for each request, which costs more than the call. */
export const anyResult: StandardSchemaV1<unknown, JsonRecord> = {
  "~standard": {
    version: 1,
    vendor: "switchyard",
    validate: (value) =>
      isRecord(value) ? { value } : { issues: [{ message: "it is not an object" }] },
  },
};
