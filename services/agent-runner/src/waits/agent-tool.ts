import { AgentName, ModelName } from "@switchyard/contracts/ids";
import { z } from "zod";
import type { OfferedTool } from "../core/tool-catalogue.ts";

/** Delegates work to a run of its own, of the same agent or another one. */
export const agentTool: OfferedTool = {
  name: "agent",
  description:
    "Gives a task to another agent, which works on it by itself with a fresh context and no more tools " +
    "than you have. You get its answer as the result; with wait false you continue, and its answer comes as a message.",
  inputSchema: {
    type: "object",
    properties: {
      agent: { type: "string", description: "Name of the agent; your own when left out" },
      task: { type: "string", description: "What to do, with everything that it needs to know" },
      wait: { type: "boolean", description: "Whether to wait for the answer; true when left out" },
      model: { type: "string", description: "As provider/model, in place of the agent's own" },
    },
    required: ["task"],
    additionalProperties: false,
  },
};

export const AgentToolInput = z.strictObject({
  agent: AgentName.optional(),
  task: z.string().min(1).max(65_536),
  wait: z.boolean().default(true),
  model: ModelName.optional(),
});
