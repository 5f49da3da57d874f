import { ApprovalId, Risk } from "@switchyard/contracts/policy/approval-record";
import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import { Address } from "@switchyard/contracts/channels/channel-address";
import { SendId } from "@switchyard/contracts/channels/channels";
import { QuestionRef } from "@switchyard/contracts/policy/chat-questions";
import { Digest, Timestamp } from "@switchyard/contracts/ids";
import { toJson } from "@switchyard/contracts/well-formed";
import { claimDue, REDIS_NOW } from "@switchyard/service/due-list";
import { ESSENTIAL, essentialWrite } from "@switchyard/service/essential-write";
import type { Redis } from "@switchyard/service/redis";
import { fromRedis } from "@switchyard/service/store-error";
import { z } from "zod";
import { QuestionReply, TextForm } from "./question-form.ts";

/** The fields of every message about a waiting call or a question. It is stored before it is sent, so its buttons are the same after any restart. */
const shown = {
  promptId: z.string(),
  /** The exact call or question that the message shows. */
  binding: Digest,
  address: Address,
  /** The only person whose press counts; null in a group, where each linked person decides with its own rights. */
  personId: z.string().nullable(),
  /** The secret of the link in a mail. */
  linkCode: z.string().optional(),
  /** One line that names the call. */
  title: z.string(),
  text: z.string(),
  /** The arguments, or the words of a question, are the end of the text, from this unit on. */
  argumentsAt: z.int().nonnegative(),
  sendId: SendId,
  /** Known from the send, or from a press for a message whose send was not confirmed. */
  messageId: z.string().nullable(),
  expiresAt: Timestamp,
  /** `new`: the outbox may not have it yet. `ended`: the message shows the end, or cannot be changed. */
  state: z.enum(["new", "asked", "ended"]),
} as const;

export const CallPrompt = z.object({
  ...shown,
  approvalId: ApprovalId,
  risk: Risk,
  /** The secrets of its buttons: the buttons' data is the id and one of these. */
  codes: z.object({ approve: z.string(), deny: z.string() }),
});
export type CallPrompt = z.infer<typeof CallPrompt>;

export const QuestionPrompt = z.object({
  ...shown,
  question: QuestionRef,
  /** The buttons: a secret for each answer. */
  choices: z.array(z.object({ code: z.string(), label: z.string(), reply: QuestionReply })),
  /** Null: no text is an answer. */
  textAs: TextForm.nullable(),
});
export type QuestionPrompt = z.infer<typeof QuestionPrompt>;

export const Prompt = z.union([QuestionPrompt, CallPrompt]);
export type Prompt = z.infer<typeof Prompt>;

/** Names what a message is about, among the messages of all chats. */
export function subjectOf(prompt: Prompt): string {
  return "question" in prompt ? questionName(prompt.question) : prompt.approvalId;
}

export function questionName(ref: QuestionRef): string {
  if ("questionId" in ref) return ref.questionId;
  return canonicalDigest([ref.runId, ref.callId]);
}

/** Records stay so long after the end of the time to decide. */
const KEEP_MS = 7 * 86_400_000;
const ARMED_MS = 60_000;
const DUE = "yard:{channels}:prompts:due";

/** KEYS: prompt, prompts of the approval or question, due, questions of the conversation. ARGV: id, JSON, lifetime, milliseconds until it is looked at. */
const CREATE = `${REDIS_NOW}
local known = redis.call("GET", KEYS[1])
if known then return known end
redis.call("SET", KEYS[1], ARGV[2], "PX", ARGV[3])
redis.call("SADD", KEYS[2], ARGV[1])
redis.call("PEXPIRE", KEYS[2], ARGV[3])
redis.call("ZADD", KEYS[3], now + ARGV[4], ARGV[1])
if KEYS[4] then
  redis.call("SADD", KEYS[4], ARGV[1])
  if redis.call("PTTL", KEYS[4]) < tonumber(ARGV[3]) then redis.call("PEXPIRE", KEYS[4], ARGV[3]) end
end
return false`;

/** A prompt that is not in the list any more stays out of it. */
const REST = `${ESSENTIAL}${REDIS_NOW}
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
  /** Makes the prompts of an approval or a question due now. */
  hurry(subject: string): Promise<void>;
  /** Lists the questions that were sent to a conversation. */
  questionsAt(address: Address): Promise<readonly QuestionPrompt[]>;
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
      const { promptId } = prompt;
      const keys = [keyOf(promptId), listOf(subjectOf(prompt)), DUE];
      if ("question" in prompt) keys.push(questionsKey(prompt.address));
      const args = [promptId, toJson(prompt), lifetimeOf(prompt), lookMs];
      const known = await fromRedis(redis.eval(CREATE, keys.length, ...keys, ...args));
      return typeof known === "string" ? Prompt.parse(JSON.parse(known)) : prompt;
    },
    async read(promptId) {
      return (await readMany([promptId]))[0] ?? null;
    },
    readMany,
    write,
    claim: (limit, claimMs) => claimDue(redis, DUE, { limit, claimMs }),
    rest,
    async hurry(subject) {
      for (const id of await fromRedis(redis.smembers(listOf(subject)))) await rest(id, 0);
    },
    async questionsAt(address) {
      const key = questionsKey(address);
      const ids = await fromRedis(redis.smembers(key));
      const found = await readMany(ids);
      const gone = ids.filter((_, at) => found[at] === null);
      if (gone.length > 0) await fromRedis(redis.srem(key, ...gone));
      return found.filter((one) => one !== null && "question" in one);
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

function listOf(subject: string): string {
  return `yard:{channels}:prompts-of:${subject}`;
}

/** Answers in a thread belong to the conversation around it. */
function questionsKey({ channel, accountId, target }: Address): string {
  return `yard:{channels}:questions-at:${canonicalDigest({ channel, accountId, target })}`;
}
