import { z } from "zod";
import { ApprovalId, ApprovalState, GrantId } from "./approval-record.ts";
import { AuditRef, AuditWriterId } from "./audit-ref.ts";
import { DecisionSignature, Ed25519Signature, KeyId } from "./audit-signatures.ts";
import { ChannelName } from "../channels/channel-address.ts";
import { event } from "../define.ts";
import { FindingCounts } from "./findings.ts";
import { CallerName, Digest, Timestamp } from "../ids.ts";
import { CallId } from "../mcp-broker/mcp-calls.ts";
import { ApprovalTier } from "./approval-tier.ts";
import { Authentication } from "./approval-votes.ts";
import { AccessKind, Decision, Principal, ServerFacts } from "./policy.ts";
import { RecordedValues } from "./recorded-values.ts";
import { ToolRef } from "../tool-names.ts";

/**
 * The audit: what was decided, what people approved and what was executed. Each process that takes
 * part is a writer with a chain of its own; see `decisions/015-audit.md`. A message holds a block of
 * records that follow one another in that chain.
 */

/** Arguments in the form of the audit: their names, and the digest of their values. */
const argumentFacts = {
  /** The digest of the canonical JSON. */
  argsDigest: Digest,
  /** Names on the first level, at most 50, each cut at 64 characters. */
  argKeys: z.array(z.string().max(64)).max(50),
};

/** An answer of the policy to a tool provider. */
export const DecisionRecord = z.object({
  kind: z.literal("decision"),
  /** The NATS user that made the request, and the one on whose behalf it was made. */
  provider: CallerName,
  caller: CallerName,
  principal: Principal,
  access: AccessKind,
  tool: ToolRef,
  pin: Digest.optional(),
  server: ServerFacts.optional(),
  /** The tool patterns of the run token; null when they are too long to be stored here. */
  layers: z.array(z.array(z.string())).nullable().optional(),
  ...argumentFacts,
  /** The arguments themselves, without secrets: only where the setting turns that on. */
  args: z.record(z.string(), z.unknown()).optional(),
  /** True when `args` differs from the arguments that were decided about: a secret was removed, or they were cut. */
  isArgsChanged: z.boolean().optional(),
  /** Digests of the arguments, for replays: where the policy service has a key for them. */
  values: RecordedValues.optional(),
  decision: Decision,
  /** The result of the rules alone, when a stop, a flow or a budget changed it. Null: a stop, and the rules were not evaluated. */
  byRules: Decision.shape.effect.nullable().optional(),
  /** The provider may answer other calls of the same principal and tool with it, for so long. */
  keptForMs: z.int().positive().optional(),
  correlationId: z.string(),
});

/** A request with an invalid run token. */
export const RefusalRecord = z.object({
  kind: z.literal("refusal"),
  provider: CallerName,
  caller: CallerName,
  reason: z.string(),
  /** The requested tool, when the request was about one. */
  tool: ToolRef.optional(),
  argsDigest: Digest.optional(),
});

/**
 * More records like one that was just written: denials of one user by one rule for one tool, or refused tokens of one caller for one
 * reason, of which the first few within a minute have records of their own.
 */
export const RepeatRecord = z.object({
  kind: z.literal("repeat"),
  /** The kind of the repeated records. */
  what: z.enum(["decision", "refusal"]),
  /** The first record of them. */
  like: AuditRef,
  provider: CallerName,
  /** The user that they are about; for a refusal, the user that presented the tokens. */
  user: CallerName,
  /** Left out where the user requested so many that they are counted together. */
  tool: ToolRef.optional(),
  /** The rule of the denials; null when no rule allows it. */
  rule: z.string().nullable().optional(),
  /** The reason of the refusals. */
  reason: z.string().optional(),
  count: z.int().positive(),
  first: Timestamp,
  last: Timestamp,
  /** Arguments of one of them. */
  argsDigest: Digest.optional(),
});

