import type { StandardSchemaV1 } from "@modelcontextprotocol/client";
import { isRecord, type JsonRecord } from "../json/json-record.ts";

const CARRIED = "switchyard/result";

/**
 * A result of `tools/call` in an envelope that every schema of the SDK accepts. Those of 2026-07-28 are checked inside the SDK, where
 * one block of an unknown type or one `null` would discard the result of a tool that has run. A question of the server
 * (`input_required`) is the SDK's own to answer and passes as it is.
 */
export function carriedResult(result: JsonRecord): JsonRecord {
  if (result["resultType"] === "input_required") return result;
  // An error needs no structured content, whatever the tool declares.
  return { content: [], isError: true, resultType: "complete", _meta: { [CARRIED]: result } };
}

/** What the server answered, out of its envelope if it has one. */
export function uncarriedResult(result: JsonRecord): JsonRecord {
  const meta = result["_meta"];
  const carried = isRecord(meta) ? meta[CARRIED] : undefined;
  return isRecord(carried) ? carried : result;
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
