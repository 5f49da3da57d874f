import type { ChainedRecord } from "@switchyard/contracts/policy/audit-chain";
import { sealText } from "@switchyard/contracts/policy/signed-texts";
import type { SignatureCheck } from "./audit-keys.ts";
import type { AuditBreak, ChainCheck, ChainSummary } from "./check-chains.ts";

/** The records that the policy service's seals cover. */
export interface SealSummary {
  readonly seals: number;
  /** Records that are covered by a good seal. */
  readonly records: number;
  /** The time of the first valid seal; records from before an upgrade have none. Null: there is no valid seal. */
  readonly since: string | null;
}

/** Checks each seal against its key and the chains, and that no chain grows for long without one. */
export interface SealCheck {
  /** A record that the chain check has read. */
  read(record: ChainedRecord, sequence: number | null): void;
  finish(chains: readonly ChainSummary[]): {
    readonly breaks: readonly AuditBreak[];
    readonly summary: SealSummary;
  };
}

/** A seal is made about every minute. The end of a process that was killed has none, and neither have the last minutes that were read. */
const LATE_MS = 5 * 60_000;

interface SealedTo {
  readonly seq: number;
  readonly atMs: number;
}

/**
 * `sealedSince`: from then on records need a seal; null: from the first seal that is read. Without a seal the author of the records is
 * unknown, so one break reports that.
 */
export function createSealCheck(
  chains: Pick<ChainCheck, "hashOf" | "chain">,
  { signatures, sealedSince }: { signatures: SignatureCheck; sealedSince: Date | null },
): SealCheck {
  const sealed = new Map<string, SealedTo>();
  const breaks: AuditBreak[] = [];
  let seals = 0;
  let since: string | null = null;
  const broken = (
    kind: AuditBreak["kind"],
    message: string,
    { sequence = null, writer = null, seq = null }: Partial<AuditBreak> = {},
  ): void => void breaks.push({ kind, sequence, writer, seq, message });

  return {
    read(record, sequence) {
      if (record.kind !== "seal") return;
      const { writer, seq, signedAt, heads, kid } = record;
      const finding = signatures.check(sealText(signedAt, heads), record);
      if (finding !== "good")
        return broken("signature", sealMessage(finding, kid), { sequence, writer, seq });
      seals += 1;
      since ??= signedAt;
      for (const head of heads) {
        const chain = chains.chain(head.writer);
        // A part of the audit may lack the chain, or its beginning.
        if (chain === null || head.seq < chain.from) continue;
        const place = { sequence, writer: head.writer, seq: head.seq };
        if (head.seq > chain.to) {
          broken(
            "contradicted",
            `ends with record ${chain.to}, and a seal of ${signedAt} has signed record ${head.seq}`,
            place,
          );
          continue;
        }
        const hash = chains.hashOf(head.writer, head.seq);
        if (hash !== null && hash !== head.hash)
          broken(
            "contradicted",
            `record ${head.seq} is not the one that a seal of ${signedAt} has signed`,
            place,
          );
        if (hash === head.hash)
          sealed.set(head.writer, { seq: head.seq, atMs: Date.parse(signedAt) });
      }
    },
    finish(summaries) {
      if (since === null) {
        broken("unsigned", "there is no seal of these keys in it");
        return { breaks, summary: { seals, records: 0, since } };
      }
      const from = sealedSince?.getTime() ?? Date.parse(since);
      let records = 0;
      for (const chain of summaries) {
        const to = sealed.get(chain.writer);
        if (to !== undefined) records += to.seq - chain.from + 1;
        const late = lateTail(chain, to, from);
        if (late === null) continue;
        broken(
          "unsigned",
          `records ${late} to ${chain.to}, the last of ${chain.lastAt}, have no seal`,
          {
            writer: chain.writer,
            seq: chain.to,
          },
        );
      }
      return { breaks, summary: { seals, records, since } };
    },
  };
}

/** The first record that should have a seal and has none; null when each has one. */
function lateTail(chain: ChainSummary, to: SealedTo | undefined, fromMs: number): number | null {
  if (to !== undefined && to.seq >= chain.to) return null;
  const lastMs = Date.parse(chain.lastAt);
  const begunMs = Math.max(to?.atMs ?? Date.parse(chain.firstAt), fromMs);
  return lastMs - begunMs > LATE_MS ? (to?.seq ?? chain.from - 1) + 1 : null;
}

function sealMessage(finding: "bad" | "unknown_key", kid: string): string {
  return finding === "bad"
    ? `a seal is not signed by the key ${kid} that it names`
    : `a seal is signed by the key ${kid}, which is not among those given`;
}
