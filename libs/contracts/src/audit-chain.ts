import type { z } from "zod";
import type { AuditFact, auditEvents } from "./audit.ts";
import { canonicalDigest } from "./canonical-json.ts";

/** A message of the audit: records that follow one another in the chain of one writer. */
export type AuditBlock = z.infer<(typeof auditEvents)[number]["payload"]>;

/** One record by itself, as it is exported: with its writer and the hash of the record before it, it can be checked alone. */
export type ChainedRecord = {
  readonly v: 1;
  readonly service: string;
  readonly writer: string;
  readonly seq: number;
  readonly at: string;
  readonly prev: string | null;
  readonly hash: string;
} & AuditFact;

export type Unsealed = Omit<ChainedRecord, "hash"> & AuditFact;

/**
 * The hash that a record has to have: SHA-256 of the canonical JSON (RFC 8785) of the whole record
 * without `hash`, in which `prev` is the hash of the record before it and null for the first.
 */
export function auditHash(record: Unsealed): string {
  const { hash: _, ...content } = record as Unsealed & { hash?: string }; // a record that has one is checked by it
  return canonicalDigest(content);
}

/** The records of a block, each by itself. */
export function recordsOf({ v, service, writer, prev, records }: AuditBlock): ChainedRecord[] {
  const chained: ChainedRecord[] = [];
  let before = prev;
  for (const record of records) {
    chained.push({ v, service, writer, ...record, prev: before });
    before = record.hash;
  }
  return chained;
}

/** How one record is named by others. */
export function auditRef({ writer, seq }: Pick<ChainedRecord, "writer" | "seq">): string {
  return `${writer}:${seq}`;
}
