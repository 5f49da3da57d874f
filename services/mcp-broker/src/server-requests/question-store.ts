import { AnswerContent, Question } from "@switchyard/contracts/mcp-broker/mcp-questions";
import { toJson } from "@switchyard/contracts/well-formed";
import { ESSENTIAL } from "@switchyard/service/essential-write";
import type { Redis } from "@switchyard/service/redis";
import { allFromRedis, fromRedis } from "@switchyard/service/store-error";
import { z } from "zod";

/** A question with the fields that only brokers need. */
export const StoredQuestion = z.object({
  question: Question,
  /** The broker that waits for the answer. */
  holder: z.string(),
  content: AnswerContent.optional(),
});
export type StoredQuestion = z.infer<typeof StoredQuestion>;

export const HOLDER_TTL_SECONDS = 15;
const KEY = "yard:{mcp:questions}:records";
const KEPT_SECONDS = 2 * 24 * 60 * 60;

const END = `${ESSENTIAL}
local now = redis.call("HGET", KEYS[1], ARGV[1])
if not now then return nil end
if cjson.decode(now).question.state ~= "pending" then return now end
redis.call("HSET", KEYS[1], ARGV[1], ARGV[2])
return ARGV[2]`;

export type QuestionStore = ReturnType<typeof createQuestionStore>;

/**
 * Questions in Redis, in one hash. A question leaves `pending` once, by compare-and-set, so that of two answers one counts. The
 * content of an answer is in it only until the waiting broker has read it.
 */
export function createQuestionStore(redis: Redis) {
  return {
    async add(stored: StoredQuestion): Promise<void> {
      await allFromRedis(
        redis
          .multi()
          .hset(KEY, stored.question.id, toJson(stored))
          .expire(KEY, KEPT_SECONDS)
          .exec(),
      );
    },
    async read(ids: readonly string[]): Promise<(StoredQuestion | null)[]> {
      if (ids.length === 0) return [];
      return (await fromRedis(redis.hmget(KEY, ...ids))).map(parsed);
    },
    /** Replaces the pending question with the ended one; returns the question that is stored afterwards. */
    async end(stored: StoredQuestion): Promise<StoredQuestion | null> {
      const text = toJson(stored);
      const result = await fromRedis(redis.eval(END, 1, KEY, stored.question.id, text));
      return parsed(typeof result === "string" ? result : null);
    },
    /** Deletes the content of an answer. */
    async forgetContent({ question, holder }: StoredQuestion): Promise<void> {
      await fromRedis(redis.hset(KEY, question.id, toJson({ question, holder })));
    },
    async all(): Promise<StoredQuestion[]> {
      const texts = await fromRedis(redis.hvals(KEY));
      return texts.flatMap((text) => parsed(text) ?? []);
    },
    async remove(ids: readonly string[]): Promise<void> {
      if (ids.length > 0) await fromRedis(redis.hdel(KEY, ...ids));
    },
    /** Records that the holder is alive, for {@link HOLDER_TTL_SECONDS}. */
    async touchHolder(holder: string): Promise<void> {
      await fromRedis(redis.set(holderKey(holder), "1", "EX", HOLDER_TTL_SECONDS));
    },
    async livingHolders(holders: readonly string[]): Promise<ReadonlySet<string>> {
      if (holders.length === 0) return new Set();
      const values = await fromRedis(redis.mget(...holders.map(holderKey)));
      return new Set(holders.filter((_, index) => values[index] !== null));
    },
  };
}

function holderKey(holder: string): string {
  return `yard:{mcp:questions}:holder:${holder}`;
}

/** A record of another version that cannot be parsed is treated as missing. */
function parsed(text: string | null | undefined): StoredQuestion | null {
  if (typeof text !== "string") return null;
  const result = StoredQuestion.safeParse(JSON.parse(text));
  return result.success ? result.data : null;
}
