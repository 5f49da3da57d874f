import { auditHash, type ChainedRecord } from "@switchyard/contracts/policy/audit-chain";

/** A position at which the audit is not as it was written. */
export interface AuditBreak {
  readonly kind:
    | "changed"
    | "missing"
    | "order"
    | "cut"
    | "foreign"
    | "unreadable"
    | "after-end"
    /** A signature is not by the key that it names, or there is no such key. */
    | "signature"
    /** A signature states something else about the records than they contain. */
    | "contradicted"
    /** A signature that has to be there is missing. */
    | "unsigned";
  /** Position in the stream; null when it is about the whole. */
  readonly sequence: number | null;
  readonly writer: string | null;
  /** Number of the record in its chain. */
  readonly seq: number | null;
  readonly message: string;
}

/** The part of one chain that was read. */
export interface ChainSummary {
  readonly writer: string;
  readonly service: string;
  readonly from: number;
  readonly to: number;
  readonly firstAt: string;
  readonly lastAt: string;
  /** False: the process was killed, or it still runs. */
  readonly hasEnded: boolean;
}

interface Chain extends ChainSummary {
  to: number;
  lastAt: string;
  lastHash: string;
  hasEnded: boolean;
  /** Hashes of the last records by their numbers: a writer that got no answer sends its last message again. */
  readonly recent: Map<number, string>;
}

/**
 * Follows the chains of all writers. A record fits when its hash is that of its content, and it names the hash of the one before it. So
 * nothing can be changed, removed, inserted or moved without a break.
 */
export interface ChainCheck {
  /**
   * `reachesBack`: the records before the first one that was read may exist. False for a record that was read before: its writer got no
   * answer and sent it again.
   */
  read(record: ChainedRecord, place: { sequence: number | null; reachesBack: boolean }): boolean;
  readonly breaks: readonly AuditBreak[];
  readonly repeated: number;
  /** The hash of a record that was read; null when it was not read, or so long ago that it is no longer cached. */
  hashOf(writer: string, seq: number): string | null;
  /** A chain as far as it was read. */
  chain(writer: string): ChainSummary | null;
  /** The chains at the end of the audit, and records that other chains name but that are missing. */
  finish(options: { readonly isWhole: boolean }): readonly ChainSummary[];
}

/** A seal is behind the records that it signs by a second or two, in which a busy process writes thousands. */
const RECENT = 20_000;

/** Caches of each chain its end and the hashes of its last 20,000 records, however long it is. */
export function createChainCheck(): ChainCheck {
  const chains = new Map<string, Chain>();
  const breaks: AuditBreak[] = [];
  const known = new Map<string, number>();
  let repeated = 0;

  const broken = (
    kind: AuditBreak["kind"],
    { writer, seq }: ChainedRecord,
    place: { sequence: number | null; message: string },
  ): void => void breaks.push({ kind, writer, seq, ...place });

  return {
    breaks,
    get repeated() {
      return repeated;
    },
    hashOf: (writer, seq) => chains.get(writer)?.recent.get(seq) ?? null,
    chain(writer) {
      const chain = chains.get(writer);
      return chain === undefined ? null : summaryOf(chain);
    },
    read(record, { sequence, reachesBack }) {
      const chain = chains.get(record.writer);
      if (chain?.recent.get(record.seq) === record.hash && auditHash(record) === record.hash) {
        repeated += 1;
        return false;
      }
      const problem = problemOf(record, chain, reachesBack);
      if (problem !== null) broken(problem.kind, record, { sequence, message: problem.message });
      if (problem?.kind === "order") return true; // the chain continues behind it
      take(chains, record);
      if (record.kind !== "chain") return true;
      for (const { writer, seq } of record.others ?? [])
        known.set(writer, Math.max(seq, known.get(writer) ?? 0));
      return true;
    },
    finish({ isWhole }) {
      for (const [writer, seq] of known) {
        const to = chains.get(writer)?.to ?? 0;
        if (to >= seq || (to === 0 && !isWhole)) continue;
        const message = `the chain ends with record ${to}, and had ${seq} when another one began`;
        breaks.push({ kind: "cut", sequence: null, writer, seq: to, message });
      }
      return [...chains.values()].map(summaryOf);
    },
  };
}

function problemOf(
  record: ChainedRecord,
  chain: Chain | undefined,
  reachesBack: boolean,
): Pick<AuditBreak, "kind" | "message"> | null {
  const { seq, prev, hash } = record;
  const isFirst = chain === undefined;
  if (!isFirst && seq <= chain.to)
    return { kind: "order", message: `record ${seq} stands behind record ${chain.to}` };
  const expected = isFirst ? 1 : chain.to + 1;
  if (seq !== expected && !(isFirst && reachesBack))
    return { kind: "missing", message: `records ${expected} to ${seq - 1} are missing` };
  if (auditHash(record) !== hash)
    return { kind: "changed", message: `record ${seq} is not what its hash says` };
  const before = isFirst ? null : chain.lastHash;
  if (prev !== before && !(isFirst && seq > 1))
    return { kind: "changed", message: `record ${seq} follows another record ${seq - 1}` };
  if (chain?.hasEnded === true)
    return { kind: "after-end", message: `record ${seq} stands behind the end of its chain` };
  return null;
}

function take(chains: Map<string, Chain>, record: ChainedRecord): void {
  const { writer, service, seq, at, hash } = record;
  const chain = chains.get(writer) ?? {
    writer,
    service,
    from: seq,
    to: seq,
    firstAt: at,
    lastAt: at,
    lastHash: hash,
    hasEnded: false,
    recent: new Map<number, string>(),
  };
  chain.to = seq;
  chain.lastAt = at;
  chain.lastHash = hash;
  chain.recent.set(seq, hash);
  chain.recent.delete(seq - RECENT);
  if (record.kind === "chain" && record.change === "ended") chain.hasEnded = true;
  chains.set(writer, chain);
}

function summaryOf({ writer, service, from, to, firstAt, lastAt, hasEnded }: Chain): ChainSummary {
  return { writer, service, from, to, firstAt, lastAt, hasEnded };
}
