import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { open, realpath } from "node:fs/promises";
import { basename, extname, isAbsolute, sep } from "node:path";
import type { EgressGuard } from "@switchyard/service/network/egress-guard";
import type { OutgoingAttachment } from "../adapters/adapter.ts";
import { fetchFile, webUrl } from "../adapters/fetch-file.ts";
import type { SendRecord } from "./send-record.ts";

/** An attachment that cannot be sent. The message is for the caller. */
export class AttachmentError extends Error {
  override readonly name = "AttachmentError";
  readonly source: string;

  constructor(source: string, message: string) {
    super(message);
    this.source = source;
  }
}

export interface AttachmentLimits {
  readonly guard: EgressGuard;
  /** Directories from which files may be sent; none: no files. */
  readonly roots: readonly string[];
  /** The limit for one file. */
  readonly maxBytes: number;
}

type Attachment = SendRecord["attachments"][number];

const FETCH_MS = 20_000;
const MAX_REDIRECTS = 3;
const TYPES: Readonly<Record<string, string>> = {
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".gif": "image/gif",
  ".webp": "image/webp",
  ".pdf": "application/pdf",
  ".txt": "text/plain",
  ".md": "text/markdown",
  ".csv": "text/csv",
  ".json": "application/json",
  ".mp3": "audio/mpeg",
  ".ogg": "audio/ogg",
  ".mp4": "video/mp4",
};

/** Loads the attachments of a message. Throws an AttachmentError that names the first unavailable one. */
export async function loadAttachments(
  attachments: readonly Attachment[],
  limits: AttachmentLimits,
): Promise<OutgoingAttachment[]> {
  const loaded: OutgoingAttachment[] = [];
  for (const attachment of attachments) loaded.push(await load(attachment, limits));
  return loaded;
}

async function load(attachment: Attachment, limits: AttachmentLimits): Promise<OutgoingAttachment> {
  const { source } = attachment;
  const isUrl = /^[a-z][a-z0-9+.-]*:/i.test(source);
  const found = isUrl ? await fromUrl(source, limits) : await fromFile(source, limits);
  const sha256 = createHash("sha256").update(found.bytes).digest("hex");
  if (attachment.sha256 !== undefined && attachment.sha256 !== sha256)
    throw new AttachmentError(source, "it changed after it was checked; send the message again");
  const name = attachment.name ?? found.name;
  const byName = TYPES[extname(name).toLowerCase()];
  return {
    name: name.replaceAll(/[/\\\p{Cc}]/gu, "_") || "file",
    mimeType: attachment.mimeType ?? found.mimeType ?? byName ?? "application/octet-stream",
    bytes: found.bytes,
    sha256,
  };
}

interface Found {
  readonly name: string;
  readonly mimeType: string | null;
  readonly bytes: Uint8Array;
}

/** The real file counts: a link that leads out of the allowed directories is refused. */
async function fromFile(path: string, { roots, maxBytes }: AttachmentLimits): Promise<Found> {
  const outside = new AttachmentError(
    path,
    "files may be taken from the directories of YARD_CHANNELS_ROOTS alone, by their whole path",
  );
  if (!isAbsolute(path)) throw outside;
  const real = await realpath(path).catch(() => null);
  const within = await Promise.all(roots.map((root) => realpath(root).catch(() => null)));
  const isInside = within.some((root) => root !== null && real?.startsWith(root + sep) === true);
  // The error does not reveal which files exist elsewhere.
  if (real === null || !isInside) throw outside;
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await open(real, flags).catch(() => {
    throw outside;
  });
  try {
    const { size, isFile } = await file.stat().then((stat) => ({
      size: stat.size,
      isFile: stat.isFile(),
    }));
    if (!isFile) throw new AttachmentError(path, "it is no regular file");
    if (size > maxBytes) throw tooLarge(path, maxBytes);
    // A directory that was exchanged meanwhile leads elsewhere.
    const opened = await realpath(`/proc/self/fd/${file.fd}`).catch(() => real);
    if (opened !== real) throw outside;
    const bytes = Buffer.alloc(size);
    const { bytesRead } = await file.read(bytes, 0, size, 0);
    return { name: basename(path), mimeType: null, bytes: bytes.subarray(0, bytesRead) };
  } finally {
    await file.close();
  }
}

async function fromUrl(source: string, { guard, maxBytes }: AttachmentLimits): Promise<Found> {
  const signal = AbortSignal.timeout(FETCH_MS);
  const limits = { guard, maxBytes, signal, maxRedirects: MAX_REDIRECTS };
  try {
    const { url, bytes, mediaType } = await fetchFile(webUrl(source), limits);
    const name = decodeURIComponent(basename(url.pathname)) || "file";
    return { name, mimeType: mediaType, bytes };
  } catch (error) {
    throw new AttachmentError(source, error instanceof Error ? error.message : String(error));
  }
}

function tooLarge(source: string, maxBytes: number): AttachmentError {
  return new AttachmentError(source, `it is larger than ${maxBytes} bytes`);
}
