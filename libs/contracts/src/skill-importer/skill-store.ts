import { z } from "zod";
import { event, rpc } from "../define.ts";
import {
  changeErrors,
  Changes,
  comparedVersions,
  importOptions,
  managedByFiles,
  MAX_ARCHIVE_BYTES,
  Provenance,
  sentArchive,
  SentFile,
  storeUnavailable,
  unknownName,
  unknownVersion,
  unpackErrors,
  uploadErrors,
  WithheldReason,
} from "./definition-store.ts";
import { Digest, SkillName, Timestamp } from "../ids.ts";
import { IfVersion, versionChanged } from "../if-version.ts";
import { ScanReport, ScanVerdict } from "./skill-scan.ts";
import { Conformance, Diagnostic, SkillTarget } from "./skills.ts";

/** A file of a version. */
export const SkillFileFacts = z.object({
  /** Relative to the skill's directory, with `/`. */
  path: z.string(),
  sizeBytes: z.int().nonnegative(),
  digest: Digest,
});
export type SkillFileFacts = z.infer<typeof SkillFileFacts>;

/** One immutable state of a skill's directory. */
export const SkillVersion = z.object({
  /** SHA-256 over the lines `path:sha256` of its files, sorted by path, to which runs are pinned. */
  version: Digest,
  /** SHA-256 over the SKILL.md alone; it leads to the newest version that has it. */
  digest: Digest,
  provenance: Provenance,
  /** The scanner's verdict, with the scanner; null when the version was never scanned. */
  verdict: z.object({ scanner: z.string(), verdict: ScanVerdict }).nullable(),
  files: z.array(SkillFileFacts),
  /** Set when another version replaced it; it is deleted 45 days later. */
  supersededAt: Timestamp.nullable(),
});
export type SkillVersion = z.infer<typeof SkillVersion>;

export const SentSkill = z.strictObject({
  /** The sender's directory; shown, and its last part is the name of a skill that has none. */
  directory: z.string().min(1).max(4_096),
  files: z.array(SentFile).max(1_000),
});
export type SentSkill = z.infer<typeof SentSkill>;

/** The outcome of one imported skill file. */
export const ImportedSkill = z.object({
  file: z.string(),
  /** Null when the file does not load. */
  name: SkillName.nullable(),
  description: z.string(),
  version: Digest.nullable(),
  outcome: z.enum(["loaded", "repaired", "skipped"]),
  /** `new`, `changed` or `same` compared with the listed version; `hidden`: a directory of the importer has the name. */
  change: z.enum(["new", "changed", "same", "hidden"]).nullable(),
  withheld: WithheldReason.nullable(),
  /** True when all its requirements are met on the importer's machine; null when it declares none. */
  dependenciesMet: z.boolean().nullable(),
  dependencyWarnings: z.array(z.string()),
  diagnostics: z.array(Diagnostic),
  /** Present only when it was requested. */
  conformance: z.array(Conformance).optional(),
  scan: ScanReport.optional(),
});
export type ImportedSkill = z.infer<typeof ImportedSkill>;

/**
 * Every skill file that was found is loaded or skipped: `found` = `loaded` + `skipped`. `repaired` and
 * `withheld` are parts of `loaded`. `reasons` counts each skipped file once, under the code of its first error.
 */
export const ImportCounts = z.object({
  found: z.int().nonnegative(),
  loaded: z.int().nonnegative(),
  repaired: z.int().nonnegative(),
  skipped: z.int().nonnegative(),
  withheld: z.int().nonnegative(),
  reasons: z.record(z.string(), z.int().positive()),
});
export type ImportCounts = z.infer<typeof ImportCounts>;

const skillImportOptions = {
  ...importOptions,
  /** Adds the verdicts for these targets to each skill. */
  targets: z.array(SkillTarget).max(5).default([]),
} as const;

const ImportReply = z.object({
  counts: ImportCounts,
  skills: z.array(ImportedSkill),
  /** About the source as a whole, such as entries of an archive that were left out. */
  diagnostics: z.array(Diagnostic),
});

export const uploadSkills = rpc({
  subject: "yard.rpc.{caller}.skills.upload",
  summary: "Imports skills whose files the caller sends.",
  role: "operator",
  request: z.strictObject({
    ...skillImportOptions,
    skills: z.array(SentSkill).min(1).max(1_000),
  }),
  reply: ImportReply,
  errors: uploadErrors,
  timeoutMs: 60_000,
});

export const unpackSkills = rpc({
  subject: "yard.rpc.{caller}.skills.unpack",
  summary: "Imports the skills in a zip or tar.gz that the caller sends.",
  role: "operator",
  request: z.strictObject({
    ...skillImportOptions,
    ...sentArchive,
    /** Imports only these skills: the `file` of each, as a dry run reports it. Left out: all of them. */
    only: z.array(z.string().min(1).max(1_024)).min(1).max(1_000).optional(),
  }),
  reply: ImportReply,
  errors: unpackErrors,
  timeoutMs: 60_000,
  attachment: { maxBytes: MAX_ARCHIVE_BYTES, field: "base64" },
});

export const listVersions = rpc({
  subject: "yard.rpc.{caller}.skills.versions",
  summary: "Lists the stored versions of a skill, the newest first.",
  role: "viewer",
  request: z.strictObject({ name: SkillName }),
  reply: z.object({
    /** The version that is listed; null when none is. */
    current: Digest.nullable(),
    withheld: z.object({ version: Digest, reason: WithheldReason }).nullable(),
    versions: z.array(SkillVersion),
  }),
  errors: { unknown_skill: unknownName, store_unavailable: storeUnavailable },
});

