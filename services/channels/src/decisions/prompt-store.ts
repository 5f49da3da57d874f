import { ApprovalId, Risk } from "@switchyard/contracts/policy/approval-record";
import { Address } from "@switchyard/contracts/channels/channel-address";
import { SendId } from "@switchyard/contracts/channels/channels";
import { Digest, Timestamp } from "@switchyard/contracts/ids";
import { toJson } from "@switchyard/contracts/well-formed";
import { ESSENTIAL, essentialWrite } from "@switchyard/service/essential-write";
import type { Redis } from "@switchyard/service/redis";
import { fromRedis } from "@switchyard/service/store-error";
import { z } from "zod";

/** A waiting call as one chat shows it. It is stored before the message is sent, so its buttons are the same after any restart. */
export const Prompt = z.object({
  promptId: z.string(),
  approvalId: ApprovalId,
  /** The exact call that the message shows. */
  binding: Digest,
  risk: Risk,
  address: Address,
  /** The only person whose press counts; null in a group, where each linked person decides with its own rights. */
  personId: z.string().nullable(),
  /** The secrets of its buttons: the buttons' data is the id and one of these. */
  codes: z.object({ approve: z.string(), deny: z.string() }),
  /** The secret of the link in a mail. */
  linkCode: z.string().optional(),
  /** One line that names the call. */
  title: z.string(),
  text: z.string(),
  /** The arguments are the end of the text, from this unit on. */
  argumentsAt: z.int().nonnegative(),
  sendId: SendId,
  /** Known from a press, for a message whose send was not confirmed. */
  messageId: z.string().nullable(),
  expiresAt: Timestamp,
  /** `new`: the outbox may not have it yet. `ended`: the message shows the end, or cannot be changed. */
  state: z.enum(["new", "asked", "ended"]),
});
export type Prompt = z.infer<typeof Prompt>;

/** Records stay so long after the end of the time to decide. */
const KEEP_MS = 7 * 86_400_000;
const ARMED_MS = 60_000;
const DUE = "yard:{channels}:prompts:due";

const NOW = `
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)`;

/** KEYS: prompt, prompts of the approval, due. ARGV: id, JSON, lifetime, milliseconds until it is looked at. */
const CREATE = `${NOW}
local known = redis.call("GET", KEYS[1])
if known then return known end
redis.call("SET", KEYS[1], ARGV[2], "PX", ARGV[3])
redis.call("SADD", KEYS[2], ARGV[1])
redis.call("PEXPIRE", KEYS[2], ARGV[3])
redis.call("ZADD", KEYS[3], now + ARGV[4], ARGV[1])
return false`;

const CLAIM = `${ESSENTIAL}${NOW}
local due = redis.call("ZRANGEBYSCORE", KEYS[1], "-inf", now, "LIMIT", 0, ARGV[1])
for _, id in ipairs(due) do redis.call("ZADD", KEYS[1], now + ARGV[2], id) end
return due`;

/** A prompt that is not in the list any more stays out of it. */
const REST = `${ESSENTIAL}${NOW}
return redis.call("ZADD", KEYS[1], "XX", now + ARGV[2], ARGV[1])`;

/** KEYS: the first press. ARGV: this press, how long it counts. Returns 1 for the second press. */
const ARM = `
local first = redis.call("GET", KEYS[1])
if first and first ~= ARGV[1] then return 1 end
redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2])
return 0`;

/** The messages about waiting calls, in Redis. Every method rejects with StoreError. */
export interface PromptStore {
  /** Stores a prompt, or returns the one that is there with its id. */
  create(prompt: Prompt, lookMs: number): Promise<Prompt>;
  read(promptId: string): Promise<Prompt | null>;
  readMany(promptIds: readonly string[]): Promise<readonly (Prompt | null)[]>;
  write(prompt: Prompt): Promise<void>;
  /** Claims prompts that are due, for the given time. */
  claim(limit: number, claimMs: number): Promise<readonly string[]>;
  rest(promptId: string, delayMs: number): Promise<void>;
  /** Makes the prompts of an approval due now. */
  hurry(approvalId: string): Promise<void>;
  /** Ends the work on a prompt. */
  finish(prompt: Prompt): Promise<void>;
  /** Removes a prompt whose record is gone from the list. */
  forget(promptId: string): Promise<void>;
  /** True for a second, different press of the same person within a minute. */
  isConfirmed(promptId: string, personId: string, pressId: string): Promise<boolean>;
}

export function createPromptStore(redis: Redis, now: () => number): PromptStore {
  const lifetimeOf = ({ expiresAt }: Prompt): number =>
    Math.max(0, Date.parse(expiresAt) - now()) + KEEP_MS;
  const readMany: PromptStore["readMany"] = async (ids) => {
    if (ids.length === 0) return [];
    const texts = await fromRedis(redis.mget(ids.map(keyOf)));
    return texts.map((text) => (text === null ? null : Prompt.parse(JSON.parse(text))));
  };
  const rest: PromptStore["rest"] = async (promptId, delayMs) => {
    await fromRedis(redis.eval(REST, 1, DUE, promptId, delayMs));
  };
  const write: PromptStore["write"] = async (prompt) => {
    const key = keyOf(prompt.promptId);
    await essentialWrite(redis, ["set", key, toJson(prompt), "PX", lifetimeOf(prompt)]);
  };
  return {
    async create(prompt, lookMs) {
      const { promptId, approvalId } = prompt;
      const keys = [keyOf(promptId), listOf(approvalId), DUE];
      const args = [promptId, toJson(prompt), lifetimeOf(prompt), lookMs];
      const known = await fromRedis(redis.eval(CREATE, 3, ...keys, ...args));
      return typeof known === "string" ? Prompt.parse(JSON.parse(known)) : prompt;
    },
    async read(promptId) {
      return (await readMany([promptId]))[0] ?? null;
    },
    readMany,
    write,
    async claim(limit, claimMs) {
      return (await fromRedis(redis.eval(CLAIM, 1, DUE, limit, claimMs))) as string[]; // members of a sorted set
    },
    rest,
    async hurry(approvalId) {
      for (const id of await fromRedis(redis.smembers(listOf(approvalId)))) await rest(id, 0);
    },
    async finish(prompt) {
      await write({ ...prompt, state: "ended" });
      await fromRedis(redis.zrem(DUE, prompt.promptId));
    },
    async forget(promptId) {
      await fromRedis(redis.zrem(DUE, promptId));
    },
    async isConfirmed(promptId, personId, pressId) {
      const key = `yard:{channels}:prompt-pressed:${promptId}:${personId}`;
      return (await fromRedis(redis.eval(ARM, 1, key, pressId, ARMED_MS))) === 1;
    },
  };
}

function keyOf(promptId: string): string {
  return `yard:{channels}:prompt:${promptId}`;
}

function listOf(approvalId: string): string {
  return `yard:{channels}:prompts-of:${approvalId}`;
}
