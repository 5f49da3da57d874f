import { z } from "zod";

/**
 * The part of a person in a call, from none to each time: `auto` needs no person, `session` needs an approval that may be valid for a
 * while, `always` needs one for this very call.
 */
export const ApprovalTier = z.enum(["auto", "session", "always"]);
export type ApprovalTier = z.infer<typeof ApprovalTier>;

const STRICTNESS: Readonly<Record<ApprovalTier, number>> = { auto: 0, session: 1, always: 2 };

/** Negative when `one` requires less of people than `other`, positive when it requires more. */
export function compareTiers(one: ApprovalTier, other: ApprovalTier): number {
  return STRICTNESS[one] - STRICTNESS[other];
}

/** The tier that requires more of people; `undefined` requires nothing. */
export function stricterTier(one: ApprovalTier, other: ApprovalTier | undefined): ApprovalTier {
  return other !== undefined && compareTiers(other, one) > 0 ? other : one;
}
