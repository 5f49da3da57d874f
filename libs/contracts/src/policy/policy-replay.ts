import { z } from "zod";
import { ApprovalTier } from "./approval-tier.ts";
import { rpc } from "../define.ts";
import { Digest, Timestamp } from "../ids.ts";
import { AccessKind, Decision, Principal, ServerFacts } from "./policy.ts";
import { PolicyFiles, PolicyProblem } from "./policy-texts.ts";
import { RecordedValues } from "./recorded-values.ts";
import { ToolRef } from "../tool-names.ts";

/** A decision of the past, with all of its inputs that the audit has. */
export const RecordedDecision = z.strictObject({
  principal: Principal,
  access: AccessKind,
  tool: ToolRef,
  server: ServerFacts.optional(),
  /** The tool patterns of the run token; null when the audit does not have them. */
  layers: z.array(z.array(z.string())).nullable().optional(),
  /** Left out: the audit has only what `values` has of them. */
  args: z.record(z.string(), z.unknown()).optional(),
  /** Digests of the arguments, and where the setting turns that on the arguments encrypted. */
  values: RecordedValues.optional(),
  /** The digest of the arguments: without it the encrypted ones cannot be read. */
  argsDigest: Digest.optional(),
  /** The time of the decision, for rules about hours and days. */
  at: Timestamp.optional(),
});
export type RecordedDecision = z.infer<typeof RecordedDecision>;

export const MAX_REPLAYED = 1_000;

/** A candidate's result for a decision of the past, or the reason why there is none. */
export const ReplayedDecision = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("decided"),
    effect: Decision.shape.effect,
    tier: ApprovalTier.optional(),
    rule: z.string().nullable(),
    reason: z.string(),
  }),
  /**
   * `arguments`: a rule tests values that the audit does not have. `values`: a rule tests more than the equality of a value, and digests
   * answer nothing else. `right`: the values are encrypted, and the caller lacks the right `replay-values`. `key`: the policy service does
   * not have the key of the digests. `layers`: the audit lacks the token's patterns. `time`: a rule is about hours or days, and the request
   * has no time. `history`: a rule is about earlier calls, which are not replayed.
   */
  z.object({
    kind: z.literal("unknown"),
    needs: z.enum(["arguments", "values", "right", "key", "layers", "time", "history"]),
    /** The condition that could not be answered, such as `/amount lte 500`. */
    about: z.string().max(300).optional(),
  }),
]);
export type ReplayedDecision = z.infer<typeof ReplayedDecision>;

/** Evaluates which decisions rules would have made, from the records. Counts, flows and stops of that time are gone and are ignored. */
export const replayDecisions = rpc({
  subject: "yard.rpc.{caller}.policy.replay",
  summary: "Evaluates a policy text on recorded decisions; changes nothing.",
  role: "admin",
  request: z.strictObject({
    /** Left out: the bundle in force. Test files are ignored. */
    files: PolicyFiles.optional(),
    decisions: z.array(RecordedDecision).max(MAX_REPLAYED),
  }),
  reply: z.object({
    /** Null when the text has problems; then nothing is replayed. */
    policyDigest: Digest.nullable(),
    problems: z.array(PolicyProblem).max(100),
    /** In the order of the request. */
    results: z.array(ReplayedDecision).max(MAX_REPLAYED),
  }),
  errors: {
    /** The limit of texts that are checked at a time is reached. */
    overloaded: { data: z.object({ limit: z.int() }), retryable: true },
    /** The text, or these decisions, took too long or too much memory. */
    too_costly: { data: z.object({ limitMs: z.int() }) },
  },
  timeoutMs: 20_000,
});
