import { z } from "zod";
import { isArguments, type AnswerPart, type ToolCallPart } from "./answer-part.ts";
import type { OfferedTool } from "./tool-catalogue.ts";

export const CALL_TOOL = "call_tool";

/**
 * The tool with which a model calls a tool that a search found. A found tool is not added to the list of tools: providers cache
 * requests from the list on, so each search would cost the whole request once more.
 */
export const callToolTool: OfferedTool = {
  name: CALL_TOOL,
  description:
    "Calls a tool that find_tools has found, by its name and with arguments that fit its input schema.",
  inputSchema: {
    type: "object",
    properties: {
      tool: { type: "string", description: "The tool's name, as find_tools wrote it" },
      arguments: { type: "object", description: "The tool's arguments" },
    },
    required: ["tool", "arguments"],
    additionalProperties: false,
  },
};

const Input = z.object({
  tool: z.string().min(1),
  arguments: z.custom(isArguments, "must be an object"),
});

/** Replaces an answer's calls of `call_tool` by calls of the tools that they name, so that all later code sees the tool itself. */
export function withNamedTools(content: readonly AnswerPart[]): AnswerPart[] {
  return content.map((part) => {
    if (part.type !== "tool-call" || part.tool !== CALL_TOOL) return part;
    const { data } = Input.safeParse(part.input);
    if (data === undefined) return part; // answered as a wrong call
    return { ...part, tool: data.tool, input: data.arguments, via: CALL_TOOL };
  });
}

/** The call as the model wrote it. */
export function asWritten({ tool, input, via }: ToolCallPart): {
  readonly tool: string;
  readonly input: unknown;
} {
  return via === undefined ? { tool, input } : { tool: via, input: { tool, arguments: input } };
}
