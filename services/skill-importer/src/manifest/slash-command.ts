import type { SlashCommand } from "@switchyard/contracts/skill-catalogue";

/** What a conversation at a terminal answers to itself; a skill of such a name is not reached by it. */
const BUILT_IN_COMMANDS: ReadonlySet<string> = new Set([
  "agent",
  "agents",
  "clear",
  "config",
  "exit",
  "help",
  "memory",
  "model",
  "quit",
  "session",
  "skill",
  "skills",
  "tools",
  "workspace",
]);

/** The command by which a person uses a skill; built-in commands come first. */
export function slashCommandOf(skill: {
  readonly name: string;
  readonly userInvocable: boolean;
  readonly argumentHint: string | null;
}): SlashCommand {
  const isShadowed = BUILT_IN_COMMANDS.has(skill.name.toLowerCase());
  return {
    name: `/${skill.name}`,
    argumentHint: skill.argumentHint,
    available: skill.userInvocable && !isShadowed,
    shadowedBy: isShadowed ? `the built-in command /${skill.name.toLowerCase()}` : null,
  };
}

/** What to tell people about a command that does not reach its skill; null when it does. */
export function shadowWarning({ name, shadowedBy }: SlashCommand): string | null {
  if (shadowedBy === null) return null;
  return `${name} is ${shadowedBy}; use the skill with /skill ${name.slice(1)}, or rename it`;
}
