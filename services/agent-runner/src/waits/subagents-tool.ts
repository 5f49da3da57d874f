import { RunId } from "@switchyard/contracts/ids";
import { z } from "zod";
import type { ChildState } from "../core/run-state.ts";
import type { OfferedTool } from "../core/tool-catalogue.ts";

/** Lists, steers and ends the runs that a run has started. */
export const subagentsTool: OfferedTool = {
  name: "child_runs",
  description:
    "Lists the runs that you have started, gives one of them a message (steer) or ends it (kill).",
  inputSchema: {
    type: "object",
    properties: {
      action: { type: "string", enum: ["list", "steer", "kill"] },
      run: { type: "string", description: "Id of the run, for steer and kill" },
      message: { type: "string", description: "The message to it, for steer" },
    },
    required: ["action"],
    additionalProperties: false,
  },
};

export const SubagentsInput = z.discriminatedUnion("action", [
  z.strictObject({ action: z.literal("list") }),
  z.strictObject({
    action: z.literal("steer"),
    run: RunId,
    message: z.string().min(1).max(4_000),
  }),
  z.strictObject({ action: z.literal("kill"), run: RunId }),
]);

/** The list as a model reads it. */
export function listOfChildren(children: readonly ChildState[]): string {
  const runs = children.map(({ childRunId, agent, end }) => ({
    run: childRunId,
    agent,
    status: end?.status ?? "running",
  }));
  return JSON.stringify({ runs });
}
