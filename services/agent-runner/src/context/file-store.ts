import { createHash, randomUUID } from "node:crypto";
import type { Bus } from "@switchyard/bus/bus";
import { getObject, putObject } from "@switchyard/bus/objects";
import {
  FilePart,
  MAX_FILE_BYTES,
  MAX_INPUT_FILES,
} from "@switchyard/contracts/agent-runner/content-parts";
import { CallerName } from "@switchyard/contracts/ids";
import { inputFiles } from "@switchyard/topology/payload-stores";
import type { OwnerStorage } from "@switchyard/service/owner-storage";
import type { Redis } from "@switchyard/service/redis";
import { fromRedis, StoreError } from "@switchyard/service/store-error";
import { z } from "zod";
import { fileTypeOf } from "@switchyard/service/files/file-type";
import { ServiceError } from "@switchyard/contracts/errors";
import type { ContentBlock } from "@switchyard/contracts/mcp-broker/mcp";

/** The metadata stored beside the bytes of a file. */
const StoredFile = z.object({ owner: CallerName, file: FilePart, endsAt: z.string() });
export type StoredFile = z.infer<typeof StoredFile>;

/** The reason why a file is not stored. */
export class FileRefused extends Error {
  override readonly name = "FileRefused";
}

/** The files of inputs: bytes in an object store, facts and counts of bytes in Redis. */
export interface FileStore {
  /** Rejects with FileRefused for a type that is not accepted, with `storage_full` when the owner has no room, and with StoreError. */
  put(
    owner: string,
    given: { readonly name: string; readonly mediaType: string | undefined; bytes: Uint8Array },
  ): Promise<StoredFile>;
  /** The facts about stored files, in the order of their references; null for those that do not exist. Rejects with StoreError. */
  find(refs: readonly string[]): Promise<(StoredFile | null)[]>;
  /** The bytes; null when they are no longer stored. Rejects with a ServiceError while the store cannot be read. */
  read(file: FilePart): Promise<Buffer | null>;
}

/**
 * For this time a file that is stored again with the same name is the one that is stored already: clients send a conversation
 * with all its files each time, and a repeated request has to be the same run. The rest of its lifetime is as long as a run may
 * be retried after its end.
 */
const REUSED_FOR_MS = inputFiles.ttlMs / 2;
/** The smallest size that a file is counted with, since its facts take space, too. */
const LEAST_BYTES = 16 * 1_024;
/** The limit in bytes for files in the memory of this process, which caches them because each step of a run sends them again. */
const CACHED_BYTES = 64 * 1024 ** 2;

export function openFileStore(
  { bus, redis }: { readonly bus: Bus; readonly redis: Redis },
  {
    storage,
    now,
  }: { readonly storage: Pick<OwnerStorage, "reserve" | "set">; readonly now: () => number },
): FileStore {
  const { bucket, ttlMs } = inputFiles;
  const cache = new RecentBytes(CACHED_BYTES);
  const find: FileStore["find"] = async (refs) => {
    // One by one: with Redis Cluster they are in many slots.
    const texts = await fromRedis(Promise.all(refs.map((ref) => redis.get(keyOf(ref)))));
    return texts.map((text) => (text === null ? null : StoredFile.parse(JSON.parse(text))));
  };
  const read: FileStore["read"] = async ({ ref, sizeBytes, sha256 }) => {
    const known = cache.get(ref);
    if (known !== undefined) return known;
    const name = ref.slice("file-".length);
    const bytes = await getObject(bus, { bucket, name, sizeBytes, sha256 });
    if (bytes !== null) cache.add(ref, bytes);
    return bytes;
  };
  return {
    async put(owner, { name, mediaType: declared, bytes }) {
      const type = fileTypeOf(bytes, declared);
      if ("problem" in type) throw new FileRefused(`${name}: ${type.problem}`);
      const { mediaType } = type;
      const sameKey = sameFileKey([owner, name, mediaType, digestOf(bytes)]);
      const [known = null] = await find([(await fromRedis(redis.get(sameKey))) ?? ""]);
      if (known !== null && (await read(known.file)) !== null) return known;
      const thing = `file:${randomUUID()}`;
      const counted = Math.max(bytes.length, LEAST_BYTES);
      await storage.reserve(owner, { thing, bytes: counted });
      try {
        const { name: id, sizeBytes, sha256 } = await putObject(bus, bucket, [bytes]);
        const ref = `file-${id}`;
        const file: FilePart = { type: "file", ref, name, mediaType, sizeBytes, sha256 };
        const ends = now() + ttlMs;
        const stored = { owner, file, endsAt: new Date(ends).toISOString() };
        await fromRedis(redis.set(keyOf(ref), JSON.stringify(stored), "PX", ttlMs));
        await fromRedis(redis.set(sameKey, ref, "PX", REUSED_FOR_MS));
        storage.set(owner, thing, { bytes: counted, ends });
        return stored;
      } catch (error) {
        storage.set(owner, thing, { bytes: 0, ends: now() });
        throw error;
      }
    },

    find,

    read,
  };
}

