import { z } from "zod";
import { AuditWriterId } from "./audit-ref.ts";
import { rpc } from "./define.ts";
import { CallerName, Digest, RunId, Timestamp } from "./ids.ts";

/** A record of the audit with its place in its chain: what `yard audit export` writes and `yard audit verify --file` checks. */
export const AuditedRecord = z.looseObject({
  v: z.literal(1),
  service: CallerName,
  writer: AuditWriterId,
  seq: z.int().positive(),
  at: Timestamp,
  prev: Digest.nullable(),
  hash: Digest,
  /** As in {@link AuditFact}; the other members follow from it. */
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
    /** Of the records, such as decision, approval or execution. */
    kind: z
      .string()
      .regex(/^[a-z]{1,32}$/)
      .optional(),
    /** Whom they are about, or who asked. */
    user: CallerName.optional(),
    runId: RunId.optional(),
    /** A part of the name of the tool. */
    tool: z.string().max(128).optional(),
    order: z.enum(["newest", "oldest"]).default("newest"),
    /** From the answer before, with everything else as it was. */
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
    /** At most 100 of what is wrong. */
    problems: z.array(z.string()),
  }),
  errors: {
    ...queryErrors,
    /** The audit is too long for one request, or another check is under way. */
    audit_busy: { data: z.object({ records: z.int() }), retryable: true },
  },
  timeoutMs: 60_000,
});
