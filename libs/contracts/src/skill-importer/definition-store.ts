import { z } from "zod";
import { Digest, Timestamp } from "../ids.ts";

/** The common parts of skills and agents: how they are imported, stored in versions and removed. */

/** The origin of a version, and the user that imported it. */
export const Provenance = z.object({
  /** `root`: a directory of the importer. `upload`: files that a client sent. `archive`: a zip or tar.gz of a client. */
  source: z.enum(["root", "upload", "archive"]),
  /** The directory, or the client's own name for the source that it sent. */
  label: z.string(),
  /** NATS user that imported it. */
  by: z.string(),
  at: Timestamp,
  /** The git checkout that contained the files; for an upload it is the client's claim. */
  git: z
    .object({
      /** Without user and password. */
      url: z.string().max(2_048).nullable(),
      commit: z.string().max(64).nullable(),
    })
    .nullable(),
});
export type Provenance = z.infer<typeof Provenance>;

/**
 * For how many milliseconds an answer may be reused, counted from before the request: the importer brings no change into force before they
 * are over.
 */
export const KeepForMs = z.int().positive().max(60_000);

/** The reason why a version is stored and not listed. */
export const WithheldReason = z.enum(["untrusted", "changed", "blocked"]);
export type WithheldReason = z.infer<typeof WithheldReason>;

/** One file in a request to the importer: text, or base64 when it is not text. */
export const SentFile = z.strictObject({
  /** Relative to the sent source, with `/`. */
  path: z.string().max(4_096),
  text: z.string().optional(),
  base64: z.base64().optional(),
});
export type SentFile = z.infer<typeof SentFile>;

/** The options of every import, beside its files. */
export const importOptions = {
  /** The sender's name for the source. */
  label: z.string().min(1).max(1_024),
  /** Does everything except storing. */
  dryRun: z.boolean().default(false),
  git: Provenance.shape.git.default(null),
  /** Adds the scanner's whole report to each definition. */
  withReports: z.boolean().default(false),
  /** The same for all parts of one import: of two definitions with one name the first counts, in whichever part it came. */
  importId: z.string().min(1).max(64).optional(),
} as const;

/** The most bytes of an archive, which travels beside the request. */
export const MAX_ARCHIVE_BYTES = 40 * 1024 * 1024;

/** An archive in a request to the importer. */
export const sentArchive = {
  format: z.enum(["zip", "tar.gz", "tar"]),
  /** Used in place of an attachment, by senders that cannot attach one: an archive of at most 600 KB. */
  base64: z.base64().max(800_000).optional(),
} as const;

/** Two versions to compare. */
export const comparedVersions = {
  /** The version before `to` when it is missing. */
  from: Digest.optional(),
  /** The newest version when it is missing. */
  to: Digest.optional(),
} as const;

/** The entries that only one of two versions has. */
export const Changes = z.object({ added: z.array(z.string()), removed: z.array(z.string()) });

/** Redis does not answer. A repeated request completes any partial change. */
export const storeUnavailable = {
  data: z.object({ cause: z.string() }),
  retryable: true,
} as const;

/** The caller is not in the list of the importer's setting. */
const forbiddenAdmin = { data: z.object({ caller: z.string(), setting: z.string() }) };

/** No definition has the name; `known` are some of the existing names. */
export const unknownName = {
  data: z.object({ name: z.string(), known: z.array(z.string()).max(50) }),
};
export const unknownVersion = { data: z.object({ name: z.string(), version: z.string() }) };

/** Errors of every call that changes imported definitions. */
export const changeErrors = {
  forbidden_admin: forbiddenAdmin,
  store_unavailable: storeUnavailable,
} as const;

/** A file on the importer's roots determines the definition. */
export const managedByFiles = { data: z.object({ name: z.string(), file: z.string() }) };

export const uploadErrors = {
  ...changeErrors,
  /** More bytes than one call may have; send them in several. */
  upload_too_large: { data: z.object({ sizeBytes: z.int(), maxBytes: z.int() }) },
} as const;

export const unpackErrors = {
  ...changeErrors,
  /** Nothing of the archive was used; `reason` is a code such as `path_escape` or `encrypted`. */
  archive_refused: { data: z.object({ reason: z.string(), entry: z.string().nullable() }) },
} as const;
