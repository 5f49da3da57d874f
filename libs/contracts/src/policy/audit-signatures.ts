import { z } from "zod";

/** RFC 7638 thumbprint of an Ed25519 key of the policy service, the `kid` of its run tokens, too. */
export const KeyId = z.string().regex(/^[A-Za-z0-9_-]{43}$/);

/** Ed25519 (RFC 8032), base64url. */
export const Ed25519Signature = z.string().regex(/^[A-Za-z0-9_-]{86}$/);

/** Decisions of one turn of the event loop have one signature: at most so many steps lead from one of them to it. */
export const MAX_PATH = 8;

/**
 * The policy service's signature of a decision that lets a call pass, or of a person's approval that does. A tool provider stores it
 * unchanged in its own record of the call, so the call is proven even when the policy's record was lost. The signed text is in
 * `signed-texts.ts`.
 */
export const DecisionSignature = z.object({
  /** The time of the decision, in milliseconds since the Unix epoch. */
  at: z.int().positive(),
  /** The decision was given for any arguments, and for so long. */
  keptForMs: z.int().positive().optional(),
  /** The hashes that lead from this decision to the one that was signed; empty when it was signed alone. */
  path: z
    .array(z.string().regex(/^[A-Za-z0-9_-]{43}$/))
    .max(MAX_PATH)
    .optional(),
  kid: KeyId,
  signature: Ed25519Signature,
});
export type DecisionSignature = z.infer<typeof DecisionSignature>;
