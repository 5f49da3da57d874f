import { z } from "zod";

/** The largest file, in bytes. */
export const MAX_FILE_BYTES = 10 * 1024 ** 2;
/** The most that the files of one input may have together, in bytes: with base64 less than the 32 MB of Anthropic's requests. */
export const MAX_INPUT_FILE_BYTES = 20 * 1024 ** 2;
export const MAX_INPUT_FILES = 16;
const MAX_PARTS = 64;

/** The types of files beside texts. */
export const FILE_TYPES = [
  "image/png",
  "image/jpeg",
  "image/gif",
  "image/webp",
  "application/pdf",
  "audio/wav",
  "audio/mpeg",
  "audio/ogg",
  "audio/flac",
] as const;

const TEXT_TYPE =
  /^(?:text\/[a-z0-9.+-]+|application\/(?:[a-z0-9.-]+\+)?(?:json|xml|yaml|x-yaml|toml|javascript|sql|x-sh|x-ndjson))$/;

/** True for a type of text, such as `text/csv` or `application/json`. */
export function isTextType(mediaType: string): boolean {
  return TEXT_TYPE.test(mediaType);
}

/** Names a stored file. */
export const FileRef = z.string().regex(/^file-[0-9a-f]{32}$/, "must look like file-…");
export type FileRef = z.infer<typeof FileRef>;

/** The name of a file for people. It is a label and never used as a path. */
export const FileName = z
  .string()
  .min(1)
  .max(255)
  // oxlint-disable-next-line no-control-regex -- control characters are what it refuses
  .regex(/^[^\x00-\x1f\x7f/\\]+$/, "must have no slash and no control character");

export const MediaType = z
  .string()
  .max(127)
  .regex(
    /^[a-z0-9][a-z0-9!#$&^_.+-]*\/[a-z0-9][a-z0-9!#$&^_.+-]*$/,
    "must be a media type in lower case, like image/png",
  );

/** A stored file as a part of an input, with the facts that `files.put` found out. */
export const FilePart = z.strictObject({
  type: z.literal("file"),
  ref: FileRef,
  name: FileName,
  /** As the bytes show it, whatever the sender declared. */
  mediaType: MediaType,
  sizeBytes: z.int().positive().max(MAX_FILE_BYTES),
  sha256: z.string().regex(/^[0-9a-f]{64}$/, "must be 64 hexadecimal digits"),
});
export type FilePart = z.infer<typeof FilePart>;

export const ContentPart = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("text"), text: z.string() }),
  FilePart,
]);
export type ContentPart = z.infer<typeof ContentPart>;

/** An input of texts and files, in the order in which they belong together. */
export const ContentParts = z.array(ContentPart).min(1).max(MAX_PARTS);

/** Files beside a message. */
export const MessageFiles = z.array(FilePart).min(1).max(MAX_INPUT_FILES);

/** A message with its files as an input; without files it is the text alone. */
export function inputOf(text: string, files: readonly FilePart[] = []): string | ContentPart[] {
  if (files.length === 0) return text;
  return [...(text === "" ? [] : [{ type: "text" as const, text }]), ...files];
}
