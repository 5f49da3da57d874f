import type { z } from "zod";
import type { AuditFact, auditEvents } from "./audit.ts";
import { canonicalJson, digestOf } from "../canonical-json.ts";

/** A message of the audit: records that follow one another in the chain of one writer. */
export type AuditBlock = z.infer<(typeof auditEvents)[number]["payload"]>;

/** A single record, in the form of an export: with its writer and the hash of the record before it, it can be checked alone. */
export type ChainedRecord = {
  readonly v: 1;
  readonly service: string;
  readonly writer: string;
  readonly seq: number;
  readonly at: string;
  readonly prev: string | null;
  readonly hash: string;
} & AuditFact;

/** The position of a record: the fields that a block has once for all its records. */
type ChainHead = Pick<ChainedRecord, "v" | "service" | "writer" | "prev">;

/** A record as its block has it, without its hash. */
type OwnRecord = Pick<ChainedRecord, "seq" | "at"> & AuditFact;

/**
 * The hash that a record has to have: SHA-256 of the canonical JSON (RFC 8785) of `{prev, record, service, v, writer}`,
 * in which `record` is the record as its block has it without `hash`, and `prev` the hash of the record before it, null
 * for the first.
 */
export function auditHash(record: ChainHead & OwnRecord & { readonly hash?: string }): string {
  const { hash: _, v, service, writer, prev, ...own } = record;
  return hashIn({ v, service, writer, prev }, canonicalJson(own));
}

/** Hash of a new record and its JSON as a block has it, both of one canonical text. */
export function sealRecord(
  head: ChainHead,
  record: OwnRecord,
): { readonly hash: string; readonly json: string } {
  const own = canonicalJson(record);
  const hash = hashIn(head, own);
  return { hash, json: `${own.slice(0, -1)},"hash":"${hash}"}` };
}

function hashIn({ v, service, writer, prev }: ChainHead, own: string): string {
  const before = prev === null ? "null" : `"${prev}"`;
  return digestOf(
    `{"prev":${before},"record":${own},"service":"${service}","v":${v},"writer":"${writer}"}`,
  );
}

/** JSON of a block of sealed records. */
export function blockJson(
  { service, writer, prev }: Pick<AuditBlock, "service" | "writer" | "prev">,
  records: readonly string[],
): string {
  const head = JSON.stringify({ v: 1, service, writer, prev });
  return `${head.slice(0, -1)},"records":[${records.join(",")}]}`;
}

/** The records of a block, each with its own position. */
export function recordsOf({ v, service, writer, prev, records }: AuditBlock): ChainedRecord[] {
  const chained: ChainedRecord[] = [];
  let before = prev;
  for (const record of records) {
    chained.push({ v, service, writer, ...record, prev: before });
    before = record.hash;
  }
  return chained;
}

/** Returns the reference by which other records name a record. */
export function auditRef({ writer, seq }: Pick<ChainedRecord, "writer" | "seq">): string {
  return `${writer}:${seq}`;
}
