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

const place = {
  root: z.string(),
  /** Relative to the root. */
  file: z.string(),
  /** True for one in a project that nobody named: it is listed only when somebody trusts it. */
  needsTrust: z.boolean().optional(),
  /** True when the scanner blocks it. */
  blocked: z.boolean().optional(),
  /** The import that brought it, where a client sent it in parts. */
  importId: z.string().optional(),
};
const SkillEntry = z.object({ ...place, summary: SkillSummary });
const AgentEntry = z.object({ ...place, summary: AgentSummary });

/** The current version of a name: what lists show, and where it came from. */
export interface Entry extends Readonly<z.output<z.ZodObject<typeof place>>> {
  readonly summary: Readonly<Pick<SkillSummary, "name" | "description" | "digest">>;
}

interface StoredKinds {
  readonly skill: { readonly entry: z.output<typeof SkillEntry>; readonly stored: StoredSkill };
  readonly agent: { readonly entry: z.output<typeof AgentEntry>; readonly stored: AgentDefinition };
}
export type EntryOf<K extends Kind> = StoredKinds[K]["entry"];
export type StoredOf<K extends Kind> = StoredKinds[K]["stored"];

/** How each kind is stored. */
export const SCHEMAS: {
  readonly [K in Kind]: { entry: z.ZodType<EntryOf<K>>; stored: z.ZodType<StoredOf<K>> };
} = {
  skill: { entry: SkillEntry, stored: StoredSkill },
  agent: { entry: AgentEntry, stored: AgentDefinition },
};

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
  | { readonly kind: "agent"; readonly stored: AgentDefinition }
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

/** True for a withheld one of this name and, when it is given, this version. */
export function isCalled(
  { kind, entry }: WithheldEntry,
  wanted: { kind: Kind; name: string; version?: string },
): boolean {
  if (kind !== wanted.kind || entry.summary.name !== wanted.name) return false;
  return wanted.version === undefined || versionOfEntry(entry) === wanted.version;
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
