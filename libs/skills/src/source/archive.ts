import { once } from "node:events";
import type { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { createGunzip } from "node:zlib";
import { createTarDecoder } from "modern-tar";
import { fromBufferPromise, getFileNameLowLevel, type Entry } from "yauzl";
import { cutText } from "@switchyard/contracts/cut-text";
import { warningFinding, type Finding } from "../finding.ts";
import type { Package } from "./package.ts";
import { pathProblemOf } from "./safe-path.ts";

export type ArchiveFormat = "zip" | "tar.gz" | "tar";

/** The archive is rejected as a whole: it is damaged, beyond a limit, or malicious. */
export class ArchiveError extends Error {
  override readonly name = "ArchiveError";
  /** A code such as `path_escape`. */
  readonly reason: string;
  readonly entry: string | null;

  constructor(reason: string, message: string, entry: string | null = null) {
    super(message);
    this.reason = reason;
    this.entry = entry;
  }
}

/** The findings are about entries that were left out. */
type UnpackedArchive = Pick<Package, "files" | "findings">;

export const ARCHIVE_LIMITS = {
  entries: 20_000,
  /** The limit for one file. Larger ones are left out. */
  fileBytes: 1024 * 1024,
  /** The limit for all files together, those left out included. */
  bytes: 128 * 1024 * 1024,
  /** The highest ratio of content to archive size, above a first MiB. */
  ratio: 100,
} as const;

const FREE_BYTES = 1024 * 1024;
/** More findings would add no information. */
const MAX_FINDINGS = 20;

/**
 * Unpacks an archive in memory; nothing is written to disk, no link is followed and no archive inside it
 * is opened. Links, devices and large files are left out. Rejects with an {@link ArchiveError} on
 * unsafe names, equal names, encryption, damage, and beyond {@link ARCHIVE_LIMITS}.
 */
export async function unpackArchive(
  bytes: Uint8Array,
  format: ArchiveFormat,
): Promise<UnpackedArchive> {
  const unpacking = new Unpacking(bytes.length);
  try {
    if (format === "zip") await unpackZip(bytes, unpacking);
    else await unpackTar(bytes, { isCompressed: format === "tar.gz", unpacking });
  } catch (error) {
    if (error instanceof ArchiveError) throw error;
    const message = error instanceof Error ? error.message : String(error);
    throw new ArchiveError("damaged", `the ${format} cannot be read: ${message}`);
  }
  return unpacking.result();
}

async function unpackZip(bytes: Uint8Array, unpacking: Unpacking): Promise<void> {
  const zip = await fromBufferPromise(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), {
    lazyEntries: true,
    decodeStrings: false, // names are decoded and checked below, by the same rules as those of a tar
    validateEntrySizes: true,
  });
  try {
    for await (const entry of zip.eachEntry()) {
      const { generalPurposeBitFlag, fileNameRaw, extraFields } = entry;
      // Strict: a backslash stays one, and is refused.
      const name = getFileNameLowLevel(generalPurposeBitFlag, fileNameRaw, extraFields, true);
      if (name.endsWith("/")) {
        unpacking.directory(name);
        continue;
      }
      if (entry.isEncrypted()) throw new ArchiveError("encrypted", `${name} is encrypted`, name);
      const kind = zipKind(entry);
      if (!unpacking.file(name, { kind, sizeBytes: entry.uncompressedSize })) continue;
      if (!entry.canDecodeFileData()) {
        const method = entry.compressionMethod;
        throw new ArchiveError(
          "compression",
          `${name} has the unknown compression ${method}`,
          name,
        );
      }
      const stream = await zip.openReadStreamPromise(entry);
      unpacking.keep(name, await contentOf(stream, unpacking, name));
    }
  } finally {
    zip.close();
  }
}

/** The upper half of the attributes are Unix mode bits when the entry was made there. */
function zipKind(entry: Entry): EntryKind {
  const madeOnUnix = entry.versionMadeBy >>> 8 === 3;
  const type = madeOnUnix ? (entry.externalFileAttributes >>> 16) & 0o170000 : 0;
  if (type === 0 || type === 0o100000) return "file";
  return type === 0o120000 ? "link" : "device";
}

