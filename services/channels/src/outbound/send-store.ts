import { toJson } from "@switchyard/contracts/well-formed";
import { REDIS_NOW } from "@switchyard/service/due-list";
import { ESSENTIAL } from "@switchyard/service/essential-write";
import { knownWithoutRoom, type OwnerStorage } from "@switchyard/service/owner-storage";
import type { Redis } from "@switchyard/service/redis";
import { fromRedis } from "@switchyard/service/store-error";
import { SendRecord, type StoredSend } from "./send-record.ts";

const KEEP_MS = 86_400_000;
/** Estimates its key, the fields of its outcome, and its entry among the open ones. */
const RECORD_BYTES = 800;
const OPEN = "yard:{channels}:sends:open";

/** KEYS: record, open ones. ARGV: id, JSON, after how many milliseconds another replica may take it over. */
const CREATE = `${REDIS_NOW}
local known = redis.call("HMGET", KEYS[1], "revision", "json")
if known[1] then return known end
redis.call("HSET", KEYS[1], "revision", 1, "json", ARGV[2])
redis.call("ZADD", KEYS[2], now + ARGV[3], ARGV[1])
return false`;

/** More ARGV: the expected revision; a time of -1: it is finished, and stored for ARGV[5]. */
const CHANGE = `${ESSENTIAL}${REDIS_NOW}
if redis.call("HGET", KEYS[1], "revision") ~= ARGV[4] then return 0 end
redis.call("HSET", KEYS[1], "revision", ARGV[4] + 1, "json", ARGV[2])
if tonumber(ARGV[3]) < 0 then
  redis.call("ZREM", KEYS[2], ARGV[1])
  redis.call("PEXPIRE", KEYS[1], ARGV[5])
else
  redis.call("ZADD", KEYS[2], now + ARGV[3], ARGV[1])
end
return 1`;

const DUE = `${REDIS_NOW}
return redis.call("ZRANGEBYSCORE", KEYS[1], "-inf", now, "LIMIT", 0, ARGV[1])`;

/** Outgoing messages and their outcomes, in Redis. Every method rejects with StoreError. */
export interface SendStore {
  /** Stores an intent. Returns the existing one when there is one under the id. Rejects with `storage_full` when its caller stores too much. */
  create(record: SendRecord, lookMs: number): Promise<StoredSend | null>;
  read(sendId: string): Promise<StoredSend | null>;
  /**
   * Writes the next state of a record that was not changed meanwhile; null when it was. `lookMs`: when other replicas may
   * consider it abandoned; null: it is finished.
   */
  change(stored: StoredSend, record: SendRecord, lookMs: number | null): Promise<StoredSend | null>;
  /** Returns ids of records that no replica has claimed. */
  due(limit: number): Promise<readonly string[]>;
}

export function createSendStore(
  redis: Redis,
  storage?: Pick<OwnerStorage, "admit" | "add">,
): SendStore {
  const read: SendStore["read"] = async (sendId) =>
    stored(await fromRedis(redis.hmget(keyOf(sendId), "revision", "json")));
  return {
    async create(record, lookMs) {
      const { sendId, caller, about, isAnnounced } = record;
      const json = toJson(record);
      // An answer finishes a message that was admitted on its arrival, and a question about an approval was admitted as the approval.
      const isAdmitted = about.answerTo !== null || !isAnnounced;
      const admission = isAdmitted ? undefined : storage?.admit(caller);
      const earlier = await knownWithoutRoom(admission, () => read(sendId));
      if (earlier !== null) return earlier;
      const made = redis.eval(CREATE, 2, keyOf(sendId), OPEN, sendId, json, lookMs);
      const known = stored(await fromRedis(made));
      if (known === null) storage?.add(caller, Buffer.byteLength(json) + RECORD_BYTES, KEEP_MS);
      return known;
    },
    read,
    async change({ revision }, record, lookMs) {
      const { sendId } = record;
      const done = redis.eval(
        CHANGE,
        2,
        keyOf(sendId),
        OPEN,
        sendId,
        toJson(record),
        lookMs ?? -1,
        revision,
        KEEP_MS,
      );
      return (await fromRedis(done)) === 1 ? { revision: revision + 1, record } : null;
    },
    async due(limit) {
      return (await fromRedis(redis.eval(DUE, 1, OPEN, limit))) as string[]; // members of a sorted set
    },
  };
}

function keyOf(sendId: string): string {
  return `yard:{channels}:send:${sendId}`;
}

function stored(answer: unknown): StoredSend | null {
  if (!Array.isArray(answer)) return null;
  const [revision, json]: unknown[] = answer;
  if (typeof json !== "string") return null;
  return { revision: Number(revision), record: SendRecord.parse(JSON.parse(json)) };
}
