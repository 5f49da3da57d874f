import { z } from "zod";

/**
 * How much a person has to do with a call, from nothing to each time: `auto` needs nobody, `session`
 * needs an approval that may be good for a while, `always` needs one for this very call.
 */
export const ApprovalTier = z.enum(["auto", "session", "always"]);
export type ApprovalTier = z.infer<typeof ApprovalTier>;

const STRICTNESS: Readonly<Record<ApprovalTier, number>> = { auto: 0, session: 1, always: 2 };

/** Negative when `one` asks less of people than `other`, positive when it asks more. */
export function compareTiers(one: ApprovalTier, other: ApprovalTier): number {
  return STRICTNESS[one] - STRICTNESS[other];
}

/** The one that asks more of people; `undefined` asks nothing. */
export function stricterTier(one: ApprovalTier, other: ApprovalTier | undefined): ApprovalTier {
  return other !== undefined && compareTiers(other, one) > 0 ? other : one;
}
