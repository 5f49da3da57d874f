import { z } from "zod";
import { ApprovalTier } from "../policy/approval-tier.ts";
import { RunOrigin } from "./run-context.ts";
import { RunTokenClaims } from "../policy/run-token.ts";

/**
 * The rights of a run that begins a run in another session, as its token has them. The other run has them beside its own: every tool passes
 * the layers of both, each call needs the stricter approval, and its origin is that of the sender, one level deeper.
 */
export const RunSender = z.strictObject({
  tools: RunTokenClaims.shape.tools,
  approval: ApprovalTier.optional(),
  origin: RunOrigin.omit({ session: true, model: true }),
});
export type RunSender = z.infer<typeof RunSender>;
