import { AgentDefinition, AgentSummary } from "@switchyard/contracts/agents";
import { WithheldReason } from "@switchyard/contracts/definition-store";
import type { ScanReport } from "@switchyard/contracts/skill-scan";
import type { SkillFileFacts } from "@switchyard/contracts/skill-store";
import { Conformance, Skill, SkillSummary } from "@switchyard/contracts/skills";
import { z } from "zod";

export const Kind = z.enum(["skill", "agent"]);
export type Kind = z.infer<typeof Kind>;

/** Where built-in agents come from, in the place of a root's path. */
export const BUILT_IN_ROOT = "built-in";

/** Where definitions come from that clients sent, in the place of a root's path. */
export const IMPORTED_ROOT = "imported";

/** What is kept of a skill for as long as a run may be pinned to it. */
export const StoredSkill = z.object({
  skill: Skill,
  /** Absolute path of the skill's directory when it was imported. */
  directory: z.string(),
  metadata: z.record(z.string(), z.unknown()).nullable(),
  /** Missing in versions stored before files were checked. */
  conformance: z.array(Conformance).optional(),
});
export type StoredSkill = z.infer<typeof StoredSkill>;

export const StoredAgent = AgentDefinition;
export type StoredAgent = AgentDefinition;

/** What a list shows of any definition. */
export interface Summary {
  readonly name: string;
  readonly description: string;
  /** SHA-256 of the file that makes it a definition. */
  readonly digest: string;
}

/** The current version of a name: what lists show, and where it came from. */
export interface Entry<S extends Summary = Summary> {
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

const SkillEntry = z.object({ ...place, summary: SkillSummary });
const AgentEntry = z.object({ ...place, summary: AgentSummary });

/** How each kind is stored. */
export const SCHEMAS = {
  skill: { entry: SkillEntry, stored: StoredSkill },
  agent: { entry: AgentEntry, stored: StoredAgent },
} as const;
export type EntryOf<K extends Kind> = z.output<(typeof SCHEMAS)[K]["entry"]>;
export type StoredOf<K extends Kind> = z.output<(typeof SCHEMAS)[K]["stored"]>;

/** A skill or an agent that was read whole, whatever source it came from. */
export type Definition = {
  readonly name: string;
  /** What its content is known by: all files of a skill, the one file of an agent. */
  readonly version: string;
  readonly entry: Entry;
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** None for an agent: its version is the digest of its file. */
  readonly facts: readonly SkillFileFacts[];
  /** Null when it was not scanned. */
  readonly report: ScanReport | null;
} & (
  | { readonly kind: "skill"; readonly stored: StoredSkill }
  | { readonly kind: "agent"; readonly stored: StoredAgent }
);

/** What an entry's content is known by. */
export function versionOfEntry({ summary }: Pick<Entry, "summary">): string {
  return "version" in summary && typeof summary.version === "string"
    ? summary.version
    : summary.digest;
}

/** False for built-in agents and for what clients sent: no root has them. */
export function isOfAFile({ root }: Pick<Entry, "root">): boolean {
  return root !== IMPORTED_ROOT && root !== BUILT_IN_ROOT;
}

/** What is stored and not listed. */
export const WithheldEntry = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("skill"), reason: WithheldReason, entry: SkillEntry }),
  z.object({ kind: z.literal("agent"), reason: WithheldReason, entry: AgentEntry }),
]);
export interface WithheldEntry {
  readonly kind: Kind;
  readonly reason: WithheldReason;
  readonly entry: Entry;
}

/** Somebody looked at one version at one place, and wants it to be used. */
export const TrustRecord = z.object({
  kind: Kind,
  name: z.string(),
  version: z.string(),
  root: z.string(),
  file: z.string(),
  /** True when the scanner blocked it at that time. */
  blocked: z.boolean(),
  by: z.string(),
  at: z.string(),
  reason: z.string(),
});
export type TrustRecord = z.infer<typeof TrustRecord>;