/** A step in the life of an approval or of a standing grant. */
export const ApprovalRecord = z.object({
  kind: z.literal("approval"),
  /** `executed` and `returned`: what the provider reported of a consumed one; `returned` was provably not sent. */
  change: z.enum([
    ...ApprovalState.options,
    "voted",
    "escalated",
    "executed",
    "returned",
    "grant_issued",
    "grant_used",
    "grant_revoked",
  ]),
  /** For a grant, the approval that it was given with. */
  approvalId: ApprovalId,
  grantId: GrantId.optional(),
  principal: Principal,
  tool: ToolRef,
  tier: ApprovalTier.optional(),
  /** Once an approver has changed the arguments, this is the digest of the changed ones. */
  argsDigest: Digest.optional(),
  /** The digest of the arguments that were requested, where an approver has changed them. */
  askedDigest: Digest.optional(),
  rule: z.string().nullable(),
  policyDigest: Digest,
  callId: CallId.optional(),
  by: CallerName.optional(),
  authenticated: Authentication.optional(),
  /** The channel of a decision in a chat. */
  via: ChannelName.optional(),
  scope: z.enum(["once", "session"]).optional(),
  /** The person for whom a deputy approved. */
  standsFor: z.string().optional(),
  reason: z.string().optional(),
  provider: CallerName.optional(),
});

/** The end of an execution: an error code of the provider's contract, or one of the others. */
const Outcome = z.string().regex(/^[a-z][a-z0-9_]{0,63}$/);

const ending = {
  outcome: Outcome,
  durationMs: z.number().nonnegative(),
  /** The number of findings of each kind in the result, where the decision has an inspection of it. */
  findings: FindingCounts.optional(),
};

/** An action that a provider is about to take: a call of a tool, or another request to a server. */
export const ExecutionRecord = z.object({
  kind: z.literal("execution"),
  /** Left out: a call of a tool. For another request, `tool` names the resource or the prompt as its decision does. */
  access: AccessKind.optional(),
  /** The MCP request, such as `resources/read`; left out for a call of a tool. */
  method: z
    .string()
    .regex(/^[a-z]+\/[A-Za-z]+$/)
    .max(64)
    .optional(),
  caller: CallerName,
  principal: Principal,
  tool: ToolRef,
  pin: Digest.optional(),
  callId: CallId.optional(),
  argsDigest: Digest,
  effect: Decision.shape.effect,
  rule: z.string().nullable(),
  policyDigest: Digest,
  /** The policy's own record of the decision; null when an older policy service did not name it. */
  decision: AuditRef.nullable(),
  /** The policy's signature of the decision; with the other fields it is the whole decision. Missing from an older policy service. */
  signed: DecisionSignature.optional(),
  /** The approval or grant of a person that let it pass. */
  approvalId: ApprovalId.optional(),
  grantId: GrantId.optional(),
  /** The policy's signature that this approval or grant lets the call pass. */
  admitted: DecisionSignature.optional(),
  /** Present when it was over before the record was written; else a record of the kind `outcome` follows. */
  outcome: ending.outcome.optional(),
  durationMs: ending.durationMs.optional(),
  findings: ending.findings,
  correlationId: z.string(),
});

/** The end of an execution whose record was written before. */
export const OutcomeRecord = z.object({
  kind: z.literal("outcome"),
  /** Number of the execution's record in the same chain. */
  of: z.int().positive(),
  ...ending,
});

/**
 * Actions of people and programs without NATS at the gateway: sign-ins, refusals, and calls that only an admin may make. The runner also
 * records here which dead commands were sent again, and by which user; the policy service, which persons of chats were linked with which
 * callers.
 */
export const AccessRecord = z.object({
  kind: z.literal("access"),
  /** `called` is written before the call, and `answered` follows with its result. `inspected` is the answer of a sub-agent, with findings in `about`; `unmasked` were the values behind masks for an approver. */
  change: z.enum([
    "signed_in",
    "signed_out",
    "refused",
    "called",
    "answered",
    "linked",
    "unlinked",
    "inspected",
    "unmasked",
  ]),
  /** Null when the credential did not identify its user. */
  caller: CallerName.nullable(),
  /** The name of the credential, never the credential. */
  credential: z.string().max(200).nullable(),
  /** The address, resolved by the gateway's setting of trusted proxies; `nats` where the runner recorded it. */
  address: z.string().max(64),
  /** The contract's name, or the operation of the gateway itself. */
  operation: z.string().max(128),
  /** Set for a request that changes nothing, such as those of a page of the console. */
  isRead: z.literal(true).optional(),
  /** The object of the operation, where the record has it. */
  about: z.string().max(200).optional(),
  /** The HTTP status and the problem code of the answer; missing when there was none. */
  status: z.int().optional(),
  code: z.string().max(64).optional(),
  /** The request's id in logs. */
  requestId: z.string().max(100),
});

