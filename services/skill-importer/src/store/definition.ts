import { AgentDefinition, AgentSummary } from "@switchyard/contracts/agents";
import { Conformance, Skill, SkillSummary } from "@switchyard/contracts/skills";
import { z } from "zod";

/** Where built-in agents come from, in the place of a root's path. */
export const BUILT_IN_ROOT = "built-in";

/** What is kept of a skill for as long as a run may be pinned to its digest. */
export const StoredSkill = z.object({
  skill: Skill,
  /** Absolute path of the skill's directory when it was imported. */
  directory: z.string(),
  metadata: z.record(z.string(), z.unknown()).nullable(),
  /** Missing in versions stored before files were judged. */
  conformance: z.array(Conformance).optional(),
});
export type StoredSkill = z.infer<typeof StoredSkill>;

export const StoredAgent = AgentDefinition;
export type StoredAgent = AgentDefinition;

/** The current version of a name: what lists show, and where it came from. */
export interface Entry<S extends { name: string; digest: string }> {
  readonly root: string;
  /** Relative to the root. */
  readonly file: string;
  readonly summary: S;
}

export const SkillEntry = z.object({ root: z.string(), file: z.string(), summary: SkillSummary });
export type SkillEntry = Entry<SkillSummary>;

export const AgentEntry = z.object({ root: z.string(), file: z.string(), summary: AgentSummary });
export type AgentEntry = Entry<AgentSummary>;
