import { z } from "zod";

const data = z.object({ cause: z.string() });

/** Redis does not answer, and the object of the request is there. A repeated request completes any partial change. */
export const storeUnavailable = { data, retryable: true } as const;

/**
 * The data of the standard code `storage_full`: new work is refused before anything was done, because Redis or the owner's share of it is
 * full. Requests that end or release something are accepted all the same.
 */
export const StorageFull = z.object({
  /** `owner`: the owner has to delete something, or wait until it expires. `redis`: the installation has to get more memory. */
  scope: z.enum(["owner", "redis"]),
  usedBytes: z.int().nonnegative(),
  limitBytes: z.int().nonnegative(),
});
export type StorageFull = z.infer<typeof StorageFull>;

/** The same for an action that must not be done twice: it may have been executed, so check before the request is repeated. */
export const storeUnsure = { data, retryable: false } as const;
