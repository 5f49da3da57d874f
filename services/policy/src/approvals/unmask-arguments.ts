import type { Approval, Presentation } from "@switchyard/contracts/policy/approval-record";
import type { AuditFact } from "@switchyard/contracts/policy/audit";
import type { CallContext } from "@switchyard/bus/handler";
import { getApproval } from "@switchyard/contracts/policy/approvals";
import type { Finding } from "@switchyard/contracts/policy/findings";
import { masksInValue } from "@switchyard/service/inspect/masks-in";
import type { Log } from "@switchyard/service/log";
import { StoreError } from "@switchyard/service/store-error";
import type { MaskStore } from "@switchyard/tool-provider/mask-store";
import { refusedBy, settingsFor, type ApproverSettings } from "./approver.ts";

type Caller = Pick<CallContext, "caller" | "roles" | "correlationId">;

export type UnmaskFor = (
  approval: Approval,
  presentation: Presentation,
  caller: Caller,
) => Promise<{ mask: string; value: string }[]>;

/**
 * Turns masks in the arguments of a waiting call back for a person who may decide about it, where a rule permits it. Each time is recorded, and
 * what cannot be recorded is not shown. Without the key, or while Redis is away, the person sees the masks.
 */
export function createUnmask(parts: {
  readonly masks: Pick<MaskStore, "values">;
  readonly settings: ApproverSettings;
  readonly kindsFor: (approval: Approval) => readonly Finding[];
  /** False while nothing can be recorded. */
  readonly canRecord: () => boolean;
  readonly record: (fact: Extract<AuditFact, { kind: "access" }>) => void;
  readonly log: Log;
}): UnmaskFor {
  const { masks, settings, kindsFor, canRecord, record, log } = parts;
  return async (approval, { args }, caller) => {
    const { principal, state, id } = approval;
    if (state !== "pending" || principal.runId === null) return [];
    const kinds = kindsFor(approval);
    if (kinds.length === 0) return [];
    if (refusedBy(settingsFor(settings, caller), caller.caller, approval) !== null) return [];
    const found = masksInValue(args).filter(({ kind }) => kinds.includes(kind));
    const wanted = [...new Set(found.map(({ mask }) => mask))];
    if (wanted.length === 0 || !canRecord()) return [];
    try {
      const values = await masks.values(principal.runId, wanted);
      if (values.size > 0)
        record({
          kind: "access",
          change: "unmasked",
          caller: caller.caller,
          credential: null,
          address: "nats",
          operation: getApproval.name,
          about: id,
          requestId: caller.correlationId,
        });
      return [...values].map(([mask, value]) => ({ mask, value }));
    } catch (err) {
      if (!(err instanceof StoreError)) throw err;
      log.warn({ err, approvalId: id }, "values behind masks not read for an approver");
      return [];
    }
  };
}
