import {
  DEFAULT_VERSION,
  type RegisteredSkill,
  type SkillManifest,
} from "@switchyard/contracts/skill-importer/skill-catalogue";
import type { Skill, SkillDependencies } from "@switchyard/contracts/skill-importer/skills";
import { shadowWarning, slashCommandOf } from "./slash-command.ts";

/** A skill, its requirements, and the result of checking them on the machine; null without OpenClaw's metadata. */
export interface ManifestSource {
  readonly skill: Skill;
  readonly dependencies: SkillDependencies | null;
}

/** The entry of a skill in a plugin registry. Names are slugs, so an id is one, too. */
export function registeredSkill({ skill, dependencies }: ManifestSource): RegisteredSkill {
  const command = slashCommandOf(skill);
  const shadow = shadowWarning(command);
  return {
    manifest: manifestOf(skill, dependencies),
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

function manifestOf(skill: Skill, dependencies: SkillDependencies | null): SkillManifest {
  const { name, description, dispatch, record } = skill;
  const isOpenClaw = dependencies !== null || dispatch !== undefined;
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
    version: DEFAULT_VERSION,
    author: record?.author ?? (isOpenClaw ? "OpenClaw Community" : null),
    description: description || (isOpenClaw ? `OpenClaw skill: ${name}` : `Skill: ${name}`),
    category: "tools",
    icon: "Plug",
    source: isOpenClaw ? "openclaw" : "agent-skills",
    tools: [{ ...tool, description: description || tool.description, parameters: {} }],
    keywords: [
      ...(isOpenClaw ? ["openclaw"] : []),
      "imported",
      ...(dependencies?.requirements.os ?? []),
    ],
  };
}

function withoutRepeats(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}
