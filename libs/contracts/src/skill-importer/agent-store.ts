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
import { AgentName, Digest, Timestamp } from "../ids.ts";
import { IfVersion, versionChanged } from "../if-version.ts";
import { ScanReport, ScanVerdict } from "./skill-scan.ts";
import { Diagnostic } from "./skills.ts";

/** One immutable state of an agent. */
export const AgentVersion = z.object({
  /** SHA-256 of the file's bytes, to which runs are pinned. */
  digest: Digest,
  provenance: Provenance,
  /** The scanner's verdict, with the scanner; null when the version was never scanned. */
  verdict: z.object({ scanner: z.string(), verdict: ScanVerdict }).nullable().default(null),
  /** Set when another version replaced it, or it left the list; it is deleted 45 days later. */
  supersededAt: Timestamp.nullable(),
});
export type AgentVersion = z.infer<typeof AgentVersion>;

/** The outcome of one imported file. */
export const ImportedAgent = z.object({
  file: z.string(),
  /** Null when the file does not load. */
  name: AgentName.nullable(),
  description: z.string(),
  digest: Digest.nullable(),
  /** `not_an_agent`: a Markdown file without frontmatter, such as a README. */
  outcome: z.enum(["loaded", "skipped", "not_an_agent"]),
  /** `new`, `changed` or `same` compared with the listed version; `hidden`: a file of the importer has the name. */
  change: z.enum(["new", "changed", "same", "hidden"]).nullable(),
  withheld: WithheldReason.nullable().default(null),
  diagnostics: z.array(Diagnostic),
  /** Present only when it was requested. */
  scan: ScanReport.optional(),
});
export type ImportedAgent = z.infer<typeof ImportedAgent>;

/**
 * Every agent file is loaded or skipped: `found` = `loaded` + `skipped`; a file that is not an agent is in neither.
 * `withheld` is a part of `loaded`. `reasons` counts each skipped file once, under the code of its first error.
 */
export const AgentImportCounts = z.object({
  found: z.int().nonnegative(),
  loaded: z.int().nonnegative(),
  skipped: z.int().nonnegative(),
  withheld: z.int().nonnegative().default(0),
  reasons: z.record(z.string(), z.int().positive()),
});
export type AgentImportCounts = z.infer<typeof AgentImportCounts>;

const ImportReply = z.object({
  counts: AgentImportCounts,
  /** One for each file, in the order in which they came. */
  agents: z.array(ImportedAgent),
  /** About the source as a whole, such as entries of an archive that were left out. */
  diagnostics: z.array(Diagnostic),
});

export const uploadAgents = rpc({
  subject: "yard.rpc.{caller}.agents.upload",
  summary: "Imports agents whose files the caller sends.",
  role: "operator",
  request: z.strictObject({
    ...importOptions,
    /** The last parts of a path determine the format and the fallback name of the agent. */
    files: z.array(SentFile).min(1).max(1_000),
  }),
  reply: ImportReply,
  errors: uploadErrors,
  timeoutMs: 60_000,
});

export const unpackAgents = rpc({
  subject: "yard.rpc.{caller}.agents.unpack",
  summary: "Imports the agents in a zip or tar.gz that the caller sends.",
  role: "operator",
  request: z.strictObject({
    ...importOptions,
    ...sentArchive,
  }),
  reply: ImportReply,
  errors: unpackErrors,
  timeoutMs: 60_000,
  attachment: { maxBytes: MAX_ARCHIVE_BYTES, field: "base64" },
});

export const listAgentVersions = rpc({
  subject: "yard.rpc.{caller}.agents.versions",
  summary:
    "Lists the stored versions of an agent, the newest first; one that is built in has none.",
  role: "viewer",
  request: z.strictObject({ name: AgentName }),
  reply: z.object({
    /** The version that is listed, from any source; null when none is. */
    current: Digest.nullable(),
    withheld: z.object({ digest: Digest, reason: WithheldReason }).nullable().default(null),
    versions: z.array(AgentVersion),
  }),
  errors: { unknown_agent: unknownName, store_unavailable: storeUnavailable },
});

export const rollbackAgent = rpc({
  subject: "yard.rpc.{caller}.agents.rollback",
  summary: "Makes an older version of an imported agent the current one.",
  role: "admin",
  request: z.strictObject({
    name: AgentName,
    /** The version before the current one when it is missing. */
    digest: Digest.optional(),
    /** The digest of the one that is listed. */
    ifVersion: IfVersion,
  }),
  reply: z.object({ name: AgentName, digest: Digest, before: Digest.nullable() }),
  errors: {
    ...changeErrors,
    unknown_agent: unknownName,
    unknown_version: unknownVersion,
    managed_by_files: managedByFiles,
    version_changed: versionChanged,
    /** The scanner blocks that version, and no admin trusted it. */
    version_blocked: unknownVersion,
  },
});

export const diffAgent = rpc({
  subject: "yard.rpc.{caller}.agents.diff",
  summary: "Compares two versions of an agent: text, capabilities and findings.",
  role: "viewer",
  request: z.strictObject({ name: AgentName, ...comparedVersions }),
  reply: z.object({
    from: Digest,
    to: Digest,
    /** The difference of the two parsed definitions: lines with ` `, `-` or `+` before them, three around each change. */
    text: z.string(),
    /** Such as `tool read_file`, `skill review`, `role planner`, `limit steps 20`, `host example.com`. */
    capabilities: Changes,
    /** Each in the form `code file`. */
    findings: Changes,
  }),
  errors: {
    unknown_agent: unknownName,
    unknown_version: unknownVersion,
    store_unavailable: storeUnavailable,
  },
});

export const removeAgent = rpc({
  subject: "yard.rpc.{caller}.agents.remove",
  summary: "Removes an imported agent from the list; pinned runs can still read its versions.",
  role: "admin",
  request: z.strictObject({ name: AgentName, ifVersion: IfVersion }),
  reply: z.object({
    name: AgentName,
    digest: Digest,
    /** The version that has the name now, such as the built-in agent of that name; null when there is none. */
    current: Digest.nullable(),
  }),
  errors: {
    ...changeErrors,
    unknown_agent: unknownName,
    managed_by_files: managedByFiles,
    version_changed: versionChanged,
    /** It comes with the importer; only an agent of the same name can replace it. */
    built_in_agent: { data: z.object({ name: z.string() }) },
  },
});

export const agentRemoved = event({
  subject: "yard.evt.agent.{agent}.removed",
  summary: "An agent definition left the list.",
  payload: z.object({ agent: AgentName, digest: Digest.nullable(), at: Timestamp }),
});
