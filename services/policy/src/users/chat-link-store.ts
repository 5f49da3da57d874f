import { createHash, randomBytes } from "node:crypto";
import { ChatLink, type ChatIdentity } from "@switchyard/contracts/policy/chat-links";
import { cutText } from "@switchyard/contracts/cut-text";
import { CredentialName, UserRoles, UserScopes } from "@switchyard/contracts/policy/user-tokens";
import { ESSENTIAL } from "@switchyard/service/essential-write";
import type { Redis } from "@switchyard/service/redis";
import { fromRedis, StoreError } from "@switchyard/service/store-error";
import { z } from "zod";

/** The rights that a link gives are those of the credential that made its code. */
const Rights = z.object({
  /** Empty for a NATS user, whose rights are settings and the policy. */
  roles: z.union([UserRoles, z.tuple([])]),
  scopes: UserScopes.optional(),
  /** Null for a NATS user. */
  credential: CredentialName.nullable(),
});
export type LinkRights = z.infer<typeof Rights>;

const NewLink = Rights.extend({ caller: ChatLink.shape.caller, asks: z.boolean() });
export type NewLink = z.infer<typeof NewLink>;

const StoredLink = ChatLink.extend({
  ...Rights.shape,
  /** SHA-256 of its code: the same code of the same person again is the same link. */
  code: z.string(),
});
export type StoredLink = z.infer<typeof StoredLink>;

/** Links of persons in chats with callers, and the codes that make them. Every method rejects with StoreError. */
export interface ChatLinkStore {
  /** Makes a code, and ends an earlier one of the caller. */
  createCode(link: NewLink, lifetimeMs: number): Promise<string>;
  /** Ends a code without a link. */
  burn(code: string): Promise<void>;
  /** Null for a code that is unknown, expired, or was used by another person. `replaced` is an earlier link of the person with another code. */
  claim(
    code: string,
    claim: { readonly identity: ChatIdentity; readonly now: number; readonly lifetimeMs: number },
  ): Promise<{
    readonly link: StoredLink;
    readonly replaced: StoredLink | null;
    readonly isNew: boolean;
  } | null>;
  find(identity: ChatIdentity): Promise<StoredLink | null>;
  read(id: string): Promise<StoredLink | null>;
  list(): Promise<readonly StoredLink[]>;
  end(id: string): Promise<void>;
}

const LINKS = "yard:{user-keys}:chat-links";
const RANDOM_BYTES = 17;
const CODE_LENGTH = 26;
const BASE32 = "abcdefghijklmnopqrstuvwxyz234567";

/** KEYS: the code, the person that used it. ARGV: the person, the lifetime of that record. The first person has the code. */
const CLAIM = `
local text = redis.call("GET", KEYS[1])
if not text then return false end
if not redis.call("SET", KEYS[2], ARGV[1], "NX", "PX", ARGV[2]) and redis.call("GET", KEYS[2]) ~= ARGV[1] then
  return false
end
return text`;

/** KEYS: the link, all links. ARGV: id, link, its end and now in milliseconds. */
const WRITE = `${ESSENTIAL}
redis.call("SET", KEYS[1], ARGV[2], "PXAT", ARGV[3])
redis.call("ZREMRANGEBYSCORE", KEYS[2], "-inf", ARGV[4])
return redis.call("ZADD", KEYS[2], ARGV[3], ARGV[1])`;

const USED_MS = 3_600_000;

export function createChatLinkStore(redis: Redis): ChatLinkStore {
  const read = async (id: string): Promise<StoredLink | null> => {
    const text = await fromRedis(redis.get(keyOf(id)));
    return text === null ? null : parsed(text);
  };
  return {
    async createCode(link, lifetimeMs) {
      const code = newCode();
      const digest = digestOf(code);
      const ofCaller = `yard:{user-keys}:chat-code-of:${link.caller}`;
      const earlier = await fromRedis(redis.get(ofCaller));
      if (earlier !== null) await fromRedis(redis.del(codeKey(earlier)));
      await fromRedis(redis.set(codeKey(digest), JSON.stringify(link), "PX", lifetimeMs));
      await fromRedis(redis.set(ofCaller, digest, "PX", lifetimeMs));
      return code;
    },
    async burn(code) {
      await fromRedis(redis.del(codeKey(digestOf(code))));
    },
    async claim(code, { identity, now, lifetimeMs }) {
      const digest = digestOf(code);
      const keys = [codeKey(digest), `yard:{user-keys}:chat-code-used:${digest}`];
      const id = linkIdOf(identity);
      const text = await fromRedis(redis.eval(CLAIM, 2, ...keys, id, USED_MS));
      if (typeof text !== "string") return null;
      const before = await read(id);
      if (before?.code === digest) return { link: before, replaced: null, isNew: false };
      const link: StoredLink = {
        ...NewLink.parse(JSON.parse(text)),
        ...identity,
        id,
        code: digest,
        linkedAt: new Date(now).toISOString(),
        expiresAt: new Date(now + lifetimeMs).toISOString(),
      };
      const args = [id, JSON.stringify(link), now + lifetimeMs, now];
      await fromRedis(redis.eval(WRITE, 2, keyOf(id), LINKS, ...args));
      return { link, replaced: before, isNew: true };
    },
    find: (identity) => read(linkIdOf(identity)),
    read,
    async list() {
      const ids = await fromRedis(redis.zrange(LINKS, 0, "-1"));
      if (ids.length === 0) return [];
      const texts = await fromRedis(redis.mget(ids.map(keyOf)));
      return texts.filter((text) => text !== null).map(parsed);
    },
    async end(id) {
      await fromRedis(redis.del(keyOf(id)));
      await fromRedis(redis.zrem(LINKS, id));
    },
  };
}

/** Returns the part of a link that may be shown. */
export function publicLink(link: StoredLink): ChatLink {
  return ChatLink.parse(link);
}

/** One person of an account has one link. */
function linkIdOf({ channel, accountId, personId }: ChatIdentity): string {
  return `lnk-${digestOf(JSON.stringify([channel, accountId, personId])).slice(0, 16)}`;
}

function newCode(): string {
  const bits = [...randomBytes(RANDOM_BYTES)].map((byte) => byte.toString(2).padStart(8, "0"));
  const digits = bits.join("").match(/.{5}/g) ?? [];
  const text = digits.map((digit) => BASE32[Number.parseInt(digit, 2)]).join("");
  return `link-${cutText(text, CODE_LENGTH)}`;
}

function codeKey(digest: string): string {
  return `yard:{user-keys}:chat-code:${digest}`;
}

function keyOf(id: string): string {
  return `yard:{user-keys}:chat-link:${id}`;
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function parsed(text: string): StoredLink {
  try {
    return StoredLink.parse(JSON.parse(text));
  } catch (cause) {
    throw new StoreError("Redis holds a link of a chat that cannot be read", { cause });
  }
}
