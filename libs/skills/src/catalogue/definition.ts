import { AgentDefinition, AgentSummary } from "@switchyard/contracts/skill-importer/agents";
import { WithheldReason } from "@switchyard/contracts/skill-importer/definition-store";
import type { ScanReport } from "@switchyard/contracts/skill-importer/skill-scan";
import type { SkillFileFacts } from "@switchyard/contracts/skill-importer/skill-store";
import { Conformance, Skill, SkillSummary } from "@switchyard/contracts/skill-importer/skills";
import { z } from "zod";

export const Kind = z.enum(["skill", "agent"]);
export type Kind = z.infer<typeof Kind>;

/** The root of built-in agents, used instead of a path. */
export const BUILT_IN_ROOT = "built-in";

/** The root of definitions that clients sent, used instead of a path. */
export const IMPORTED_ROOT = "imported";

/** The stored form of a skill, kept for as long as a run may be pinned to it. */
export const StoredSkill = z.object({
  skill: Skill,
  /** Absolute path of the skill's directory when it was imported. */
  directory: z.string(),
  metadata: z.record(z.string(), z.unknown()).nullable(),
  /** Missing in versions stored before files were checked. */
  conformance: z.array(Conformance).optional(),
});
export type StoredSkill = z.infer<typeof StoredSkill>;

const place = {
  root: z.string(),
  /** Relative to the root. */
  file: z.string(),
  /** True for a definition of a project that was found automatically: it is listed only when a user trusts it. */
  needsTrust: z.boolean().optional(),
  /** True when the scanner blocks it. */
  blocked: z.boolean().optional(),
  /** The import that brought it, where a client sent it in parts. */
  importId: z.string().optional(),
};
const SkillEntry = z.object({ ...place, summary: SkillSummary });
const AgentEntry = z.object({ ...place, summary: AgentSummary });

/** The current version of a name: the fields that lists show, and its source. */
export interface Entry extends Readonly<z.output<z.ZodObject<typeof place>>> {
  readonly summary: Readonly<Pick<SkillSummary, "name" | "description" | "digest">>;
}

interface StoredKinds {
  readonly skill: { readonly entry: z.output<typeof SkillEntry>; readonly stored: StoredSkill };
  readonly agent: { readonly entry: z.output<typeof AgentEntry>; readonly stored: AgentDefinition };
}
export type EntryOf<K extends Kind> = StoredKinds[K]["entry"];
export type StoredOf<K extends Kind> = StoredKinds[K]["stored"];

/** The storage schema of each kind. */
export const SCHEMAS: {
  readonly [K in Kind]: { entry: z.ZodType<EntryOf<K>>; stored: z.ZodType<StoredOf<K>> };
} = {
  skill: { entry: SkillEntry, stored: StoredSkill },
  agent: { entry: AgentEntry, stored: AgentDefinition },
};

/** A skill or an agent that was read completely, from any source. */
export type Definition = {
  readonly name: string;
  /** The content digest: over all files of a skill, over the one file of an agent. */
  readonly version: string;
  readonly entry: Entry;
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** None for an agent: its version is the digest of its file. */
  readonly facts: readonly SkillFileFacts[];
  /** Null when it was not scanned. */
  readonly report: ScanReport | null;
} & (
  | { readonly kind: "skill"; readonly stored: StoredSkill }
  | { readonly kind: "agent"; readonly stored: AgentDefinition }
);

/** Returns the content digest of an entry. */
export function versionOfEntry({ summary }: Pick<Entry, "summary">): string {
  return "version" in summary && typeof summary.version === "string"
    ? summary.version
    : summary.digest;
}

/** False for built-in agents and for definitions that clients sent: they belong to no root. */
export function isOfAFile({ root }: Pick<Entry, "root">): boolean {
  return root !== IMPORTED_ROOT && root !== BUILT_IN_ROOT;
}

/** An entry that is stored and not listed. */
export const WithheldEntry = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("skill"), reason: WithheldReason, entry: SkillEntry }),
  z.object({ kind: z.literal("agent"), reason: WithheldReason, entry: AgentEntry }),
]);
export interface WithheldEntry {
  readonly kind: Kind;
  readonly reason: WithheldReason;
  readonly entry: Entry;
}

/** True for a withheld entry of this name and, when it is given, this version. */
export function isCalled(
  { kind, entry }: WithheldEntry,
  wanted: { kind: Kind; name: string; version?: string },
): boolean {
  if (kind !== wanted.kind || entry.summary.name !== wanted.name) return false;
  return wanted.version === undefined || versionOfEntry(entry) === wanted.version;
}

/** A user has reviewed one version at one path, and allows its use. */
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
