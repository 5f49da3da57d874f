import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { open, realpath } from "node:fs/promises";
import { basename, extname, isAbsolute, sep } from "node:path";
import type { EgressGuard } from "@switchyard/service/network/egress-guard";
import { Agent, fetch } from "undici";
import type { OutgoingAttachment } from "../adapters/adapter.ts";
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
  const name = attachment.name ?? found.name;
  const byName = TYPES[extname(name).toLowerCase()];
  return {
    name: name.replaceAll(/[/\\\p{Cc}]/gu, "_") || "file",
    mimeType: attachment.mimeType ?? found.mimeType ?? byName ?? "application/octet-stream",
    bytes: found.bytes,
    sha256: createHash("sha256").update(found.bytes).digest("hex"),
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
  const agent = new Agent({ connect: { lookup: guard.lookup } });
  const signal = AbortSignal.timeout(FETCH_MS);
  try {
    let url = urlOf(source);
    for (let followed = 0; followed <= MAX_REDIRECTS; followed += 1) {
      guard.checkUrl(url);
      const response = await fetch(url, { dispatcher: agent, redirect: "manual", signal });
      const location = response.headers.get("location");
      if (response.status >= 300 && response.status < 400 && location !== null) {
        url = urlOf(new URL(location, url).href);
        continue;
      }
      if (!response.ok) throw new AttachmentError(source, `its server answers ${response.status}`);
      const bytes: Uint8Array[] = [];
      let size = 0;
      for await (const chunk of response.body ?? []) {
        const part: Uint8Array = chunk;
        size += part.length;
        if (size > maxBytes) throw tooLarge(source, maxBytes);
        bytes.push(part);
      }
      const type = response.headers.get("content-type")?.split(";", 1)[0]?.trim() || null;
      const name = decodeURIComponent(basename(url.pathname)) || "file";
      return { name, mimeType: type, bytes: Buffer.concat(bytes) };
    }
    throw new AttachmentError(source, "it redirects too often");
  } catch (error) {
    if (error instanceof AttachmentError) throw error;
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const said = cause instanceof Error ? cause.message : String(cause);
    throw new AttachmentError(source, `it cannot be loaded: ${said}`);
  } finally {
    void agent.destroy();
  }
}

function urlOf(text: string): URL {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:"))
    throw new AttachmentError(text, "it must be an http or https URL, or the path of a file");
  return url;
}

function tooLarge(source: string, maxBytes: number): AttachmentError {
  return new AttachmentError(source, `it is larger than ${maxBytes} bytes`);
}
