import { AgentDefinition, AgentSummary } from "@switchyard/contracts/agents";
import { Conformance, Skill, SkillSummary } from "@switchyard/contracts/skills";
import { z } from "zod";

/** Where built-in agents come from, in the place of a root's path. */
export const BUILT_IN_ROOT = "built-in";

/** Where skills and agents come from that clients sent, in the place of a root's path. */
export const IMPORTED_ROOT = "imported";

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
  /** True for one in a project that nobody named: it is listed only when somebody trusts it. */
  readonly needsTrust?: boolean | undefined;
  /** True when the scanner blocks it. */
  readonly blocked?: boolean | undefined;
  /** The import that brought it, where a client sent it in parts. */
  readonly importId?: string | undefined;
}

const place = {
  root: z.string(),
  file: z.string(),
  needsTrust: z.boolean().optional(),
  blocked: z.boolean().optional(),
  importId: z.string().optional(),
};

export const SkillEntry = z.object({ ...place, summary: SkillSummary });
export type SkillEntry = Entry<SkillSummary>;

export const AgentEntry = z.object({ ...place, summary: AgentSummary });
export type AgentEntry = Entry<AgentSummary>;

/** What an entry's content is known by: all files of a skill, the one file of an agent. */
export function versionOfEntry(entry: Entry<{ name: string; digest: string }>): string {
  const { summary } = entry;
  return "version" in summary && typeof summary.version === "string"
    ? summary.version
    : summary.digest;
}
