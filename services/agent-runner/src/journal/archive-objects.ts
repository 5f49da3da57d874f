import { createHash } from "node:crypto";
import type { Bus } from "@switchyard/bus/bus";
import { deleteObject, getObject, putObject } from "@switchyard/bus/objects";
import { ServiceError } from "@switchyard/contracts/errors";
import { runArchive } from "@switchyard/topology/payload-stores";
import { StoreError } from "@switchyard/service/store-error";
import { z } from "zod";

/** The objects of the archive of runs. Everything rejects with StoreError while the store cannot be used. */
export interface ArchiveObjects {
  /** Stores bytes under a new name of 16 characters of base64url for at least `keepMs`, if `storedForMs` is not less. */
  put(name: string, bytes: Buffer, keepMs: number): Promise<PutObject>;
  /** Null when the object is no longer stored, or another one is in its place. */
  get(reference: string): Promise<Buffer | null>;
  /** Deletes what is stored under a name, if anything is. */
  delete(name: string): Promise<void>;
}

interface PutObject {
  /** With it the object is read, also after the setting has changed. */
  readonly reference: string;
  /** The time after which the store deletes the object. */
  readonly storedForMs: number;
}

/** The keys of a store other than JetStream: bytes by name. */
export interface ForeignObjects {
  put(name: string, bytes: Buffer): Promise<void>;
  /** Null when there is no such object. It rejects when the object has more than `sizeBytes`. */
  get(name: string, sizeBytes: number): Promise<Buffer | null>;
  delete(name: string): Promise<void>;
}

/** References of earlier versions have no `in`; all of them are to the bucket. */
const Reference = z.object({
  name: z.string(),
  sizeBytes: z.number(),
  sha256: z.string(),
  in: z.literal("s3").optional(),
});

/**
 * The objects in the bucket `YARD_ARCHIVE`, or in another store. An object is read where it was stored: objects that the bucket has are still read after
 * another store was chosen, and move there when they are stored again.
 */
export function openArchiveObjects(bus: Bus, foreign: ForeignObjects | null): ArchiveObjects {
  return {
    async put(name, bytes, keepMs) {
      if (foreign === null) return putIntoBucket(bus, { name, bytes }, keepMs);
      await foreign.put(name, bytes);
      const reference = { name, sizeBytes: bytes.length, sha256: digestOf(bytes), in: "s3" };
      return { reference: JSON.stringify(reference), storedForMs: Number.POSITIVE_INFINITY };
    },

    async get(text) {
      const reference = Reference.parse(JSON.parse(text));
      if (reference.in === undefined)
        return fromBucket(getObject(bus, { bucket: runArchive.bucket, ...reference }));
      if (foreign === null)
        throw new StoreError(
          `object ${reference.name} of the archive of runs is in an S3 store: set YARD_RUN_ARCHIVE_URL to where it is`,
        );
      const bytes = await foreign.get(reference.name, reference.sizeBytes);
      return bytes !== null && digestOf(bytes) === reference.sha256 ? bytes : null;
    },

    // It may be in the bucket since before another store was chosen.
    async delete(name) {
      await fromBucket(deleteObject(bus, { bucket: runArchive.bucket, name }));
      await foreign?.delete(name);
    },
  };
}

/** Returns the name of the object that a reference is about. */
export function objectName(reference: string): string {
  return Reference.parse(JSON.parse(reference)).name;
}

async function putIntoBucket(
  bus: Bus,
  { name, bytes }: { readonly name: string; readonly bytes: Buffer },
  keepMs: number,
): Promise<PutObject> {
  const storedForMs = Math.min(keepMs, runArchive.ttlMs);
  const { sizeBytes, sha256 } = await fromBucket(
    putObject(bus, runArchive.bucket, [bytes], { ttlMs: storedForMs, name }),
  );
  return { reference: JSON.stringify({ name, sizeBytes, sha256 }), storedForMs };
}

/** The services that wait for a store retry what a StoreError ends. */
async function fromBucket<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    throw new StoreError(`the archive of runs cannot be used: ${error.message}`, { cause: error });
  }
}

function digestOf(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}
