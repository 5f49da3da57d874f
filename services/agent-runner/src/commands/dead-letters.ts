import { randomUUID } from "node:crypto";
import { DeadLetter } from "@switchyard/contracts/runs";
import type { Redis } from "@switchyard/service/redis";
import { ESSENTIAL, essentialWrite } from "@switchyard/service/essential-write";
import { fromRedis } from "@switchyard/service/store-error";
import { z } from "zod";
import { KeptCommand } from "../journal/kept-commands.ts";
import { defineScripts } from "../journal/redis-scripts.ts";
import type { MessageFacts } from "./run-command.ts";

/** What a command asks for, with which it can be sent again, and the digest of that. */
const DeadText = z.object({ digest: z.string(), command: KeptCommand });
export type DeadText = z.infer<typeof DeadText>;

/** A command that was given up, or was and has been sent again since. */
export type FoundLetter =
  | { readonly isSent: false; readonly letter: DeadLetter; readonly text: DeadText | null }
  | { readonly isSent: true; readonly runId: string; readonly caller: string };

/**
 * Commands that never became a run because runners died of them. Each runner that begins a message leaves a mark, which it
 * takes away when it leaves the message in order: what is left are deaths. A run that exists counts by itself.
 * Methods reject with StoreError.
 */
export interface DeadLetters {
  /** Marks the message as begun by this runner; gives how many others died of it or failed at it. */
  begin(message: MessageFacts): Promise<number>;
  /** This runner has left the message in order, whatever kept it from going on. */
  leave(message: MessageFacts): Promise<void>;
  /** It failed at it by a fault of the program, which counts like a death. */
  fail(message: MessageFacts, deliveryCount: number): Promise<void>;
  /** The message is done with, or its run counts from now on. */
  forget(message: MessageFacts): Promise<void>;
  /**
   * True for the one runner that may take the message before its turn: its deaths are counted only then. It is remembered for
   * ten minutes.
   */
  beginEarly(message: MessageFacts): Promise<boolean>;
  /** It came to nothing, for a reason that is not the message's. */
  forgetEarly(message: MessageFacts): Promise<void>;
  /** Keeps what is known of a message that is given up, and its text where there is one; repeating it changes nothing. */
  add(letter: DeadLetter, text: DeadText | null): Promise<void>;
  /** All that are kept, latest first; those that one user sent, or everybody's. */
  list(caller?: string): Promise<DeadLetter[]>;
  /** Null when there is none of this id. */
  find(id: string): Promise<FoundLetter | null>;
  /** It has been sent again: it is on the list no more, and its text is gone. */
  takeOff(letter: DeadLetter): Promise<void>;
}

const LETTERS_KEY = "yard:runs:letters";
/** The texts, by the ids of the letters. */
const TEXTS_KEY = "yard:runs:letters:texts";
/** With the size of a text the most is 64 MiB. */
const MAX_LETTERS = 1_000;
/** Of one text as JSON, in characters; what is larger is listed without it. */
const MAX_TEXT = 64 * 1024;
/** As long as a command may wait in the queue. */
const KEEP_SECONDS = 30 * 24 * 3_600;
/** Between two deliveries of a message lie minutes at most. */
const MARK_SECONDS = 86_400;
/** One runner in ten minutes may die of a command whose turn has not come. */
const EARLY_SECONDS = 600;

/** One request for each command that comes. KEYS marks · ARGV runner, seconds that they are kept · gives how many marks others left */
const BEGIN = `${ESSENTIAL}
redis.call('SADD', KEYS[1], ARGV[1])
redis.call('EXPIRE', KEYS[1], ARGV[2])
return {tostring(redis.call('SCARD', KEYS[1]) - 1)}
`;

