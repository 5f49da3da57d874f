import { failuresOf } from "@switchyard/contracts/errors";
import { callTool } from "@switchyard/contracts/mcp-broker/mcp";
import { StoreError } from "@switchyard/service/store-error";
import { NotSentError } from "./call-once.ts";

/** Every contract that calls tools declares it alike. */
const { call_store_unavailable } = callTool.errors;
const fail = failuresOf({ call_store_unavailable });

/** The error that a caller gets for a failure on the way of a call; anything else stays as it is. */
export function replyOf(error: unknown): unknown {
  if (error instanceof NotSentError) return error.reply;
  if (!(error instanceof StoreError)) return error;
  const { message: cause } = error;
  return fail.call_store_unavailable(
    `A call with a callId cannot be made safely now, and was not made; try again later: ${cause}`,
    { cause },
  );
}
