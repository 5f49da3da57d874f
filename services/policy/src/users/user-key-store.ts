import { createHash, randomBytes } from "node:crypto";
import { UserKey } from "@switchyard/contracts/policy/user-tokens";
import { ESSENTIAL } from "@switchyard/service/essential-write";
import type { Redis } from "@switchyard/service/redis";
import { fromRedis, StoreError } from "@switchyard/service/store-error";
import { z } from "zod";

/** Stores API keys: never the key itself. A key of 256 random bits needs no slow hash. */
export interface UserKeyStore {
  /** Returns null for an unknown key. A key that has ended is returned with its end. */
  find(key: string): Promise<UserKey | null>;
  read(id: string): Promise<UserKey | null>;
  /** Returns the keys, newest first. */
  list(): Promise<UserKey[]>;
  /** Returns null when there are too many keys. `key` is the secret for its holder. */
  create(facts: NewUserKey): Promise<{ key: string; info: UserKey } | null>;
  /** Ends a key at a time, in milliseconds since the Unix epoch; an earlier end stays. */
  end(id: string, at: number): Promise<void>;
}

export type NewUserKey = Omit<UserKey, "id" | "revokedAt">;

export const KEY_PREFIX = "yk_";
export const MAX_USER_KEYS = 10_000;
const KEYS = "yard:{user-keys}:keys";
const ENDS = "yard:{user-keys}:ends";
const RANDOM_BYTES = 32;

/** The immutable part of a key; its end is stored separately, so that concurrent writes of the two do not undo each other. */
const StoredKey = UserKey.omit({ id: true, revokedAt: true }).extend({
  /** SHA-256 of the key, in hexadecimal digits; the id is only a part of it. */
  digest: z.string().length(64),
});
type StoredKey = z.infer<typeof StoredKey>;

/** KEYS: ends. ARGV: id, milliseconds. */
const END = `${ESSENTIAL}
local old = redis.call('HGET', KEYS[1], ARGV[1])
if old and tonumber(old) <= tonumber(ARGV[2]) then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return 1
`;

export function createUserKeyStore(redis: Redis): UserKeyStore {
  const stored = async (id: string): Promise<{ facts: StoredKey; info: UserKey } | null> => {
    const [text, end] = await fromRedis(Promise.all([redis.hget(KEYS, id), redis.hget(ENDS, id)]));
    if (text === null) return null;
    const facts = parsed(text);
    return { facts, info: keyOf(id, facts, end) };
  };
  return {
    read: async (id) => (await stored(id))?.info ?? null,
    async find(key) {
      const found = await stored(idOf(key));
      return found?.facts.digest === digestOf(key) ? found.info : null;
    },
    async list() {
      const [keys, ends] = await fromRedis(Promise.all([redis.hgetall(KEYS), redis.hgetall(ENDS)]));
      return Object.entries(keys)
        .map(([id, text]) => keyOf(id, parsed(text), ends[id] ?? null))
        .toSorted((a, b) => b.createdAt.localeCompare(a.createdAt));
    },
    async create(facts) {
      const key = KEY_PREFIX + randomBytes(RANDOM_BYTES).toString("base64url");
      const id = idOf(key);
      if ((await fromRedis(redis.hlen(KEYS))) >= MAX_USER_KEYS) return null;
      await fromRedis(redis.hset(KEYS, id, JSON.stringify({ ...facts, digest: digestOf(key) })));
      return { key, info: { ...facts, id, revokedAt: null } };
    },
    async end(id, at) {
      await fromRedis(redis.eval(END, 1, ENDS, id, String(at)));
    },
  };
}

function digestOf(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}

function idOf(key: string): string {
  return `key-${digestOf(key).slice(0, 16)}`;
}

function keyOf(id: string, { digest: _digest, ...facts }: StoredKey, end: string | null): UserKey {
  const revokedAt = end === null ? null : new Date(Number(end)).toISOString();
  return { ...facts, id, revokedAt };
}

function parsed(text: string): StoredKey {
  try {
    return StoredKey.parse(JSON.parse(text));
  } catch (cause) {
    throw new StoreError("Redis holds an API key that cannot be read", { cause });
  }
}