export const rollbackSkill = rpc({
  subject: "yard.rpc.{caller}.skills.rollback",
  summary: "Makes an older version of an imported skill the current one.",
  role: "admin",
  request: z.strictObject({
    name: SkillName,
    /** The version before the current one when it is missing. */
    version: Digest.optional(),
    /** The version that is listed. */
    ifVersion: IfVersion,
  }),
  reply: z.object({ name: SkillName, version: Digest, before: Digest.nullable() }),
  errors: {
    ...changeErrors,
    unknown_skill: unknownName,
    unknown_version: unknownVersion,
    /** A file on the importer's roots determines the skill. */
    managed_by_files: managedByFiles,
    version_changed: versionChanged,
    /** The scanner blocks that version, and no admin trusted it. */
    version_blocked: unknownVersion,
  },
});

export const removeSkill = rpc({
  subject: "yard.rpc.{caller}.skills.remove",
  summary: "Removes an imported skill from the list; pinned runs can still read its versions.",
  role: "admin",
  request: z.strictObject({ name: SkillName, ifVersion: IfVersion }),
  reply: z.object({ name: SkillName, version: Digest }),
  errors: {
    ...changeErrors,
    unknown_skill: unknownName,
    managed_by_files: managedByFiles,
    version_changed: versionChanged,
  },
});

export const trustSkill = rpc({
  subject: "yard.rpc.{caller}.skills.trust",
  summary:
    "Lists a withheld skill or agent; the trust holds for exactly this version from this source.",
  role: "admin",
  request: z.strictObject({
    kind: z.enum(["skill", "agent"]).default("skill"),
    name: SkillName,
    /** The version that was reviewed. Another one is refused. */
    version: Digest,
    /** Needed for a version that the scanner blocks. */
    reason: z.string().trim().max(500).default(""),
  }),
  reply: z.object({ name: SkillName, version: Digest, was: WithheldReason }),
  errors: {
    ...changeErrors,
    /** Nothing of this name and version is withheld. */
    not_withheld: unknownVersion,
    reason_missing: unknownVersion,
  },
});

export const listWithheld = rpc({
  subject: "yard.rpc.{caller}.skills.withheld",
  summary: "Lists the skills and agents that are stored and wait for a person's trust.",
  role: "viewer",
  request: z.strictObject({}),
  reply: z.object({
    withheld: z.array(
      z.object({
        kind: z.enum(["skill", "agent"]),
        name: SkillName,
        description: z.string(),
        version: Digest,
        reason: WithheldReason,
        root: z.string(),
        file: z.string(),
      }),
    ),
  }),
  errors: { store_unavailable: storeUnavailable },
});

export const diffSkill = rpc({
  subject: "yard.rpc.{caller}.skills.diff",
  summary: "Compares two versions of a skill: text, files, capabilities and findings.",
  role: "viewer",
  request: z.strictObject({
    name: SkillName,
    ...comparedVersions,
  }),
  reply: z.object({
    from: Digest,
    to: Digest,
    /** The difference of the SKILL.md: lines with ` `, `-` or `+` before them, three around each change. */
    text: z.string(),
    files: z.object({
      added: z.array(z.string()),
      removed: z.array(z.string()),
      changed: z.array(z.string()),
    }),
    /** Such as `tool Bash`, `bin curl`, `env TOKEN`, `host example.com`. */
    capabilities: Changes,
    /** Each in the form `code file`. */
    findings: Changes,
  }),
  errors: {
    unknown_skill: unknownName,
    unknown_version: unknownVersion,
    store_unavailable: storeUnavailable,
  },
});

export const readSkillFile = rpc({
  subject: "yard.rpc.{caller}.skills.file",
  summary: "Reads a file of a skill's version, or a part of it.",
  role: "viewer",
  request: z.strictObject({
    name: SkillName,
    /** A version, or the digest of its SKILL.md; the current version when it is missing. */
    version: Digest.optional(),
    path: z.string().min(1).max(512),
    offset: z.int().nonnegative().default(0),
    /** In bytes. */
    limit: z.int().min(1).max(262_144).default(65_536),
  }),
  reply: z.object({
    version: Digest,
    path: z.string(),
    sizeBytes: z.int().nonnegative(),
    digest: Digest,
    base64: z.base64(),
    /** The start of the next part; null at the end. */
    nextOffset: z.int().nullable(),
  }),
  errors: {
    unknown_skill: unknownName,
    store_unavailable: storeUnavailable,
    unknown_file: { data: z.object({ path: z.string(), known: z.array(z.string()).max(50) }) },
  },
});

export const skillRemoved = event({
  subject: "yard.evt.skill.{skill}.removed",
  summary: "A skill left the list.",
  payload: z.object({ skill: SkillName, version: Digest.nullable(), at: Timestamp }),
});

export const batchImported = event({
  subject: "yard.evt.import.{importId}.completed",
  summary: "An import ended; its counts.",
  payload: z.object({
    label: z.string(),
    by: z.string(),
    imported: z.int().nonnegative(),
    failed: z.int().nonnegative(),
    totalScanned: z.int().nonnegative(),
    at: Timestamp,
  }),
});
