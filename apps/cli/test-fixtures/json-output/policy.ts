import * as approvals from "@switchyard/contracts/policy/approvals";
import { AuditFact } from "@switchyard/contracts/policy/audit";
import { AuditExportPart } from "@switchyard/contracts/policy/audit-queries";
import { AuditRef, AuditWriterId } from "@switchyard/contracts/policy/audit-ref";
import { CallerName, Digest, Timestamp } from "@switchyard/contracts/ids";
import { Decision } from "@switchyard/contracts/policy/policy";
import * as budgets from "@switchyard/contracts/policy/policy-budgets";
import * as bundles from "@switchyard/contracts/policy/policy-bundles";
import { explainPolicy } from "@switchyard/contracts/policy/policy-explain";
import { listTokenKeys } from "@switchyard/contracts/policy/policy-grants";
import { validatePolicy } from "@switchyard/contracts/policy/policy-texts";
import { listGrants, revokeGrant } from "@switchyard/contracts/policy/session-grants";
import { PublicJwk } from "@switchyard/audit/audit-keys";
import { z } from "zod";
import type { JsonOutputs } from "./output.ts";

const { strictObject: strict, array, string, int, boolean, literal, union } = z;
const count = int().nonnegative();

/** With the coverage where files are judged, and not what is in force. */
const judged = validatePolicy.reply.extend({
  coverage: strict({ covered: array(string()), untested: array(string()) }).optional(),
});

const replayed = strict({
  policyDigest: Digest.nullable(),
  decisions: count,
  same: count,
  changes: array(
    strict({
      tool: string(),
      who: string(),
      before: string(),
      after: string(),
      beforeRule: string().nullable(),
      afterRule: string().nullable(),
      count: int().positive(),
      example: AuditRef,
    }),
  ),
  unknown: array(strict({ tool: string(), needs: string(), count: int().positive() })),
});

/** A record of the audit with its position in its chain. */
const place = {
  v: literal(1),
  service: CallerName,
  writer: AuditWriterId,
  seq: int().positive(),
  at: Timestamp,
  prev: Digest.nullable(),
  hash: Digest,
};
const record = union(AuditFact.options.map((fact) => fact.extend(place)));

const verified = strict({
  messages: count,
  records: count,
  repeated: count,
  strays: strict({ count, first: int().nullable() }),
  breaks: array(
    strict({
      kind: z.enum([
        "changed",
        "missing",
        "order",
        "cut",
        "foreign",
        "unreadable",
        "after-end",
        "signature",
        "contradicted",
        "unsigned",
      ]),
      sequence: int().nullable(),
      writer: string().nullable(),
      seq: int().nullable(),
      message: string(),
    }),
  ),
  chains: array(
    strict({
      writer: AuditWriterId,
      service: CallerName,
      from: int().positive(),
      to: int().positive(),
      firstAt: Timestamp,
      lastAt: Timestamp,
      hasEnded: boolean(),
    }),
  ),
  calls: strict({
    executions: count,
    proven: count,
    bySignature: count,
    lost: array(
      strict({
        writer: AuditWriterId,
        from: int().positive(),
        to: int().positive(),
        executed: count,
      }),
    ),
    openEnds: count,
    findings: array(
      strict({
        kind: z.enum(["violation", "unproven"]),
        ref: AuditRef,
        tool: string(),
        message: string(),
      }),
    ),
  }),
  sealed: strict({ seals: count, records: count, since: Timestamp.nullable() }).nullable(),
  export: strict({
    from: count,
    to: count,
    stream: strict({ first: count, last: count }),
    since: Timestamp.nullable(),
    until: Timestamp.nullable(),
    signedAt: Timestamp,
  }).nullable(),
});

export const POLICY_OUTPUTS: JsonOutputs = {
  "policy explain": { document: explainPolicy.reply },
  "policy check": { document: Decision },
  "policy rules": { document: bundles.listPolicyRules.reply.omit({ next: true }) },
  "policy who-can": { document: bundles.whoCanCall.reply },
  "policy activate": { document: bundles.activatePolicy.reply },
  "policy rollback": { document: bundles.rollbackPolicy.reply },
  "policy versions": { document: bundles.listPolicyVersions.reply },
  "policy keys": { document: listTokenKeys.reply },
  "policy replay": { document: replayed },
  "policy stop": { document: budgets.stopCalls.reply },
  "policy resume": { document: budgets.resumeCalls.reply },
  "policy stops": { document: budgets.listStops.reply },
  "policy test": { document: judged },
  "policy lint": { document: judged },
  "policy import": {
    document: strict({
      policies: count,
      rules: count,
      text: string(),
      notes: array(
        strict({
          line: int().positive(),
          policy: string(),
          kind: union([literal("left-out"), literal("stricter"), literal("failed")]),
          reason: string(),
        }),
      ),
    }),
  },
  "policy export": {
    document: strict({
      text: string(),
      notes: array(strict({ rule: string(), reason: string() })),
    }),
  },
  revoke: { document: union([budgets.stopCalls.reply, budgets.resumeCalls.reply]) },
  "approvals list": { document: approvals.listApprovals.reply },
  "approvals show": { document: approvals.getApproval.reply },
  "approvals approve": { document: approvals.approveCall.reply },
  "approvals deny": { document: approvals.denyCall.reply },
  "approvals cancel": { document: approvals.cancelApproval.reply },
  "approvals watch": { line: approvals.getApproval.reply },
  "grants list": { document: listGrants.reply },
  "grants revoke": { document: revokeGrant.reply },
  "audit tail": { line: record },
  "audit export": { line: union([record, AuditExportPart]) },
  "audit keys": {
    document: strict({ keys: array(PublicJwk.extend({ kid: string() })) }),
  },
  "audit verify": { document: verified },
};
