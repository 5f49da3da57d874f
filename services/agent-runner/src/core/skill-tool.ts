import { SkillName } from "@switchyard/contracts/ids";
import { z } from "zod";

/** The runner's own tool: it only puts a skill's text into the conversation. */
export const SKILL_TOOL_NAME = "skill";

/** Describes the tool to a model; only the skills of its list can be requested. */
export function skillTool(skills: readonly string[]) {
  return {
    name: SKILL_TOOL_NAME,
    description:
      "Loads the instructions of one of the skills listed in <available_skills>. " +
      "Use it before you work on a task that a skill describes.",
    inputSchema: {
      type: "object",
      properties: {
        name: { type: "string", enum: [...skills], description: "Name of the skill" },
        arguments: { type: "string", description: "Arguments for the skill, as one line of text" },
      },
      required: ["name"],
      additionalProperties: false,
    },
  };
}

/** The arguments of the tool, as a model may write them. */
export const SkillToolInput = z.strictObject({
  name: SkillName,
  arguments: z.string().max(65_536).default(""),
});
