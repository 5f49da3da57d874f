import type { Approval } from "@switchyard/contracts/policy/approval-record";
import type { ApprovalIndex } from "./approval-index.ts";
import { atTime, type ApprovalStore } from "./approval-store.ts";

/** The number of entries checked for one page: a caller who may see few of many continues with the cursor. */
const LOOKS = 5_000;

/** Returns one page of the matching approvals, newest first. */
export async function listPage(
  { index, store, now }: { index: ApprovalIndex; store: ApprovalStore; now: () => number },
  wanted: {
    readonly which: "all" | "pending";
    readonly limit: number;
    readonly cursor: string | null;
    readonly fits: (approval: Approval) => boolean;
  },
): Promise<{ approvals: Approval[]; next: string | null }> {
  const { which, limit, fits } = wanted;
  const approvals: Approval[] = [];
  let { cursor } = wanted;
  for (let looked = 0; looked < LOOKS; looked += limit) {
    const entries = await index.page(which, { limit, cursor });
    const records = await store.readMany(entries.map(({ id }) => id));
    for (const [at, entry] of entries.entries()) {
      const stored = records[at] ?? null;
      if (stored === null) {
        await index.forget(entry);
      } else {
        const isLeftOver = which === "pending" && stored.approval.state !== "pending";
        if (isLeftOver) await index.put(stored.approval);
        const approval = atTime(stored.approval, now());
        if (fits(approval)) approvals.push(approval);
      }
      ({ cursor } = entry);
      if (approvals.length === limit) return { approvals, next: cursor };
    }
    if (entries.length < limit) return { approvals, next: null };
  }
  return { approvals, next: cursor };
}