async function contentOf(
  stream: Readable,
  unpacking: Unpacking,
  name: string,
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream as AsyncIterable<Uint8Array>) {
    // The unpacked bytes are counted, since the directory of the archive may be wrong.
    unpacking.count(chunk.length, name);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function unpackTar(
  bytes: Uint8Array,
  { isCompressed, unpacking }: { isCompressed: boolean; unpacking: Unpacking },
): Promise<void> {
  const decoder = createTarDecoder({ strict: true });
  const content = counted(isCompressed ? inflated(bytes) : [bytes], unpacking);
  const writing = ReadableStream.from(content).pipeTo(decoder.writable);
  // The reader may fail first; the writer's failure is then the same one.
  writing.catch(() => {});
  for await (const { header, body } of decoder.readable) {
    const { name, size, type = "file" } = header;
    if (type === "directory") {
      unpacking.directory(name);
      await body.cancel();
      continue;
    }
    const kind: EntryKind = type === "file" ? "file" : type.includes("link") ? "link" : "device";
    if (type.startsWith("pax") || !unpacking.file(name, { kind, sizeBytes: size })) {
      await body.cancel();
      continue;
    }
    unpacking.keep(name, await buffer(body));
  }
  await writing;
}

async function* counted(
  chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  unpacking: Unpacking,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    unpacking.count(chunk.length, null);
    yield chunk;
  }
}

async function* inflated(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  const gunzip = createGunzip();
  gunzip.end(bytes);
  try {
    for await (const chunk of gunzip as AsyncIterable<Uint8Array>) yield chunk;
  } finally {
    gunzip.destroy();
    if (!gunzip.closed) await once(gunzip, "close");
  }
}

type EntryKind = "file" | "link" | "device";

/** The limits on the content of one archive, with the running counts. */
class Unpacking {
  readonly #archiveBytes: number;
  readonly #files = new Map<string, Uint8Array>();
  readonly #seen = new Set<string>();
  readonly #findings: Finding[] = [];
  #entries = 0;
  #bytes = 0;

  constructor(archiveBytes: number) {
    this.#archiveBytes = archiveBytes;
  }

  directory(name: string): void {
    this.#countEntry();
    const path = name.replace(/\/+$/, "").replace(/^(?:\.\/)+/, "");
    if (path !== "" && path !== ".") refuseUnsafe(path, name);
  }

  /** True when the content of this entry is wanted. */
  file(name: string, { kind, sizeBytes }: { kind: EntryKind; sizeBytes: number }): boolean {
    this.#countEntry();
    const path = pathOf(name);
    refuseUnsafe(path, name);
    // Programs differ in which of the two they unpack.
    if (this.#seen.has(path)) {
      throw new ArchiveError("path_twice", `the archive has ${path} twice`, name);
    }
    this.#seen.add(path);
    if (kind !== "file") {
      this.#remark(`${kind}_not_unpacked`, `${path} is a ${kind} and was left out`);
      return false;
    }
    if (sizeBytes <= ARCHIVE_LIMITS.fileBytes) return true;
    this.#remark(
      "file_not_kept",
      `${path} has ${sizeBytes} bytes; at most ${ARCHIVE_LIMITS.fileBytes} are kept`,
    );
    return false;
  }

  keep(name: string, content: Uint8Array): void {
    this.#files.set(pathOf(name), content);
  }

  /** Throws when the unpacked size exceeds that of an honest archive of this size. */
  count(bytes: number, name: string | null): void {
    this.#bytes += bytes;
    if (this.#bytes > ARCHIVE_LIMITS.bytes) {
      throw new ArchiveError(
        "too_large",
        `the content has more than ${ARCHIVE_LIMITS.bytes} bytes; send it in parts`,
        name,
      );
    }
    if (this.#bytes > FREE_BYTES + this.#archiveBytes * ARCHIVE_LIMITS.ratio) {
      throw new ArchiveError(
        "ratio",
        `the content is more than ${ARCHIVE_LIMITS.ratio} times as large as the archive`,
        name,
      );
    }
  }

  result(): UnpackedArchive {
    return { files: this.#files, findings: this.#findings };
  }

  #countEntry(): void {
    this.#entries += 1;
    if (this.#entries <= ARCHIVE_LIMITS.entries) return;
    throw new ArchiveError(
      "too_many_entries",
      `the archive has more than ${ARCHIVE_LIMITS.entries} entries; send it in parts`,
    );
  }

  #remark(code: string, message: string): void {
    if (this.#findings.length < MAX_FINDINGS) this.#findings.push(warningFinding(code, message));
  }
}

/** tar writes `./` before the names of entries in the directory where it was started. */
function pathOf(name: string): string {
  return name.replace(/^(?:\.\/)+/, "");
}

function refuseUnsafe(path: string, name: string): void {
  const problem = pathProblemOf(path);
  if (problem === null) return;
  const shown = JSON.stringify(cutText(name, 200));
  throw new ArchiveError(
    problem,
    `the archive names a file ${shown}; nothing of it was used`,
    name,
  );
}
