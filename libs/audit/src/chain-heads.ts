import type { ChainHead } from "@switchyard/contracts/policy/audit";
import { AuditWriterId } from "@switchyard/contracts/policy/audit-ref";
import { Digest } from "@switchyard/contracts/ids";
import { z } from "zod";
import type { Redis } from "@switchyard/service/redis";

/**
 * The ends of a service's chains in Redis, written some time after the stream has the records. A new chain begins with those of the others,
 * so that a cut end is detected, and the policy service signs all of them. Best effort: nothing waits for it.
 */
export interface ChainHeads {
  /** The ends of the other chains. Those of processes that are long gone are returned once more and then deleted. */
  others(): Promise<ChainHead[]>;
  keep(head: Omit<ChainHead, "writer">): void;
  stop(): Promise<void>;
}

const KEEP_EVERY_MS = 1_000;
const MAX_OTHERS = 100;
const GONE_AFTER_MS = 24 * 3_600_000;

const StoredHead = z.object({ seq: z.int().positive(), hash: Digest, atMs: z.number() });

/** Writes at most once a second, and once more at the stop. */
export function createChainHeads(options: {
  readonly redis: Redis;
  readonly service: string;
  readonly writer: string;
  readonly now: () => number;
  readonly onTrouble: (error: unknown) => void;
}): ChainHeads {
  const { redis, service, writer, now, onTrouble } = options;
  const key = keyOf(service);
  let unwritten: Omit<ChainHead, "writer"> | null = null;
  const write = async (): Promise<void> => {
    if (unwritten === null) return;
    const { seq, hash } = unwritten;
    unwritten = null;
    await redis.hset(key, writer, JSON.stringify({ seq, hash, atMs: now() })).catch(onTrouble);
  };
  const timer = setInterval(() => void write(), KEEP_EVERY_MS).unref();
  return {
    async others() {
      try {
        const heads = await readHeads(redis, service);
        const gone = heads.filter(({ atMs }) => now() - atMs > GONE_AFTER_MS);
        if (gone.length > 0) await redis.hdel(key, ...gone.map((head) => head.writer));
        return heads
          .slice(0, MAX_OTHERS)
          .map(({ writer: id, seq, hash }) => ({ writer: id, seq, hash }));
      } catch (error) {
        onTrouble(error);
        return [];
      }
    },
    keep(head) {
      unwritten = head;
    },
    async stop() {
      clearInterval(timer);
      await write();
    },
  };
}

/** The ends of a service's chains, the one written last first. Rejects with a StoreError. */
export async function readHeads(
  redis: Redis,
  service: string,
): Promise<(ChainHead & { readonly atMs: number })[]> {
  return parsed(await redis.hgetall(keyOf(service)));
}

function keyOf(service: string): string {
  return `yard:audit:{${service}}:heads`;
}

/** Returns the newest first; unreadable fields are left out. */
function parsed(fields: Readonly<Record<string, string>>): (ChainHead & { atMs: number })[] {
  return Object.entries(fields)
    .flatMap(([writer, text]) => {
      const id = AuditWriterId.safeParse(writer);
      const head = StoredHead.safeParse(jsonOf(text));
      return id.success && head.success ? [{ writer: id.data, ...head.data }] : [];
    })
    .toSorted((a, b) => b.atMs - a.atMs);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
