import { setImmediate as nextTurn } from "node:timers/promises";
import { auditBounds, readAudit, type StoredAudit } from "@switchyard/bus/audit-log";
import type { Bus } from "@switchyard/bus/bus";
import { recordsOf, type ChainedRecord } from "@switchyard/contracts/policy/audit-chain";
import type { AuditedRecord, AuditExportPart } from "@switchyard/contracts/policy/audit-queries";
import { exportAudit } from "@switchyard/contracts/policy/audit-queries";
import { failuresOf } from "@switchyard/contracts/errors";
import { exportText } from "@switchyard/contracts/policy/signed-texts";
import { readAuditBlock } from "@switchyard/audit/verify-audit";
import type { z } from "zod";
import type { SignText } from "./decision-signer.ts";

type Request = z.output<typeof exportAudit.request>;
type Reply = z.input<typeof exportAudit.reply>;
type Part = z.infer<typeof AuditExportPart>;

/** The limits of one part, as JSON; a message is never divided. */
const PART_BYTES = 400_000;
const PART_MESSAGES = 2_000;

const fail = failuresOf(exportAudit.errors);

/**
 * Reads the next part of an export from the stream and signs its records. The signature covers only records that this process has
 * read, never those that another process claims to be in the stream.
 */
export async function exportPart(
  {
    bus,
    signText,
    now,
  }: { readonly bus: Bus; readonly signText: SignText; readonly now: () => number },
  request: Request,
): Promise<Reply> {
  const { first, last } = await auditBounds(bus);
  const upTo = Math.min(request.upTo ?? last, last);
  const { records, chains, from, to } = await readPart(bus, { ...request, first, upTo });
  const isLast = to >= upTo;
  const unsigned = {
    kind: "export" as const,
    export: request.export,
    part: request.part,
    isLast,
    from,
    to,
    since: request.since ?? null,
    until: request.until ?? null,
    stream: { first, last },
    records: records.length,
    chains,
    signedAt: new Date(now()).toISOString(),
  };
  const by = signText(exportText(unsigned));
  if (by === null)
    throw fail.no_key(
      "Every key that could sign the export was revoked; make a new one with yard keys rotate.",
      {},
    );
  return { records, part: { ...unsigned, ...by }, next: isLast ? null : to + 1, upTo };
}

interface ReadPart {
  readonly records: z.infer<typeof AuditedRecord>[];
  readonly chains: Part["chains"];
  readonly from: number;
  readonly to: number;
}

/** Reads a part; `to` is its last message, or the last one of the whole export when no later message matches. */
async function readPart(
  bus: Bus,
  { since, until, from, first, upTo }: Request & { readonly first: number; readonly upTo: number },
): Promise<ReadPart> {
  const [begin, end] = [timeOf(since), timeOf(until)];
  const start = from ?? first;
  const reading = from === undefined && begin !== null ? { time: begin } : { sequence: start };
  const part = collectPart();
  let begun: number | null = null;
  for await (const message of readAudit(bus, { from: reading, upTo })) {
    begun ??= message.sequence;
    const { sequence, time } = message;
    if (end !== null && time > end) return part.done({ from: begun, to: upTo });
    // The server reads times that are too far away as others.
    const isWanted = begin === null || time >= begin;
    if (isWanted && !part.add(message)) return part.done({ from: begun, to: sequence - 1 });
    // Between two messages others have their turn: this process decides about calls, too.
    await nextTurn();
  }
  return part.done({ from: begun ?? upTo + 1, to: upTo });
}

/** Gathers records, and of each chain which are its first and last. */
function collectPart() {
  const records: z.infer<typeof AuditedRecord>[] = [];
  const chains = new Map<string, Part["chains"][number]>();
  let bytes = 0;
  let messages = 0;
  return {
    /** Returns false when the part is full, without adding any record of the message. */
    add({ subject, payload }: StoredAudit): boolean {
      const block = readAuditBlock(subject, payload);
      const read = typeof block === "string" ? [] : recordsOf(block);
      const size = JSON.stringify(read).length;
      if (messages >= PART_MESSAGES || (messages > 0 && bytes + size > PART_BYTES)) return false;
      messages += 1;
      bytes += size;
      for (const record of read) {
        records.push(record);
        chains.set(record.writer, grown(chains.get(record.writer), record));
      }
      return true;
    },
    done: (place: { readonly from: number; readonly to: number }): ReadPart => ({
      records,
      chains: [...chains.values()],
      ...place,
    }),
  };
}

function grown(
  chain: Part["chains"][number] | undefined,
  { writer, seq, prev, hash }: ChainedRecord,
): Part["chains"][number] {
  const to = { seq, hash };
  // A writer that got no answer sends a message again, which is behind the last record already.
  if (chain === undefined) return { writer, from: { seq, prev }, to };
  return seq > chain.to.seq ? { ...chain, to } : chain;
}

function timeOf(text: string | undefined): Date | null {
  return text === undefined ? null : new Date(text);
}
