import { Address } from "@switchyard/contracts/channels/channel-address";
import { InboundId, Sender } from "@switchyard/contracts/channels/channel-events";
import { FilePart } from "@switchyard/contracts/agent-runner/content-parts";
import { AgentName, CallerName, RunId, Timestamp } from "@switchyard/contracts/ids";
import { BusyPolicy, SessionId, SessionKey } from "@switchyard/contracts/agent-runner/session-key";
import { toJson } from "@switchyard/contracts/well-formed";
import { claimDue, REDIS_NOW } from "@switchyard/service/due-list";
import { ESSENTIAL, essentialWrite } from "@switchyard/service/essential-write";
import { knownWithoutRoom, type OwnerStorage } from "@switchyard/service/owner-storage";
import type { Redis } from "@switchyard/service/redis";
import { HOLDS_LEASE, type Lease } from "@switchyard/service/redis-lease";
import { fromRedis } from "@switchyard/service/store-error";
import { z } from "zod";
import { leaseKey } from "../accounts/account-leases.ts";

/** A received message, from its arrival to the end of its answer. */
export const InboundRecord = z.object({
  inboundId: InboundId,
  at: Timestamp,
  /** The user whose run it becomes. */
  caller: CallerName,
  /** Null: it is stored and published, and no agent answers. */
  agent: AgentName.nullable(),
  onBusy: BusyPolicy,
  quotes: z.boolean(),
  address: Address,
  messageId: z.string(),
  sender: Sender,
  text: z.string(),
  attachments: z.array(
    z.object({
      name: z.string().optional(),
      mimeType: z.string().optional(),
      sizeBytes: z.number().optional(),
      /** For the adapter, until the file is loaded. */
      source: z.string().optional(),
      /** The stored file. */
      file: FilePart.optional(),
      /** The reason for the agent that it does not get the file. */
      problem: z.string().optional(),
    }),
  ),
  replyToMessageId: z.string().optional(),
  mentionsAccount: z.boolean(),
  writtenAt: Timestamp,
  sessionKey: SessionKey,
  runId: RunId,
  /** `new`: not delivered to the session yet. `said`: its run has to answer. `answering`: the answer has to be sent. */
  state: z.enum(["new", "said", "answering", "done"]),
  isTold: z.boolean(),
  sessionId: SessionId.nullable(),
  /** Null: there is no answer to send. */
  answer: z.string().nullable(),
});
export type InboundRecord = z.infer<typeof InboundRecord>;

/** The address and the sender of a message. */
const LastChat = z.object({ address: Address, senderId: z.string() });
export type LastChat = z.infer<typeof LastChat>;

const KEEP_MS = 7 * 86_400_000;
/** Estimates its key, its answer, and its list entries. */
const RECORD_BYTES = 4_096;
const WORK = "yard:{channels}:inbound:work";

/**
 * KEYS: record, conversation, work, lease, last chat. ARGV: id, JSON, conversation's name, lifetime, owner and epoch of the lease or "",
 * the last chat as JSON or "".
 */
const ADD = `${HOLDS_LEASE}${REDIS_NOW}
if ARGV[5] ~= "" and not holdsLease(KEYS[4], ARGV[5], ARGV[6]) then return "lost" end
if redis.call("EXISTS", KEYS[1]) == 1 then return "known" end
redis.call("SET", KEYS[1], ARGV[2], "PX", ARGV[4])
redis.call("RPUSH", KEYS[2], ARGV[1])
redis.call("ZADD", KEYS[3], "NX", now, ARGV[3])
if ARGV[7] ~= "" then redis.call("SET", KEYS[5], ARGV[7]) end
return "stored"`;

/**
 * Brings forward the time when a conversation is processed next, or removes it when it has no open message. KEYS: conversation,
 * work. ARGV: name, delay.
 */
const REST = `${ESSENTIAL}${REDIS_NOW}
if redis.call("LLEN", KEYS[1]) == 0 then return redis.call("ZREM", KEYS[2], ARGV[1]) end
return redis.call("ZADD", KEYS[2], now + ARGV[2], ARGV[1])`;

