import { createHash } from "node:crypto";
import type { Address } from "@switchyard/contracts/channels/channel-address";
import type { Redis } from "@switchyard/service/redis";
import { fromRedis } from "@switchyard/service/store-error";
import type { Mailbox, StoredMessage } from "../adapters/adapter.ts";

const KEEP_MS = 7 * 86_400_000;
const MAX_MESSAGES = 1_000;
/** Its id and its idempotency key. */
const MESSAGE_BYTES = 250;

/** KEYS: the mailbox, its ids by key, its keys by id. ARGV: JSON with `@ID` and `@AT` as placeholders, the key or "", lifetime, most messages. */
const ADD = `
if ARGV[2] ~= "" then
  local known = redis.call("HGET", KEYS[2], ARGV[2])
  if known then return {known, "0"} end
end
local id = redis.call("HINCRBY", KEYS[1], "last", 1)
local now = redis.call("TIME")
local at = now[1] * 1000 + math.floor(now[2] / 1000)
redis.call("HSET", KEYS[1], id, at .. ":" .. ARGV[1])
local oldest = id - tonumber(ARGV[4])
redis.call("HDEL", KEYS[1], oldest)
local forgotten = redis.call("HGET", KEYS[3], oldest)
if forgotten then
  redis.call("HDEL", KEYS[2], forgotten)
  redis.call("HDEL", KEYS[3], oldest)
end
if ARGV[2] ~= "" then
  redis.call("HSET", KEYS[2], ARGV[2], id .. ":" .. at)
  redis.call("HSET", KEYS[3], id, ARGV[2])
end
for _, key in ipairs(KEYS) do redis.call("PEXPIRE", key, ARGV[3]) end
return {id .. ":" .. at, "1"}`;

/** Replaces a message unless it was changed meanwhile. */
const CHANGE = `
if redis.call("HGET", KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
if ARGV[3] == "" then redis.call("HDEL", KEYS[1], ARGV[1]) else redis.call("HSET", KEYS[1], ARGV[1], ARGV[3]) end
return 1`;

/** Creates the mailbox for channels that have no provider. `onAdded` is called for each new message, with its size and lifetime. */
export function createMailbox(
  redis: Redis,
  onAdded: (address: Address, bytes: number, keptMs: number) => void = () => {},
): Mailbox {
  return {
    async add(address, message, key) {
      const box = keyOf(address);
      const json = JSON.stringify(message);
      const args = [json, key ?? "", KEEP_MS, MAX_MESSAGES];
      const keys = [box, `${box}:sent`, `${box}:keys`];
      const added = await fromRedis(redis.eval(ADD, keys.length, ...keys, ...args));
      const answer = added as [string, string]; // the script returns this type
      const [messageId = "", at = "0"] = answer[0].split(":");
      if (answer[1] === "1") onAdded(address, Buffer.byteLength(json) + MESSAGE_BYTES, KEEP_MS);
      return { messageId, at: new Date(Number(at)), isNew: answer[1] === "1" };
    },
    async list(address) {
      const fields = await fromRedis(redis.hgetall(keyOf(address)));
      return Object.entries(fields)
        .filter(([id]) => id !== "last")
        .map(([id, stored]) => readStored(id, stored))
        .toSorted((a, b) => Number(a.messageId) - Number(b.messageId));
    },
    async change(address, messageId, change) {
      for (;;) {
        const stored =
          messageId === "last" ? null : await fromRedis(redis.hget(keyOf(address), messageId));
        if (stored === null) return false;
        const at = stored.slice(0, stored.indexOf(":"));
        const next = change(readStored(messageId, stored));
        const written = next === null ? "" : `${at}:${JSON.stringify(bodyOf(next))}`;
        const writing = redis.eval(CHANGE, 1, keyOf(address), messageId, stored, written);
        const done = await fromRedis(writing);
        if (done === 1) return true;
      }
    },
  };
}

function keyOf({ channel, accountId, target }: Address): string {
  const digest = createHash("sha256").update(`${target.kind}:${target.id}`).digest("hex");
  return `yard:{channels}:mailbox:${channel}:${accountId}:${digest.slice(0, 32)}`;
}

function readStored(messageId: string, stored: string): StoredMessage {
  const colon = stored.indexOf(":");
  const at = new Date(Number(stored.slice(0, colon))).toISOString();
  // written only by this file
  const body = JSON.parse(stored.slice(colon + 1)) as Omit<StoredMessage, "messageId" | "at">;
  return { ...body, messageId, at };
}

/** Id and time are stored beside the body. */
function bodyOf(message: StoredMessage): object {
  return { ...message, messageId: undefined, at: undefined };
}
