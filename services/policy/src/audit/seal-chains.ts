import { MAX_SEALED_HEADS, type ChainHead } from "@switchyard/contracts/policy/audit";
import { AUDIT_SERVICES } from "@switchyard/contracts/policy/audit-ref";
import { sealText } from "@switchyard/contracts/policy/signed-texts";
import type { AuditWriter } from "@switchyard/audit/audit-writer";
import { readHeads } from "@switchyard/audit/chain-heads";
import type { Redis } from "@switchyard/service/redis";
import type { SignText } from "./decision-signer.ts";

/**
 * Signs how far the chains of all services are: at the start, about every minute while some chain grows, sooner when one
 * grows fast, and at the stop. The signed heads are a record of this process's own chain, so to change a record that a
 * seal covers takes a forged signature.
 */
export interface Seals {
  /** Signs the records since the last seal. */
  stop(): Promise<void>;
}

const LOOK_MS = 5_000;
/** Until there is a seal: an audit without one proves nothing, so a new installation has one as soon as the first heads are written. */
const FIRST_LOOK_MS = 200;
const SEAL_EVERY_MS = 60_000;
/** A chain that grew by so many records is sealed before the minute is over. */
const SEAL_AFTER_RECORDS = 10_000;

export function startSeals(parts: {
  readonly redis: Redis;
  readonly writer: Pick<AuditWriter, "append">;
  readonly signText: SignText;
  readonly now: () => number;
  /** Called with the first failure in a row. */
  readonly onTrouble: (error: unknown) => void;
}): Seals {
  const { redis, writer, signText, now, onTrouble } = parts;
  /** By writer, the last record that this process has signed. */
  const sealed = new Map<string, number>();
  let sealedAt = Number.NEGATIVE_INFINITY;
  let isFailing = false;
  let looking = Promise.resolve();

  const look = async (isLast: boolean): Promise<void> => {
    const heads = (
      await Promise.all(AUDIT_SERVICES.map((service) => readHeads(redis, service)))
    ).flat();
    const grown = heads.filter(({ writer: id, seq }) => seq > (sealed.get(id) ?? 0));
    const isFast = grown.some(
      ({ writer: id, seq }) => seq - (sealed.get(id) ?? 0) >= SEAL_AFTER_RECORDS,
    );
    const isDue = isLast || isFast || now() - sealedAt >= SEAL_EVERY_MS;
    if (grown.length === 0 || !isDue) return;
    for (let at = 0; at < grown.length; at += MAX_SEALED_HEADS)
      seal(grown.slice(at, at + MAX_SEALED_HEADS));
    sealedAt = now();
    forgetGone(heads);
  };
  const seal = (grown: readonly ChainHead[]): void => {
    const signedAt = new Date(now()).toISOString();
    const heads = grown.map(({ writer: id, seq, hash }) => ({ writer: id, seq, hash }));
    const by = signText(sealText(signedAt, heads));
    if (by === null) throw new Error("every key that could sign was revoked");
    writer.append(() => ({ kind: "seal", signedAt, heads, ...by }));
    for (const { writer: id, seq } of heads) sealed.set(id, seq);
  };
  const forgetGone = (heads: readonly ChainHead[]): void => {
    const there = new Set(heads.map((head) => head.writer));
    for (const id of sealed.keys()) if (!there.has(id)) sealed.delete(id);
  };
  const lookSafely = async (isLast = false): Promise<void> => {
    try {
      await look(isLast);
      isFailing = false;
    } catch (error) {
      if (!isFailing) onTrouble(error);
      isFailing = true;
    }
  };

  let timer: NodeJS.Timeout | undefined;
  let isStopping = false;
  const lookAgain = async (): Promise<void> => {
    await lookSafely();
    if (isStopping) return;
    const waitMs = sealedAt === Number.NEGATIVE_INFINITY ? FIRST_LOOK_MS : LOOK_MS;
    timer = setTimeout(() => {
      looking = lookAgain();
    }, waitMs).unref();
  };
  looking = lookAgain();
  return {
    async stop() {
      isStopping = true;
      clearTimeout(timer);
      await looking;
      await lookSafely(true);
    },
  };
}
