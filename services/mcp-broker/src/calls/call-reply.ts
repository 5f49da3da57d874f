import type { z } from "zod";
import { failuresOf } from "@switchyard/contracts/errors";
import { callTool as contract } from "@switchyard/contracts/mcp-broker/mcp";
import type { Decision } from "@switchyard/contracts/policy/policy";
import type { CallOutcome } from "@switchyard/tool-provider/call-store";
import { problemText } from "./call-checks.ts";

const fail = failuresOf(contract.errors);

/** The reply to a call with this outcome, or the error that represents it. */
export function outcomeReply(
  outcome: CallOutcome,
  { decision, replayed }: { decision: Decision; replayed: boolean },
): z.input<typeof contract.reply> {
  switch (outcome.kind) {
    case "result":
      return { ...outcome.result, decision, replayed };
    case "failed":
      throw fail.tool_failed(`MCP tool error: ${outcome.reason}`, { reason: outcome.reason });
    case "invalid": {
      const { problems, result } = outcome;
      const { durationMs: _, isError: __, ...whole } = result;
      throw fail.invalid_result(
        `The tool ran, but its structured result does not fit its own output schema: ${problemText(problems)}. What else it returned is in the error's data.`,
        { problems, ...whole },
      );
    }
    case "too_large": {
      const { bytes, limitBytes } = outcome;
      throw fail.result_too_large(
        `The tool ran, but its result of ${bytes} bytes exceeds the limit of ${limitBytes}; ask it for less, or raise maxResultBytes of the server.`,
        { bytes, limitBytes },
      );
    }
    default:
      return outcome satisfies never;
  }
}
