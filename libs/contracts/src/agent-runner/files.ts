import { z } from "zod";
import { FileName, FilePart, FileRef, MAX_FILE_BYTES } from "./content-parts.ts";
import { rpc } from "../define.ts";
import { CallerName, Timestamp } from "../ids.ts";
import { storeUnavailable } from "../store-errors.ts";

const StoredFile = z.object({
  /** A part of the input of a run, as it is. */
  file: FilePart,
  /** The time at which the bytes are deleted. A run that reads the file later continues with a text that states this. */
  endsAt: Timestamp,
});

const putErrors = {
  /** The bytes are of no type that models accept, are not of the type that they claim, or decode to an image that is too large. */
  unsupported_file: { data: z.object({ name: z.string(), declared: z.string().nullable() }) },
  file_too_large: { data: z.object({ sizeBytes: z.int(), maxBytes: z.int() }) },
  /** The owner, or the whole installation, stores as many bytes as it may. Files leave by themselves. */
  files_full: { data: z.object({ usedBytes: z.int(), limitBytes: z.int() }) },
  store_unavailable: storeUnavailable,
};

export const putFile = rpc({
  subject: "yard.rpc.{caller}.files.put",
  summary: "Stores a file, as a part of the inputs of its owner's runs.",
  role: "operator",
  request: z.strictObject({
    name: FileName,
    /** As the sender declares it: where the bytes show another one, that one counts. */
    mediaType: z.string().max(255).optional(),
    /** In place of an attachment, for senders that cannot attach one: at most 600 KB. */
    base64: z.base64().max(800_000).optional(),
  }),
  reply: StoredFile,
  errors: putErrors,
  timeoutMs: 60_000,
  attachment: { maxBytes: MAX_FILE_BYTES, field: "base64" },
});

/**
 * Called by services that bring files of others, such as channels. The file belongs to `owner`, as if the owner had stored it. No client
 * may call it.
 */
export const deliverFile = rpc({
  subject: "yard.rpc.{caller}.files.deliver",
  summary: "Between services: stores a file for the owner that is named.",
  request: z.strictObject({
    owner: CallerName,
    name: FileName,
    /** As the sender declares it, like that of `files.put`. */
    mediaType: z.string().max(255).optional(),
  }),
  reply: StoredFile,
  errors: putErrors,
  timeoutMs: 10_000,
  attachment: { maxBytes: MAX_FILE_BYTES },
});

export const getFile = rpc({
  subject: "yard.rpc.{caller}.files.get",
  summary: "Returns the facts about a stored file of the caller.",
  role: "viewer",
  request: z.strictObject({ ref: FileRef }),
  reply: StoredFile,
  errors: {
    unknown_file: { data: z.object({ ref: z.string() }) },
    store_unavailable: storeUnavailable,
  },
});
