import { MAX_RUN_DEPTH } from "@switchyard/contracts/agent-runner/run-context";
import type { RunSender } from "@switchyard/contracts/agent-runner/run-sender";
import type { ToolContext } from "../tool.ts";
import { ToolError } from "../tool-error.ts";

/**
 * Returns the part of a message to a session that limits the run which answers it to the rights of the calling run, one level below it.
 * Throws a ToolError at the last level: two sessions that write to each other end there at the latest.
 */
export function senderFor({ sender }: Pick<ToolContext, "sender">): { sender?: RunSender } {
  if (sender === null) return {};
  const depth = (sender.origin.depth ?? 0) + 1;
  if (depth > MAX_RUN_DEPTH)
    throw new ToolError(
      `This run is ${MAX_RUN_DEPTH} levels below the first one and can start no other run; finish the work here.`,
    );
  return { sender: { ...sender, origin: { ...sender.origin, depth } } };
}
