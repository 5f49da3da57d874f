import type { RegisteredSkill, SkillManifest } from "@switchyard/contracts/skill-catalogue";
import type { Skill, SkillDependencies } from "@switchyard/contracts/skills";
import { shadowWarning, slashCommandOf } from "./slash-command.ts";

/** A skill, what it needs, and what the machine has of that; null when it says nothing of needs. */
export interface ManifestSource {
  readonly skill: Skill;
  readonly dependencies: SkillDependencies | null;
}

/** The entry of a skill in a plugin registry. Names are slugs, so an id is one, too. */
export function registeredSkill({ skill, dependencies }: ManifestSource): RegisteredSkill {
  const command = slashCommandOf(skill);
  const shadow = shadowWarning(command);
  return {
    manifest: manifestOf(skill, dependencies?.requirements.os ?? []),
    command,
    digest: skill.digest,
    instructions: skill.body.trim(),
    warnings: withoutRepeats([
      ...skill.diagnostics
        .filter(({ severity }) => severity !== "info")
        .map(({ message }) => message),
      ...(dependencies?.warnings ?? []),
      ...(shadow === null ? [] : [shadow]),
    ]),
    dependenciesMet: dependencies?.met ?? true,
    sourcePath: skill.path,
    registration: { source: "local", installer: "openclaw-importer" },
  };
}

function manifestOf(skill: Skill, os: readonly string[]): SkillManifest {
  const { name, description, dispatch } = skill;
  const tool =
    dispatch === undefined
      ? { name, description: `Use the ${name} skill`, dispatch: "skill" as const }
      : {
          name: dispatch.tool,
          description: `Execute the ${name} skill`,
          dispatch: "tool" as const,
        };
  return {
    id: `openclaw-skill-${name}`,
    name,
    version: "1.0.0",
    author: "OpenClaw Community",
    description: description === "" ? `OpenClaw skill: ${name}` : description,
    category: "tools",
    icon: "Plug",
    source: "openclaw",
    tools: [{ ...tool, parameters: {} }],
    keywords: ["openclaw", "imported", ...os],
  };
}

function withoutRepeats(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}
