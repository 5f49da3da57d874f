import type { SlashCommand } from "@switchyard/contracts/skill-importer/skill-catalogue";
import type { Skill } from "@switchyard/contracts/skill-importer/skills";
import { BUILT_IN_COMMANDS } from "@switchyard/contracts/typed-line";

const BUILT_IN: ReadonlySet<string> = new Set(BUILT_IN_COMMANDS);

/** Returns the command by which a person uses a skill; built-in commands take precedence. */
export function slashCommandOf(
  skill: Pick<Skill, "name" | "userInvocable" | "argumentHint">,
): SlashCommand {
  const isShadowed = BUILT_IN.has(skill.name.toLowerCase());
  return {
    name: `/${skill.name}`,
    argumentHint: skill.argumentHint,
    available: skill.userInvocable && !isShadowed,
    shadowedBy: isShadowed ? `the built-in command /${skill.name.toLowerCase()}` : null,
  };
}

/** Returns the warning about a command that does not reach its skill; null when it does. */
export function shadowWarning({ name, shadowedBy }: SlashCommand): string | null {
  if (shadowedBy === null) return null;
  return `${name} is ${shadowedBy}; use the skill with /skill ${name.slice(1)}, or rename it`;
}