export interface InboundStore {
  /**
   * `lease` is null for messages that did not come through the inbound connection. Rejects with `storage_full` when the caller
   * stores too much.
   */
  add(
    record: InboundRecord,
    lease: Lease | null,
    /** True when it shows where the caller's own people can be reached. */
    isLast: boolean,
  ): Promise<"stored" | "known" | "lost">;
  /** The last such chat. */
  last(caller: string): Promise<LastChat | null>;
  /** Claims conversations with work for the given time and returns their names. */
  claim(limit: number, claimMs: number): Promise<readonly string[]>;
  /** Returns the unfinished messages of a conversation, in their order. */
  open(conversation: string): Promise<readonly InboundRecord[]>;
  write(record: InboundRecord): Promise<void>;
  /** Removes a finished message from its conversation. */
  finish(conversation: string, record: InboundRecord): Promise<void>;
  rest(conversation: string, delayMs: number): Promise<void>;
}

export function createInboundStore(
  redis: Redis,
  storage?: Pick<OwnerStorage, "admit" | "add">,
): InboundStore {
  const write = async (record: InboundRecord): Promise<void> => {
    const key = recordKey(record.inboundId);
    await essentialWrite(redis, ["set", key, toJson(record), "PX", KEEP_MS]);
  };
  return {
    async add(record, lease, isLast) {
      const { inboundId, address, caller } = record;
      const json = toJson(record);
      const isKnown = async () =>
        (await fromRedis(redis.exists(recordKey(inboundId)))) === 1 ? "known" : null;
      const known = await knownWithoutRoom(storage?.admit(caller), isKnown);
      if (known !== null) return known;
      const conversation = conversationOf(record);
      const answer = redis.eval(
        ADD,
        5,
        recordKey(inboundId),
        listKey(conversation),
        WORK,
        leaseKey(`${address.channel}/${address.accountId}`),
        lastKey(record.caller),
        inboundId,
        json,
        conversation,
        KEEP_MS,
        lease?.owner ?? "",
        lease?.epoch ?? "",
        isLast ? toJson({ address, senderId: record.sender.id } satisfies LastChat) : "",
      );
      const outcome = (await fromRedis(answer)) as "stored" | "known" | "lost"; // the script returns this type
      if (outcome === "stored")
        storage?.add(caller, Buffer.byteLength(json) + RECORD_BYTES, KEEP_MS);
      return outcome;
    },
    async last(caller) {
      const text = await fromRedis(redis.get(lastKey(caller)));
      return text === null ? null : LastChat.parse(JSON.parse(text));
    },
    claim: (limit, claimMs) => claimDue(redis, WORK, { limit, claimMs }),
    async open(conversation) {
      const ids = await fromRedis(redis.lrange(listKey(conversation), 0, OPEN_AT_ONCE - 1));
      if (ids.length === 0) return [];
      const texts = await fromRedis(redis.mget(ids.map(recordKey)));
      const found = texts.filter((text) => text !== null);
      return found.map((text) => InboundRecord.parse(JSON.parse(text)));
    },
    write,
    async finish(conversation, record) {
      await write({ ...record, state: "done" });
      await fromRedis(redis.lrem(listKey(conversation), 1, record.inboundId));
    },
    async rest(conversation, delayMs) {
      await fromRedis(redis.eval(REST, 2, listKey(conversation), WORK, conversation, delayMs));
    },
  };
}

const OPEN_AT_ONCE = 32;

/** Messages of one owner's session keep their order. */
export function conversationOf({
  caller,
  sessionKey,
}: Pick<InboundRecord, "caller" | "sessionKey">): string {
  return `${caller} ${sessionKey}`;
}

function recordKey(inboundId: string): string {
  return `yard:{channels}:inbound:${inboundId}`;
}

function lastKey(caller: string): string {
  return `yard:{channels}:last:${caller}`;
}

function listKey(conversation: string): string {
  return `yard:{channels}:conversation:${conversation}`;
}
