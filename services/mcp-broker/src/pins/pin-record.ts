import type { PinState, ToolPin } from "@switchyard/contracts/mcp-broker/mcp-pins";
import { Digest } from "@switchyard/contracts/ids";
import { ToolFinding } from "@switchyard/contracts/mcp-broker/mcp-pins";
import { z } from "zod";

/** The record of one tool of a server, whichever broker saw it. */
export const PinRecord = z.object({
  tool: z.string(),
  name: z.string(),
  /** Digest of the definition that was listed last. */
  digest: Digest,
  definitionDigest: Digest,
  findings: z.array(ToolFinding),
  firstSeenAt: z.string(),
  seenAt: z.string(),
  approved: z
    .object({ digest: Digest, definitionDigest: Digest, by: z.string(), at: z.string() })
    .nullable(),
  blocked: z.object({ by: z.string(), at: z.string() }).nullable(),
  /** Digest of the server's first listing, for a tool that was in it. A record of an earlier version has none. */
  firstListing: Digest.optional(),
});
export type PinRecord = z.infer<typeof PinRecord>;

/** Replaces the name of a NATS user, which is never written like this. */
export const BY_FIRST_USE = "first-use";
export const BY_FINDING = "finding";
export const BY_SCHEMA = "pin-schema";

/** The state of a tool with this digest. A block because of findings is about the definition that has them. */
export function stateOf(record: PinRecord | undefined, digest: string): PinState {
  if (record === undefined) return "pending";
  const isApproved = record.approved?.digest === digest;
  if (record.blocked !== null && !(isApproved && record.blocked.by === BY_FINDING))
    return "blocked";
  if (isApproved) return "approved";
  return record.approved === null ? "pending" : "changed";
}

export function shownPin(server: string, record: PinRecord): ToolPin {
  const { tool, name, digest, findings, firstSeenAt, seenAt, approved, blocked } = record;
  return {
    server,
    tool,
    name,
    state: stateOf(record, digest),
    digest,
    approvedDigest: approved?.digest ?? null,
    findings,
    firstSeenAt,
    seenAt,
    approvedBy: approved?.by ?? null,
    approvedAt: approved?.at ?? null,
    blockedBy: blocked?.by ?? null,
  };
}
