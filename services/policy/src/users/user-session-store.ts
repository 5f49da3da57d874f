import { createHash, randomBytes } from "node:crypto";
import { USER_SESSION_PREFIX, UserSession } from "@switchyard/contracts/policy/user-sessions";
import { ESSENTIAL } from "@switchyard/service/essential-write";
import type { Redis } from "@switchyard/service/redis";
import { fromRedis, StoreError } from "@switchyard/service/store-error";
import { z } from "zod";

/** Stores browser sessions: never the secret that the browser presents. Redis deletes a session when it expires. */
export interface UserSessionStore {
  /** Returns null for a session that is unknown, or that has ended. */
  find(key: string): Promise<StoredSession | null>;
  read(id: string): Promise<StoredSession | null>;
  /** Returns the sessions of a caller, opened last first. */
  list(caller: string): Promise<UserSession[]>;
  /** A caller's oldest session ends when it has too many. `key` is the secret that the browser presents. */
  open(facts: NewSession): Promise<{ key: string; info: UserSession }>;
  end(session: Pick<UserSession, "id" | "caller">): Promise<void>;
}

/** A session with the digest of the credential that opened it, if the session ends with that credential. */
export type StoredSession = UserSession & { readonly openedWith: string | null };
export type NewSession = Omit<StoredSession, "id">;

const MAX_SESSIONS = 50;
const RANDOM_BYTES = 32;

const Stored = UserSession.omit({ id: true }).extend({
  /** SHA-256 of the secret that the browser presents, in hexadecimal digits; the id is only a part of it. */
  digest: z.string().length(64),
  openedWith: z.string().nullable(),
});

/**
 * KEYS: the session, the caller's sessions. ARGV: id, session, its end and now in milliseconds, how many a caller may have, the
 * prefix of the keys of sessions. All keys have one hash tag.
 */
const OPEN = `${ESSENTIAL}
redis.call('SET', KEYS[1], ARGV[2], 'PXAT', ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', ARGV[4])
redis.call('ZADD', KEYS[2], ARGV[3], ARGV[1])
local over = redis.call('ZCARD', KEYS[2]) - tonumber(ARGV[5])
if over > 0 then
  for _, id in ipairs(redis.call('ZRANGE', KEYS[2], 0, over - 1)) do
    redis.call('DEL', ARGV[6] .. id)
    redis.call('ZREM', KEYS[2], id)
  end
end
redis.call('PEXPIREAT', KEYS[2], redis.call('ZRANGE', KEYS[2], -1, -1, 'WITHSCORES')[2])
return 1
`;

export function createUserSessionStore(redis: Redis, now: () => number): UserSessionStore {
  const stored = async (id: string) => parsed(id, await fromRedis(redis.get(keyOf(id))));
  const readSession = async (id: string): Promise<StoredSession | null> => {
    const found = await stored(id);
    return found === null ? null : found.session;
  };
  return {
    read: readSession,
    async find(key) {
      const found = await stored(idOf(key));
      return found?.digest === digestOf(key) ? found.session : null;
    },
    async list(caller) {
      const ids = await fromRedis(redis.zrange(listOf(caller), 0, "-1"));
      const found = await Promise.all(ids.map(readSession));
      return found
        .filter((session) => session !== null)
        .map(publicSession)
        .toSorted((a, b) => b.openedAt.localeCompare(a.openedAt));
    },
    async open(facts) {
      const key = USER_SESSION_PREFIX + randomBytes(RANDOM_BYTES).toString("base64url");
      const id = idOf(key);
      const session = { ...facts, id };
      const args = [
        id,
        JSON.stringify({ ...facts, digest: digestOf(key) }),
        Date.parse(facts.expiresAt).toString(),
        now().toString(),
        MAX_SESSIONS.toString(),
        keyOf(""),
      ];
      await fromRedis(redis.eval(OPEN, 2, keyOf(id), listOf(facts.caller), ...args));
      return { key, info: publicSession(session) };
    },
    async end({ id, caller }) {
      await fromRedis(redis.del(keyOf(id)));
      await fromRedis(redis.zrem(listOf(caller), id));
    },
  };
}

export function publicSession({ openedWith: _kept, ...info }: StoredSession): UserSession {
  return info;
}

function keyOf(id: string): string {
  return `yard:{user-keys}:session:${id}`;
}

function listOf(caller: string): string {
  return `yard:{user-keys}:sessions-of:${caller}`;
}

function digestOf(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}

function idOf(key: string): string {
  return `ses-${digestOf(key).slice(0, 16)}`;
}

function parsed(id: string, text: string | null) {
  if (text === null) return null;
  try {
    const { digest, ...facts } = Stored.parse(JSON.parse(text));
    return { digest, session: { ...facts, id } };
  } catch (cause) {
    throw new StoreError("Redis holds a session that cannot be read", { cause });
  }
}
