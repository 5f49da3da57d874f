import { z } from "zod";
import { AuditWriterId } from "./audit-ref.ts";
import { Ed25519Signature, KeyId } from "./audit-signatures.ts";
import { rpc } from "../define.ts";
import { CallerName, Digest, RunId, Timestamp } from "../ids.ts";

/** A record of the audit with its place in its chain: what `yard audit export` writes and `yard audit verify --file` checks. */
export const AuditedRecord = z.looseObject({
  v: z.literal(1),
  service: CallerName,
  writer: AuditWriterId,
  seq: z.int().positive(),
  at: Timestamp,
  prev: Digest.nullable(),
  hash: Digest,
  /** The kind of {@link AuditFact}; the other members follow from it. */
  kind: z.string(),
});

const queryErrors = {
  forbidden_admin: { data: z.object({ caller: z.string(), setting: z.string() }) },
  audit_unavailable: { data: z.object({ cause: z.string() }), retryable: true },
} as const;

export const listAudit = rpc({
  subject: "yard.rpc.{caller}.policy.audit.list",
  summary: "Reads records of the audit, for policy admins.",
  role: "admin",
  request: z.strictObject({
    since: Timestamp.optional(),
    until: Timestamp.optional(),
    /** The kind of the records, such as decision, approval or execution. */
    kind: z
      .string()
      .regex(/^[a-z]{1,32}$/)
      .optional(),
    /** The user that they are about, or that made the request. */
    user: CallerName.optional(),
    runId: RunId.optional(),
    /** A part of the name of the tool. */
    tool: z.string().max(128).optional(),
    /** False: without the reads of admins that succeeded, such as the console's own, and without seals, unless `kind` is seal. */
    reads: z.boolean().default(true),
    order: z.enum(["newest", "oldest"]).default("newest"),
    /** Taken from the previous answer; all other fields have to be unchanged. */
    cursor: z
      .string()
      .regex(/^\d{1,15}:\d{1,6}$/)
      .optional(),
    limit: z.int().min(1).max(500).default(100),
  }),
  reply: z.object({
    records: z.array(AuditedRecord),
    /** Null when there are no more. Fewer records than the limit do not mean that: an answer looks at a part of the audit. */
    cursor: z.string().nullable(),
  }),
  errors: queryErrors,
  timeoutMs: 20_000,
});

/** A chain in one part of an export. */
const ExportedChain = z.object({
  writer: AuditWriterId,
  /** Its first record in the part, and the hash of the record before. */
  from: z.object({ seq: z.int().positive(), prev: Digest.nullable() }),
  /** Its last. */
  to: z.object({ seq: z.int().positive(), hash: Digest }),
});

/**
 * A part of an export as the policy service has read it from the stream and signs it: a line of the export behind the records that it
 * covers. With the hashes of the records, no record in between can be replaced or missing.
 */
export const AuditExportPart = z.object({
  kind: z.literal("export"),
  /** The id of this export. */
  export: z.uuid(),
  /** From 1. */
  part: z.int().positive(),
  isLast: z.boolean(),
  /** Messages of the stream that were read, both included; `to` is less than `from` when there were none. */
  from: z.int().nonnegative(),
  to: z.int().nonnegative(),
  /** The requested range; null: no limit. */
  since: Timestamp.nullable(),
  until: Timestamp.nullable(),
  /** The bounds of the stream when the part was signed. */
  stream: z.object({ first: z.int(), last: z.int() }),
  records: z.int().nonnegative(),
  chains: z.array(ExportedChain),
  signedAt: Timestamp,
  kid: KeyId,
  /** The signature of `exportText` in `signed-texts.ts`. */
  signature: Ed25519Signature,
});

export const exportAudit = rpc({
  subject: "yard.rpc.{caller}.policy.audit.export",
  summary: "Reads a part of the audit in the order of the stream and signs what was read.",
  role: "admin",
  request: z.strictObject({
    /** A new one for each export. */
    export: z.uuid(),
    part: z.int().positive().default(1),
    since: Timestamp.optional(),
    until: Timestamp.optional(),
    /** `next` of the previous answer; left out for the first part. */
    from: z.int().positive().optional(),
    /** The last message of the export: `upTo` of the first answer. */
    upTo: z.int().nonnegative().optional(),
  }),
  reply: z.object({
    records: z.array(AuditedRecord),
    part: AuditExportPart,
    /** The start of the next part; null when this was the last. */
    next: z.int().positive().nullable(),
    upTo: z.int().nonnegative(),
  }),
  errors: {
    ...queryErrors,
    /** Every key that could sign was revoked. */
    no_key: { data: z.object({}) },
  },
  timeoutMs: 20_000,
});

export const verifyAudit = rpc({
  subject: "yard.rpc.{caller}.policy.audit.verify",
  summary:
    "Checks that nothing of the audit is missing or changed, and that every call was allowed.",
  role: "admin",
  request: z.strictObject({
    /** Missing: from its beginning. */
    since: Timestamp.optional(),
  }),
  reply: z.object({
    isIntact: z.boolean(),
    records: z.int(),
    chains: z.int(),
    executions: z.int(),
    /** Calls with the decision that allowed them. */
    proven: z.int(),
    /** Records that a signature of the policy service covers. */
    sealed: z.int().optional(),
    /** The first problems, at most 100. */
    problems: z.array(z.string()),
  }),
  errors: {
    ...queryErrors,
    /** The audit is too long for one request, or another check is running. */
    audit_busy: { data: z.object({ records: z.int() }), retryable: true },
  },
  timeoutMs: 60_000,
});
