import { z } from "zod";

const data = z.object({ cause: z.string() });

/** Redis does not answer, and what the request is about is there. Nothing was changed that a repetition does not complete. */
export const storeUnavailable = { data, retryable: true } as const;

/**
 * The data of the standard code `storage_full`: new work is refused before anything was done, because Redis or what one owner may keep in it is
 * full. What ends or releases something is accepted all the same.
 */
export const StorageFull = z.object({
  /** `owner`: the owner has to delete something, or wait until it expires. `redis`: the installation has to get more memory. */
  scope: z.enum(["owner", "redis"]),
  usedBytes: z.int().nonnegative(),
  limitBytes: z.int().nonnegative(),
});
export type StorageFull = z.infer<typeof StorageFull>;

/** The same for what must not be done twice: it may have been carried out, so look before it is asked again. */
export const storeUnsure = { data, retryable: false } as const;
