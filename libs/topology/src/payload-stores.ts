import type { ObjectStoreDefinition } from "./streams.ts";
import type { BusUser } from "./topology.ts";
import { isService } from "@switchyard/contracts/user-names";

/**
 * Payloads that are too large for a message; the message carries the reference. A bucket belongs to the users that may read it: a client
 * reads its own and the shared one, writes into its own alone, and may store as much as its bucket holds. A single bucket cannot do that:
 * its API reads any message of a stream by its number, and a stream has no quota for a part of its subjects. See
 * `decisions/033-shared-stores.md`.
 */
const BUCKET = "YARD_PAYLOADS";
const TTL_MS = 24 * 60 * 60_000;
const MIB = 1024 * 1024;
/** Users are in lower case, so no user's bucket has the name of the services' one. */
const SERVICES = "SERVICES";

/** Events that every user may read. Older versions stored all payloads there. */
export const sharedPayloads: ObjectStoreDefinition = {
  bucket: BUCKET,
  description: "Large payloads of events for everybody",
  ttlMs: TTL_MS,
  maxBytes: 1024 * MIB,
};

/** Payloads between services. */
export const servicePayloads: ObjectStoreDefinition = {
  bucket: `${BUCKET}_${SERVICES}`,
  description: "Large payloads between services",
  ttlMs: TTL_MS,
  maxBytes: 1024 * MIB,
};

/**
 * The files that runs get with their input, of all owners. Runners alone read and write it: they know whose file is whose, and count the
 * bytes of each owner. A run may be retried for 30 days after its end, and a stored file
 * is used for 30 days by the same upload, so files are kept for twice as long.
 */
export const inputFiles: ObjectStoreDefinition = {
  bucket: "YARD_FILES",
  description: "Files that are parts of inputs of runs",
  ttlMs: 60 * TTL_MS,
  maxBytes: 2 * 1024 * MIB,
};

/**
 * The journals of runs that ended some time ago, many to an object. Runners alone read and write it. The ones that are kept for longer are stored again before
 * they would be deleted. An operator may grant the bucket more room; while it is full, journals stay in Redis.
 */
export const runArchive: ObjectStoreDefinition = {
  bucket: "YARD_ARCHIVE",
  description: "Journals of ended runs",
  ttlMs: 60 * TTL_MS,
  maxBytes: 224 * MIB,
};

/** Returns the store for requests of a user, the replies to them and events about what it owns. */
export function payloadsOf(user: string): ObjectStoreDefinition {
  if (isService(user)) return servicePayloads;
  return {
    bucket: `${BUCKET}_${user}`,
    description: `Large payloads of ${user}`,
    ttlMs: TTL_MS,
    maxBytes: 512 * MIB,
  };
}

/** True for a user that has a bucket of its own. */
export function hasOwnPayloads(user: BusUser): boolean {
  return !isService(user.name) && !user.administersStreams && !user.retainsAudit;
}

/** The user that a bucket is made for, null for the buckets that every installation has or that are not Switchyard's. */
export function ownerOfPayloads(bucket: string): string | null {
  return new RegExp(`^${BUCKET}_([a-z0-9][a-z0-9-]*)$`).exec(bucket)?.[1] ?? null;
}

/** True for a name that one of the buckets may have. */
export function isPayloadBucket(bucket: string): boolean {
  return (
    bucket === sharedPayloads.bucket ||
    bucket === servicePayloads.bucket ||
    ownerOfPayloads(bucket) !== null
  );
}

/** The stream of a bucket, laid out as NATS lays out an object store. */
export function bucketStream({ bucket }: Pick<ObjectStoreDefinition, "bucket">): string {
  return `OBJ_${bucket}`;
}