/** The position of a chain, as other writers have recorded it. */
export const ChainHead = z.object({
  writer: AuditWriterId,
  seq: z.int().positive(),
  hash: Digest,
});
export type ChainHead = z.infer<typeof ChainHead>;

/** Heads in one seal. */
export const MAX_SEALED_HEADS = 500;

/** Written by the policy service, about every minute and at its end: the signed heads of all chains that grew. */
export const SealRecord = z.object({
  kind: z.literal("seal"),
  signedAt: Timestamp,
  heads: z.array(ChainHead).min(1).max(MAX_SEALED_HEADS),
  kid: KeyId,
  /** The signature of `sealText` in `signed-texts.ts`. */
  signature: Ed25519Signature,
});

/** The begin and the orderly end of a writer. A chain without an end is one of a process that was killed. */
export const ChainRecord = z.object({
  kind: z.literal("chain"),
  change: z.enum(["started", "ended"]),
  instance: z.string(),
  version: z.string(),
  /** The last known heads of the service's other chains when this one began. */
  others: z.array(ChainHead).max(100).optional(),
});

export const AuditFact = z.discriminatedUnion("kind", [
  DecisionRecord,
  RefusalRecord,
  RepeatRecord,
  ApprovalRecord,
  ExecutionRecord,
  OutcomeRecord,
  AccessRecord,
  ChainRecord,
  SealRecord,
]);
export type AuditFact = z.infer<typeof AuditFact>;

export const MAX_BLOCK_RECORDS = 1_000;

/** The fields that put a record into its chain. */
const chainFields = {
  /** Counts from 1, without a gap. */
  seq: z.int().positive(),
  at: Timestamp,
  /** SHA-256 of the canonical JSON of the record, its writer and the hash of the record before it; see `audit-chain.ts`. */
  hash: Digest,
};

/** A block of one subject. `prev` is the hash of the record before the first; null for the first of a chain. */
function blockOf<R extends z.ZodType>(record: R) {
  return z.object({
    v: z.literal(1),
    service: CallerName,
    writer: AuditWriterId,
    prev: Digest.nullable(),
    records: z.array(record).min(1).max(MAX_BLOCK_RECORDS),
  });
}

export const auditDecision = event({
  subject: "yard.evt.audit.{service}.decision",
  summary: "What the policy decided about calls, and which run tokens it refused.",
  payload: blockOf(
    z.discriminatedUnion("kind", [
      DecisionRecord.extend(chainFields),
      RefusalRecord.extend(chainFields),
      RepeatRecord.extend(chainFields),
    ]),
  ),
});

export const auditApproval = event({
  subject: "yard.evt.audit.{service}.approval",
  summary: "What became of approvals and grants, and by whom.",
  payload: blockOf(ApprovalRecord.extend(chainFields)),
});

export const auditExecution = event({
  subject: "yard.evt.audit.{service}.execution",
  summary: "What a tool provider did, by which decisions, and how it ended.",
  payload: blockOf(
    z.discriminatedUnion("kind", [
      ExecutionRecord.extend(chainFields),
      OutcomeRecord.extend(chainFields),
    ]),
  ),
});

export const auditAccess = event({
  subject: "yard.evt.audit.{service}.access",
  summary:
    "Who signed in over HTTP, who was refused, what admins did there, which dead commands were sent again, and which chats were linked.",
  payload: blockOf(AccessRecord.extend(chainFields)),
});

export const auditChain = event({
  subject: "yard.evt.audit.{service}.chain",
  summary:
    "A process of the service begins or ends its chain of audit records, or the policy service signs how far all chains are.",
  payload: blockOf(
    z.discriminatedUnion("kind", [ChainRecord.extend(chainFields), SealRecord.extend(chainFields)]),
  ),
});

export const auditEvents = [
  auditDecision,
  auditApproval,
  auditExecution,
  auditAccess,
  auditChain,
] as const;

/** The event that carries a fact. */
export const AUDIT_EVENT_OF = {
  decision: auditDecision,
  refusal: auditDecision,
  repeat: auditDecision,
  approval: auditApproval,
  execution: auditExecution,
  outcome: auditExecution,
  access: auditAccess,
  chain: auditChain,
  seal: auditChain,
} as const satisfies Record<AuditFact["kind"], (typeof auditEvents)[number]>;
