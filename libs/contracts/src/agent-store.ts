import { z } from "zod";
import { event, rpc } from "./define.ts";
import { AgentName, Digest, Timestamp } from "./ids.ts";
import { SentFile, SkillProvenance } from "./skill-store.ts";
import { Diagnostic } from "./skills.ts";

/** One immutable state of an agent that a client sent. */
export const AgentVersion = z.object({
  /** SHA-256 of the file's bytes: what runs are pinned to. */
  digest: Digest,
  provenance: SkillProvenance,
  /** Set when another version took its place, or it left the list; it goes 45 days later. */
  supersededAt: Timestamp.nullable(),
});
export type AgentVersion = z.infer<typeof AgentVersion>;

/** What became of one file. */
export const ImportedAgent = z.object({
  file: z.string(),
  /** Null when the file does not load. */
  name: AgentName.nullable(),
  description: z.string(),
  digest: Digest.nullable(),
  /** `not_an_agent`: a Markdown file without frontmatter, such as a README. */
  outcome: z.enum(["loaded", "skipped", "not_an_agent"]),
  /** `new`, `changed` or `same` against what is listed; `hidden`: a file of the importer has the name. */
  change: z.enum(["new", "changed", "same", "hidden"]).nullable(),
  diagnostics: z.array(Diagnostic),
});
export type ImportedAgent = z.infer<typeof ImportedAgent>;

/**
 * Every agent file is loaded or skipped: `found` = `loaded` + `skipped`; a file that is no agent is in neither.
 * `reasons` counts each skipped file once, under the code of its first error.
 */
export const AgentImportCounts = z.object({
  found: z.int().nonnegative(),
  loaded: z.int().nonnegative(),
  skipped: z.int().nonnegative(),
  reasons: z.record(z.string(), z.int().positive()),
});
export type AgentImportCounts = z.infer<typeof AgentImportCounts>;

const ImportOptions = {
  /** What the sender calls the source. */
  label: z.string().min(1).max(1_024),
  /** Does everything but store. */
  dryRun: z.boolean().default(false),
  git: SkillProvenance.shape.git.default(null),
} as const;

const ImportReply = z.object({
  counts: AgentImportCounts,
  /** One for each file, in the order in which they came. */
  agents: z.array(ImportedAgent),
  /** About the source as a whole, such as entries of an archive that were left out. */
  diagnostics: z.array(Diagnostic),
});

/** The caller is not in the list of the importer's setting. */
const forbiddenAdmin = { data: z.object({ caller: z.string(), setting: z.string() }) };
const unknownAgent = {
  data: z.object({ name: z.string(), known: z.array(z.string()).max(50) }),
};

export const uploadAgents = rpc({
  subject: "yard.rpc.{caller}.agents.upload",
  summary: "Imports agents whose files the caller sends.",
  request: z.strictObject({
    ...ImportOptions,
    /** The last parts of a path say the format and the name that the agent falls back to. */
    files: z.array(SentFile).min(1).max(1_000),
  }),
  reply: ImportReply,
  errors: {
    forbidden_admin: forbiddenAdmin,
    /** More bytes than one call may bring; send them in several. */
    upload_too_large: { data: z.object({ sizeBytes: z.int(), maxBytes: z.int() }) },
  },
  timeoutMs: 60_000,
});

export const unpackAgents = rpc({
  subject: "yard.rpc.{caller}.agents.unpack",
  summary: "Imports the agents in a zip or tar.gz that the caller sends.",
  request: z.strictObject({
    ...ImportOptions,
    format: z.enum(["zip", "tar.gz", "tar"]),
    base64: z.base64(),
  }),
  reply: ImportReply,
  errors: {
    forbidden_admin: forbiddenAdmin,
    /** Nothing of the archive was used; `reason` is a code such as `path_escape` or `encrypted`. */
    archive_refused: { data: z.object({ reason: z.string(), entry: z.string().nullable() }) },
  },
  timeoutMs: 60_000,
});

export const listAgentVersions = rpc({
  subject: "yard.rpc.{caller}.agents.versions",
  summary: "Lists the stored versions of an agent that clients sent, the newest first.",
  request: z.strictObject({ name: AgentName }),
  reply: z.object({
    /** The version that is listed, wherever it came from; null when none is. */
    current: Digest.nullable(),
    versions: z.array(AgentVersion),
  }),
  errors: { unknown_agent: unknownAgent },
});

export const removeAgent = rpc({
  subject: "yard.rpc.{caller}.agents.remove",
  summary: "Takes an imported agent off the list; its versions stay readable for pinned runs.",
  request: z.strictObject({ name: AgentName }),
  reply: z.object({
    name: AgentName,
    digest: Digest,
    /** What has the name now, such as the built-in agent of that name; null when nothing has. */
    current: Digest.nullable(),
  }),
  errors: {
    forbidden_admin: forbiddenAdmin,
    unknown_agent: unknownAgent,
    /** A file on the importer's roots says what the agent is. */
    managed_by_files: { data: z.object({ name: z.string(), file: z.string() }) },
    /** It comes with the importer; only an agent of the same name can take its place. */
    built_in_agent: { data: z.object({ name: z.string() }) },
  },
});

export const agentRemoved = event({
  subject: "yard.evt.agent.{agent}.removed",
  summary: "An agent definition left the list.",
  payload: z.object({ agent: AgentName, digest: Digest.nullable(), at: Timestamp }),
});
