import { z } from "zod";

/** The most arguments of one call, with the objects and lists around them, that a record has digests of. */
export const MAX_RECORDED_VALUES = 32;
/** The longest JSON pointer to one of them; longer ones are left out. */
export const MAX_RECORDED_POINTER = 128;

/**
 * The arguments of a decided call, so that other rules can be replayed on it. Each value has a letter for its type: `s` text, `n` number,
 * `b` boolean, `z` null, `o` object, `a` list, `m` text with masks. A scalar has its digest behind it: 128 bits of an HMAC-SHA-256 with the
 * owner of the call and the type, in base64url. One that looks like a secret has none. A text with masks has the masks behind it.
 */
export const RecordedValues = z.strictObject({
  /** Identifies the key. */
  key: z.string().regex(/^[0-9a-f]{8}$/),
  /** By JSON pointer, each object and list before its members. */
  digests: z.record(
    z.string().max(MAX_RECORDED_POINTER),
    z.string().regex(/^(?:(?:s|n|b|z)(?:[\w-]{22})?|[oa]|m[^\s]{1,200})$/),
  ),
  /** True: the call had more arguments. */
  isCut: z.literal(true).optional(),
  /** All arguments, encrypted with the key: only where the setting turns that on, and none of them was removed as a secret. */
  sealed: z.string().max(65_536).optional(),
});
export type RecordedValues = z.infer<typeof RecordedValues>;
