import { z } from "zod";

const Text = z.string().nullable();

/**
 * The fields of the Agent Skills standard, Claude Code and OpenClaw beside those of the skill itself, in one form. They are shown and
 * exported; docs/skills.md lists which of them are in force here.
 */
export const SkillRecord = z.object({
  /** The name as it was written. */
  displayName: Text,
  license: Text,
  compatibility: Text,
  version: Text,
  author: Text,
  homepage: Text,
  /** A model of another client, or `inherit`; runs take the agent's. */
  model: Text,
  effort: z.enum(["low", "medium", "high", "xhigh", "max"]).nullable(),
  /** `fork`: the author wants a run of its own. */
  context: z.enum(["fork"]).nullable(),
  agent: Text,
  background: z.boolean().nullable(),
  shell: z.enum(["bash", "powershell"]).nullable(),
  /** Globs of the files that the skill is about. */
  paths: z.array(z.string()),
  disallowedTools: z.array(z.string()),
  /** The value as written; never run, and empty when the frontmatter had to be repaired. */
  hooks: z.unknown(),
  openclaw: z
    .object({
      /** The keys that were found, the one that counts most first. */
      aliases: z.array(z.string()),
      emoji: Text,
      skillKey: Text,
      homepage: Text,
      envVars: z.array(
        z.object({ name: z.string(), required: z.boolean(), description: z.string() }),
      ),
    })
    .nullable(),
  /** Fields that none of them defines, as text, lists and mappings of text. */
  unknown: z.record(z.string(), z.unknown()),
});
export type SkillRecord = z.infer<typeof SkillRecord>;