export function openDeadLetters(redis: Redis): DeadLetters {
  const runner = randomUUID();
  const run = defineScripts(redis, { yardCommandBegin: BEGIN });
  return {
    async begin(message) {
      const [others] = await run("yardCommandBegin", [keyOf(message)], [runner, MARK_SECONDS]);
      return Number(others);
    },

    async leave(message) {
      await fromRedis(redis.srem(keyOf(message), runner));
    },

    async fail(message, deliveryCount) {
      await essentialWrite(redis, ["sadd", keyOf(message), `${runner}:${deliveryCount}`]);
      await fromRedis(redis.srem(keyOf(message), runner));
    },

    async forget(message) {
      await fromRedis(redis.del(keyOf(message)));
    },

    async beginEarly(message) {
      const key = `${keyOf(message)}:early`;
      return (await essentialWrite(redis, ["set", key, 1, "EX", EARLY_SECONDS, "NX"])) === "OK";
    },

    async forgetEarly(message) {
      await fromRedis(redis.del(`${keyOf(message)}:early`));
    },

    async add(letter, text) {
      const id = letterId(letter);
      const json = text === null ? null : JSON.stringify(text);
      // First, so that what is listed with a text has one.
      if (json !== null && json.length <= MAX_TEXT)
        await fromRedis(redis.hset(TEXTS_KEY, id, json));
      await fromRedis(redis.zadd(LETTERS_KEY, Date.parse(letter.sentAt), JSON.stringify(letter)));
      await fromRedis(redis.del(sentKey(id)));
      await removeOld(redis);
    },

    async list(caller) {
      await removeOld(redis);
      const [letters, ids] = await Promise.all([stored(redis), fromRedis(redis.hkeys(TEXTS_KEY))]);
      const texts = new Set(ids);
      return letters
        .filter((letter) => caller === undefined || letter.caller === caller)
        .map((letter) => {
          const id = letterId(letter);
          return Object.assign(letter, { id, canRedrive: texts.has(id) });
        });
    },

    async find(id) {
      const letter = (await stored(redis)).find((one) => letterId(one) === id);
      if (letter === undefined) {
        const [runId, caller] = await fromRedis(redis.hmget(sentKey(id), "runId", "caller"));
        return runId && caller ? { isSent: true, runId, caller } : null;
      }
      const json = await fromRedis(redis.hget(TEXTS_KEY, id));
      const text = json === null ? null : DeadText.parse(JSON.parse(json));
      return { isSent: false, letter, text };
    },

    async takeOff(letter) {
      const id = letterId(letter);
      const { runId, caller } = letter;
      await fromRedis(redis.hset(sentKey(id), { runId, caller }));
      await fromRedis(redis.expire(sentKey(id), KEEP_SECONDS));
      const members = await membersOf(redis);
      await remove(
        redis,
        members.filter((json) => letterId(letterIn(json)) === id),
      );
    },
  };
}

function membersOf(redis: Redis): Promise<string[]> {
  return fromRedis(redis.zrevrange(LETTERS_KEY, 0, MAX_LETTERS - 1));
}

async function stored(redis: Redis): Promise<DeadLetter[]> {
  return (await membersOf(redis)).map(letterIn);
}

/** Those that are too many or too old, with their texts. */
async function removeOld(redis: Redis): Promise<void> {
  const oldest = Date.now() - KEEP_SECONDS * 1_000;
  const [many, late] = await Promise.all([
    fromRedis(redis.zrange(LETTERS_KEY, "0", String(-MAX_LETTERS - 1))),
    fromRedis(redis.zrangebyscore(LETTERS_KEY, "-inf", String(oldest))),
  ]);
  await remove(redis, [...many, ...late]);
}

async function remove(redis: Redis, members: readonly string[]): Promise<void> {
  if (members.length === 0) return;
  await fromRedis(redis.zrem(LETTERS_KEY, ...members));
  await fromRedis(redis.hdel(TEXTS_KEY, ...members.map((json) => letterId(letterIn(json)))));
}

function letterIn(json: string): DeadLetter {
  return DeadLetter.parse(JSON.parse(json));
}

function letterId({ runId, sentAt }: DeadLetter): string {
  return `${runId}:${Date.parse(sentAt)}`;
}

function sentKey(id: string): string {
  return `yard:runs:letters:sent:${id}`;
}

/** Each user's stream counts from 1, and again when it was made anew: both belong to a message's name. */
function keyOf({ subject, streamSequence, publishedAt }: MessageFacts): string {
  const user = subject.split(".")[2] ?? "";
  return `yard:command:${user}:${streamSequence}:${publishedAt.getTime()}:runners`;
}
