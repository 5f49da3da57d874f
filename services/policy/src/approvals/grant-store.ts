import { SessionGrant } from "@switchyard/contracts/policy/approval-record";
import { ESSENTIAL, essentialWrite } from "@switchyard/service/essential-write";
import type { Redis } from "@switchyard/service/redis";
import { fromRedis } from "@switchyard/service/store-error";
import { z } from "zod";

/** Session grants in Redis, one hash each. A use is one compare-and-set, so the number of uses is never exceeded. */
export interface GrantStore {
  /** A newer grant of the same scope replaces an older one. */
  put(stored: StoredGrant): Promise<void>;
  read(id: string): Promise<StoredGrant | null>;
  /** Counts one use, unless the grant is over, used up, or has been replaced. */
  use(stored: StoredGrant, now: number): Promise<boolean>;
  /** Removes the grant and returns it; null when there was none. */
  remove(id: string): Promise<StoredGrant | null>;
  /** Newest end first. */
  list(now: number, limit: number): Promise<StoredGrant[]>;
}

const Core = z.object({
  grant: SessionGrant.omit({ usesLeft: true, expiresAt: true }),
  /** A digest of the argument values that must stay the same; null when any arguments match. */
  constraint: z.string().nullable(),
});

export interface StoredGrant {
  readonly grant: SessionGrant;
  readonly constraint: string | null;
}

const INDEX = "yard:{grants}:all";

/** KEYS: grant. ARGV: now, approval that it is from. */
const USE = `${ESSENTIAL}
local at = redis.call("HMGET", KEYS[1], "approvalId", "expiresAtMs", "usesLeft")
if at[1] ~= ARGV[2] or tonumber(ARGV[1]) >= tonumber(at[2]) or tonumber(at[3]) < 1 then return 0 end
redis.call("HINCRBY", KEYS[1], "usesLeft", -1)
return 1
`;

/** Essential, as the decision that it is from. KEYS: grant. ARGV: its end, fields and values. */
const PUT = `${ESSENTIAL}
redis.call("DEL", KEYS[1])
redis.call("HSET", KEYS[1], unpack(ARGV, 2))
redis.call("PEXPIREAT", KEYS[1], ARGV[1])
return 1
`;

export function createGrantStore(redis: Redis): GrantStore {
  const read = async (id: string): Promise<StoredGrant | null> =>
    parsed(await fromRedis(redis.hgetall(keyOf(id))));
  return {
    async put({ grant, constraint }) {
      const { usesLeft, expiresAt, ...core } = grant;
      const endMs = Date.parse(expiresAt);
      const fields = {
        core: JSON.stringify({ grant: core, constraint } satisfies z.input<typeof Core>),
        approvalId: grant.approvalId,
        expiresAtMs: String(endMs),
        usesLeft: String(usesLeft),
      };
      const key = keyOf(grant.id);
      await essentialWrite(redis, ["zadd", INDEX, endMs, grant.id]);
      await fromRedis(redis.eval(PUT, 1, key, endMs, ...Object.entries(fields).flat()));
    },
    read,
    async use({ grant }, now) {
      const key = keyOf(grant.id);
      return (await fromRedis(redis.eval(USE, 1, key, now, grant.approvalId))) === 1;
    },
    async remove(id) {
      const stored = await read(id);
      await fromRedis(redis.del(keyOf(id)));
      await fromRedis(redis.zrem(INDEX, id));
      return stored;
    },
    async list(now, limit) {
      await fromRedis(redis.zremrangebyscore(INDEX, "-inf", now));
      const ids = await fromRedis(redis.zrange(INDEX, 0, String(limit - 1), "REV"));
      const all = await fromRedis(Promise.all(ids.map((id) => redis.hgetall(keyOf(id)))));
      return all.flatMap((fields) => parsed(fields) ?? []);
    },
  };
}

function keyOf(id: string): string {
  return `yard:grant:{${id}}`;
}

function parsed(fields: Record<string, string>): StoredGrant | null {
  if (fields["core"] === undefined) return null;
  const { grant, constraint } = Core.parse(JSON.parse(fields["core"]));
  const expiresAt = new Date(Number(fields["expiresAtMs"])).toISOString();
  return { grant: { ...grant, expiresAt, usesLeft: Number(fields["usesLeft"]) }, constraint };
}
