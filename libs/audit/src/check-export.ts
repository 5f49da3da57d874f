import type { ChainedRecord } from "@switchyard/contracts/policy/audit-chain";
import type { AuditExportPart } from "@switchyard/contracts/policy/audit-queries";
import { exportText } from "@switchyard/contracts/policy/signed-texts";
import type { z } from "zod";
import type { SignatureCheck } from "./audit-keys.ts";
import type { AuditBreak } from "./check-chains.ts";

export type ExportPart = z.infer<typeof AuditExportPart>;

/** The facts that an export's own lines state about it. */
export interface ExportSummary {
  /** Messages of the stream that the export has, and those that the stream had when it was signed. */
  readonly from: number;
  readonly to: number;
  readonly stream: { readonly first: number; readonly last: number };
  readonly since: string | null;
  readonly until: string | null;
  readonly signedAt: string;
}

/** Checks that an export is whole: each part has the records that the policy service has signed, and no part is missing. */
export interface ExportCheck {
  record(record: ChainedRecord): void;
  /** The line behind the records of a part. */
  part(part: ExportPart): void;
  finish(): { readonly breaks: readonly AuditBreak[]; readonly summary: ExportSummary | null };
}

/** The number of records and the chains that were read from one part. */
interface Read {
  records: number;
  readonly chains: Map<string, ExportPart["chains"][number]>;
}

/** Without `signatures` only the content of the lines is checked, not their author. */
export function createExportCheck(signatures: SignatureCheck | null): ExportCheck {
  const breaks: AuditBreak[] = [];
  let read: Read = { records: 0, chains: new Map() };
  let before: ExportPart | null = null;
  let first: ExportPart | null = null;
  const broken = (kind: AuditBreak["kind"], message: string): void =>
    void breaks.push({ kind, sequence: null, writer: null, seq: null, message });

  return {
    record({ writer, seq, prev, hash }) {
      read.records += 1;
      const chain = read.chains.get(writer);
      const to = { seq, hash };
      if (chain === undefined) read.chains.set(writer, { writer, from: { seq, prev }, to });
      else if (seq > chain.to.seq) read.chains.set(writer, { ...chain, to });
    },
    part(part) {
      const { kid, signature, ...signed } = part;
      const finding = signatures?.check(exportText(signed), { kid, signature }) ?? "good";
      if (finding !== "good") broken("signature", partMessage(finding, part));
      const missing = gapBefore(part, before);
      if (missing !== null) broken("cut", missing);
      const difference = differenceOf(part, read);
      if (difference !== null)
        broken("contradicted", `part ${part.part} of the export ${difference}`);
      read = { records: 0, chains: new Map() };
      if (before === null || before.export !== part.export) first ??= part;
      before = part;
    },
    finish() {
      if (before === null) {
        if (signatures !== null)
          broken(
            "unsigned",
            "the file has no line that the policy service has signed as an export",
          );
        return { breaks, summary: null };
      }
      if (!before.isLast)
        broken("cut", `the export ends behind part ${before.part}, which is not its last`);
      if (read.records > 0)
        broken("contradicted", `${read.records} records are behind the end of the export`);
      const { to, stream, until, signedAt } = before;
      const { from, since } = first ?? before;
      return { breaks, summary: { from, to, stream, since, until, signedAt } };
    },
  };
}

function gapBefore(part: ExportPart, before: ExportPart | null): string | null {
  const isNew = before === null || before.export !== part.export;
  if (isNew && before?.isLast === false)
    return `the export ends behind part ${before.part}, which is not its last`;
  if (isNew) return part.part === 1 ? null : `the export begins with part ${part.part}`;
  const follows = part.part === before.part + 1 && part.from > before.to && !before.isLast;
  return follows ? null : `part ${part.part} of the export is behind part ${before.part}`;
}

function differenceOf(part: ExportPart, { records, chains }: Read): string | null {
  if (records !== part.records)
    return `has ${part.records} records, and ${records} are in the file`;
  if (chains.size !== part.chains.length)
    return `has ${part.chains.length} chains, and ${chains.size} are in the file`;
  for (const { writer, from, to } of part.chains) {
    const found = chains.get(writer);
    const isSame =
      found?.from.seq === from.seq &&
      found.from.prev === from.prev &&
      found.to.seq === to.seq &&
      found.to.hash === to.hash;
    if (!isSame)
      return `has records ${from.seq} to ${to.seq} of ${writer}, and others are in the file`;
  }
  return null;
}

function partMessage(finding: "bad" | "unknown_key", { part, kid }: ExportPart): string {
  return finding === "bad"
    ? `part ${part} of the export is not signed by the key ${kid} that it names`
    : `part ${part} of the export is signed by the key ${kid}, which is not among those given`;
}
