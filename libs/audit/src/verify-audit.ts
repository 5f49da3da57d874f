import { auditEvents } from "@switchyard/contracts/policy/audit";
import {
  recordsOf,
  type AuditBlock,
  type ChainedRecord,
} from "@switchyard/contracts/policy/audit-chain";
import { tokensOf } from "@switchyard/contracts/define";
import { createChainCheck, type AuditBreak, type ChainSummary } from "./check-chains.ts";
import type { SignatureCheck } from "./audit-keys.ts";
import { createExecutionCheck, type ExecutionSummary } from "./check-executions.ts";
import { createExportCheck, type ExportPart, type ExportSummary } from "./check-export.ts";
import { createSealCheck, type SealSummary } from "./check-seals.ts";

/** A message of the audit's stream, or a substitute for one. */
export interface AuditMessage {
  readonly subject: string;
  readonly payload: unknown;
  readonly sequence: number;
}

/** The bounds that the stream reports, see `audit-log.ts` of the bus. */
export interface AuditExtent {
  readonly first: number;
  readonly last: number;
  readonly firstTime: Date;
  readonly maxAgeMs: number;
}

export interface AuditReport {
  readonly messages: number;
  readonly records: number;
  /** Messages that a writer sent twice because it got no answer. */
  readonly repeated: number;
  /**
   * Messages that are not records: answers of NATS, or of a service, that a client had sent here instead of to itself. They can hide
   * nothing, because no record is missing.
   */
  readonly strays: { readonly count: number; readonly first: number | null };
  /** In the order in which they were found. */
  readonly breaks: readonly AuditBreak[];
  readonly chains: readonly ChainSummary[];
  readonly calls: ExecutionSummary;
  /** The records that seals of the policy service cover; null when there were no keys to check them with. */
  readonly sealed: SealSummary | null;
  /** The facts that a file states about itself; null when there are none. */
  readonly export: ExportSummary | null;
}

/** Reads the audit in the order of the stream and collects its breaks. */
export interface AuditVerifier {
  message(message: AuditMessage): void;
  /** A single record of an export. */
  record(record: ChainedRecord): void;
  /** The line of an export behind the records of one part. */
  part(part: ExportPart): void;
  finish(): AuditReport;
}

/** Records that the stream deletes may be older by this than its stated age. */
const AGE_MARGIN_MS = 3_600_000;

/** The keys that check signatures, and from when on records need one; see `createSealCheck`. */
export interface VerifierKeys {
  readonly signatures: SignatureCheck;
  readonly sealedSince?: Date | null;
}

/**
 * `extent` is null when only a part is read, such as an export: then nothing is reported about the records before it. Without `keys` only
 * hashes are checked, which anyone who can write the records can compute anew.
 */
export function createAuditVerifier(
  extent: AuditExtent | null,
  now: number,
  keys: VerifierKeys | null = null,
): AuditVerifier {
  const signatures = keys?.signatures ?? null;
  const chains = createChainCheck();
  const executions = createExecutionCheck(signatures);
  const exported = createExportCheck(signatures);
  const seals = keys === null ? null : createSealCheck(chains, { sealedSince: null, ...keys });
  let isExport = false;
  const breaks: AuditBreak[] = [];
  const isWhole = extent !== null && extent.first <= 1;
  let messages = 0;
  let records = 0;
  const strays: { count: number; first: number | null } = { count: 0, first: null };
  let next = extent === null ? null : extent.first;
  if (extent !== null) breaks.push(...beginOf(extent, now));

  const take = (record: ChainedRecord, sequence: number | null): void => {
    records += 1;
    // A record that is stored twice happened once: a call, and the use of an approval.
    if (!chains.read(record, { sequence, reachesBack: !isWhole })) return;
    executions.read(record);
    seals?.read(record, sequence);
  };
  const broken = (kind: AuditBreak["kind"], sequence: number, message: string): void =>
    void breaks.push({ kind, sequence, writer: null, seq: null, message });

  return {
    message({ subject, payload, sequence }) {
      messages += 1;
      if (next !== null && sequence !== next)
        broken("missing", sequence, `messages ${next} to ${sequence - 1} of the stream are gone`);
      if (next !== null) next = sequence + 1;
      const block = readAuditBlock(subject, payload);
      if (block === "stray") {
        strays.count += 1;
        strays.first ??= sequence;
        return;
      }
      if (typeof block === "string") return broken(block, sequence, REASONS[block]);
      for (const record of recordsOf(block)) take(record, sequence);
    },
    record(record) {
      isExport = true;
      take(record, null);
      exported.record(record);
    },
    part(part) {
      isExport = true;
      exported.part(part);
    },
    finish() {
      if (extent !== null && next !== null && next <= extent.last)
        broken("cut", extent.last, `messages ${next} to ${extent.last} of the stream are gone`);
      const summaries = chains.finish({ isWhole });
      const lasts = new Map(summaries.map(({ writer, to }) => [writer, to]));
      const sealing = seals?.finish(summaries) ?? { breaks: [], summary: null };
      const file = isExport ? exported.finish() : { breaks: [], summary: null };
      return {
        messages,
        records,
        repeated: chains.repeated,
        strays,
        breaks: [...breaks, ...chains.breaks, ...sealing.breaks, ...file.breaks].toSorted(
          byPosition,
        ),
        chains: summaries,
        calls: executions.finish((writer) => lasts.get(writer) ?? null),
        sealed: sealing.summary,
        export: file.summary,
      };
    },
  };
}

/** The block of a message, or the reason why it is not one. */
export function readAuditBlock(
  subject: string,
  payload: unknown,
): AuditBlock | "foreign" | "unreadable" | "stray" {
  const event = auditEvents.find((candidate) => tokensOf(candidate, subject) !== null);
  if (event === undefined) return "foreign";
  const block = event.payload.safeParse(payload);
  if (!block.success) return resemblesBlock(payload) ? "unreadable" : "stray";
  const { service, writer } = block.data;
  const isOwn = tokensOf(event, subject)?.service === service;
  if (!isOwn || !writer.startsWith(`${service}-`)) return "foreign";
  // The stored form counts: fields outside the schema are part of the hash, too.
  const raw = payload as AuditBlock;
  return Object.keys(raw).length === Object.keys(block.data).length ? raw : "unreadable";
}

/** No message that is sent here by mistake or malice resembles one; see `decisions/018-answers-of-the-server.md`. */
function resemblesBlock(payload: unknown): boolean {
  return (
    typeof payload === "object" && payload !== null && ("records" in payload || "writer" in payload)
  );
}

const REASONS = {
  foreign: "a message that no writer of its subject has written",
  unreadable: "a message that is not a block of records",
} as const;

function beginOf({ first, firstTime, maxAgeMs }: AuditExtent, now: number): AuditBreak[] {
  const isInTime = now - firstTime.getTime() < maxAgeMs - AGE_MARGIN_MS;
  if (first <= 1 || !isInTime) return [];
  const message = `messages before ${first} of the stream were taken out before their time`;
  return [{ kind: "cut", sequence: first, writer: null, seq: null, message }];
}

function byPosition(a: AuditBreak, b: AuditBreak): number {
  return (a.sequence ?? Number.POSITIVE_INFINITY) - (b.sequence ?? Number.POSITIVE_INFINITY);
}
