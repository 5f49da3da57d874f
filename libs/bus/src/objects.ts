import { bucketStream } from "@switchyard/topology/payload-stores";
import type { Bus } from "./bus.ts";
import { ClaimError } from "./claim-check.ts";
import { connectionOf } from "./connection.ts";
import { purgeSubject } from "./purge-subject.ts";

/** Bytes in an object store. */
export interface StoredObject {
  readonly bucket: string;
  /** 32 hexadecimal digits. */
  readonly name: string;
  readonly sizeBytes: number;
  /** The digest of the bytes, as 64 hexadecimal digits. */
  readonly sha256: string;
}

/**
 * Stores bytes under a new name, or under the given one, in a bucket that the bus's user may write. They leave it after `ttlMs`, which has whole seconds, or with the bucket's lifetime, and
 * nothing replaces them. Rejects with `payload_too_large` when the bucket is full or missing.
 */
export async function putObject(
  bus: Bus,
  bucket: string,
  source: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  more: { readonly ttlMs?: number; readonly name?: string } = {},
): Promise<StoredObject> {
  const { claims } = connectionOf(bus);
  const payload = { subject: `$O.${bucket}`, owner: null, bucket, ...more };
  const stored = await claims.putObject(source, payload);
  const { name, size: sizeBytes, digest } = stored;
  return { bucket, name, sizeBytes, sha256: digest.slice(DIGEST_PREFIX.length) };
}

/**
 * Reads the bytes of an object. Resolves with null when it is no longer stored or is another one than the reference says; rejects with a
 * ServiceError while the store cannot be read.
 */
export async function getObject(
  bus: Bus,
  { bucket, name, sizeBytes, sha256 }: StoredObject,
): Promise<Buffer | null> {
  const { claims } = connectionOf(bus);
  const reference = { bucket, name, size: sizeBytes, digest: `${DIGEST_PREFIX}${sha256}` };
  try {
    return await claims.getObject(reference);
  } catch (error) {
    if (error instanceof ClaimError) return null;
    throw error;
  }
}

/** Deletes the bytes of an object; does nothing when there are none. Rejects with a ServiceError. */
export async function deleteObject(
  bus: Bus,
  { bucket, name }: Pick<StoredObject, "bucket" | "name">,
): Promise<void> {
  await purgeSubject(bus, bucketStream({ bucket }), `$O.${bucket}.C.${name}.>`);
}

const DIGEST_PREFIX = "sha256:";
