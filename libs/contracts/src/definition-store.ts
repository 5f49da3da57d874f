import { z } from "zod";
import { Digest, Timestamp } from "./ids.ts";

/** What skills and agents have in common where they are brought in, kept in versions and taken away. */

/** Where a version came from, and who brought it. */
export const Provenance = z.object({
  /** `root`: a directory of the importer. `upload`: files that a client sent. `archive`: a zip or tar.gz of a client. */
  source: z.enum(["root", "upload", "archive"]),
  /** The directory, or what the client calls the place that it sent. */
  label: z.string(),
  /** NATS user that imported it. */
  by: z.string(),
  at: Timestamp,
  /** The git checkout that the files lay in; of an upload it is what the client says. */
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
 * For how many milliseconds an answer may be used again, counted from before it was asked for: the importer brings
 * no change into force before they are over.
 */
export const KeepForMs = z.int().positive().max(60_000);

/** Why a version is stored and not listed. */
export const WithheldReason = z.enum(["untrusted", "changed", "blocked"]);
export type WithheldReason = z.infer<typeof WithheldReason>;

/** One file on its way to the importer: text, or base64 when it is none. */
export const SentFile = z.strictObject({
  /** Relative to what is sent, with `/`. */
  path: z.string().max(4_096),
  text: z.string().optional(),
  base64: z.base64().optional(),
});
export type SentFile = z.infer<typeof SentFile>;

/** What every import is told beside its files. */
export const importOptions = {
  /** What the sender calls the source. */
  label: z.string().min(1).max(1_024),
  /** Does everything but store. */
  dryRun: z.boolean().default(false),
  git: Provenance.shape.git.default(null),
  /** Adds the scanner's whole report to each definition. */
  withReports: z.boolean().default(false),
  /** The same for all parts of one import: of two with one name the first counts, in whatever part it came. */
  importId: z.string().min(1).max(64).optional(),
} as const;

/** The most bytes of an archive, which travels beside the request. */
export const MAX_ARCHIVE_BYTES = 40 * 1024 * 1024;

/** An archive on its way to the importer. */
export const sentArchive = {
  format: z.enum(["zip", "tar.gz", "tar"]),
  /** In place of an attachment, for senders that cannot attach one: an archive of at most 600 KB. */
  base64: z.base64().max(800_000).optional(),
} as const;

/** Two versions to compare. */
export const comparedVersions = {
  /** The version before `to` when it is missing. */
  from: Digest.optional(),
  /** The newest version when it is missing. */
  to: Digest.optional(),
} as const;

/** What only one of two versions has. */
export const Changes = z.object({ added: z.array(z.string()), removed: z.array(z.string()) });

/** Redis cannot be asked. Nothing was changed that a repetition does not complete. */
export const storeUnavailable = {
  data: z.object({ cause: z.string() }),
  retryable: true,
} as const;

/** The caller is not in the list of the importer's setting. */
const forbiddenAdmin = { data: z.object({ caller: z.string(), setting: z.string() }) };

/** No definition has the name; `known` are some that there are. */
export const unknownName = {
  data: z.object({ name: z.string(), known: z.array(z.string()).max(50) }),
};
export const unknownVersion = { data: z.object({ name: z.string(), version: z.string() }) };

/** Errors of every call that changes what is imported. */
export const changeErrors = {
  forbidden_admin: forbiddenAdmin,
  store_unavailable: storeUnavailable,
} as const;

/** A file on the importer's roots says what the definition is. */
export const managedByFiles = { data: z.object({ name: z.string(), file: z.string() }) };

export const uploadErrors = {
  ...changeErrors,
  /** More bytes than one call may bring; send them in several. */
  upload_too_large: { data: z.object({ sizeBytes: z.int(), maxBytes: z.int() }) },
} as const;

export const unpackErrors = {
  ...changeErrors,
  /** Nothing of the archive was used; `reason` is a code such as `path_escape` or `encrypted`. */
  archive_refused: { data: z.object({ reason: z.string(), entry: z.string().nullable() }) },
} as const;