/** A cache of the bytes that were read last, up to a size. */
class RecentBytes {
  readonly #most: number;
  readonly #known = new Map<string, Buffer>();
  #size = 0;

  constructor(most: number) {
    this.#most = most;
  }

  get(name: string): Buffer | undefined {
    const bytes = this.#known.get(name);
    if (bytes === undefined) return undefined;
    // The file that was used last is evicted last.
    this.#known.delete(name);
    this.#known.set(name, bytes);
    return bytes;
  }

  add(name: string, bytes: Buffer): void {
    if (this.#known.has(name)) return;
    this.#known.set(name, bytes);
    this.#size += bytes.length;
    for (const [oldest, { length }] of this.#known) {
      if (this.#size <= this.#most) return;
      this.#known.delete(oldest);
      this.#size -= length;
    }
  }
}

function digestOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function sameFileKey(facts: readonly string[]): string {
  return `yard:file:same:${digestOf(Buffer.from(JSON.stringify(facts)))}`;
}

function keyOf(ref: string): string {
  return `yard:file:${ref}`;
}

/**
 * Stores the images, sounds and binary resources of a tool result, so that models can receive them. Content that cannot be stored
 * is represented only by its type and size in the text of the result. Storing the same result again yields the same files.
 */
export async function storeResultFiles(
  content: readonly ContentBlock[],
  { files, owner }: { readonly files: Pick<FileStore, "put">; readonly owner: string },
): Promise<FilePart[]> {
  const stored: FilePart[] = [];
  for (const { base64, mediaType } of content.flatMap(bytesIn).slice(0, MAX_INPUT_FILES)) {
    if (base64.length > (MAX_FILE_BYTES * 4) / 3) continue;
    // The file name that a server gives is not repeated to the model as the runner's own words.
    const name = `result-${stored.length + 1}`;
    const given = { name, mediaType, bytes: Buffer.from(base64, "base64") };
    try {
      stored.push((await files.put(owner, given)).file);
    } catch (error) {
      const isAboutStorage = error instanceof ServiceError || error instanceof StoreError;
      if (!(error instanceof FileRefused) && !isAboutStorage) throw error;
    }
  }
  return stored;
}

/** https://modelcontextprotocol.io/specification/2025-11-25/server/tools#tool-result */
function bytesIn(block: ContentBlock): { base64: string; mediaType: string | undefined }[] {
  const { type, data, resource } = block;
  if (type === "image" || type === "audio") return found(data, block["mimeType"]);
  if (type !== "resource" || typeof resource !== "object" || resource === null) return [];
  const { blob, mimeType } = resource as { readonly blob?: unknown; readonly mimeType?: unknown };
  return found(blob, mimeType);
}

function found(base64: unknown, mimeType: unknown) {
  if (typeof base64 !== "string") return [];
  return [{ base64, mediaType: typeof mimeType === "string" ? mimeType : undefined }];
}
