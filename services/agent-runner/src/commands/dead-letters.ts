import { randomUUID } from "node:crypto";
import { DeadLetter } from "@switchyard/contracts/runs";
import type { Redis } from "@switchyard/service/redis";
import { fromRedis } from "@switchyard/service/store-error";
import { defineScripts } from "../journal/redis-scripts.ts";
import type { MessageFacts } from "./run-command.ts";

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
  /** Keeps what is known of a message that is given up; repeating it changes nothing. */
  add(letter: DeadLetter): Promise<void>;
  /** All that are kept, latest first; those that one user sent, or everybody's. */
  list(caller?: string): Promise<DeadLetter[]>;
}

const LETTERS_KEY = "yard:runs:letters";
const MAX_LETTERS = 1_000;
/** Between two deliveries of a message lie minutes at most. */
const MARK_SECONDS = 86_400;
/** One runner in ten minutes may die of a command whose turn has not come. */
const EARLY_SECONDS = 600;

/** One request for each command that comes. KEYS marks · ARGV runner, seconds that they are kept · gives how many marks others left */
const BEGIN = `
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
      await fromRedis(redis.sadd(keyOf(message), `${runner}:${deliveryCount}`));
      await fromRedis(redis.srem(keyOf(message), runner));
    },

    async forget(message) {
      await fromRedis(redis.del(keyOf(message)));
    },

    async beginEarly(message) {
      const set = redis.set(`${keyOf(message)}:early`, 1, "EX", EARLY_SECONDS, "NX");
      return (await fromRedis(set)) === "OK";
    },

    async forgetEarly(message) {
      await fromRedis(redis.del(`${keyOf(message)}:early`));
    },

    async add(letter) {
      await fromRedis(redis.zadd(LETTERS_KEY, Date.parse(letter.sentAt), JSON.stringify(letter)));
      await fromRedis(redis.zremrangebyrank(LETTERS_KEY, 0, -MAX_LETTERS - 1));
    },

    async list(caller) {
      const stored = await fromRedis(redis.zrevrange(LETTERS_KEY, 0, MAX_LETTERS - 1));
      const letters = stored.map((json) => DeadLetter.parse(JSON.parse(json)));
      const isWanted = (letter: DeadLetter): boolean =>
        caller === undefined || letter.caller === caller;
      return letters.filter(isWanted);
    },
  };
}

/** Each user's stream counts from 1, and again when it was made anew: both belong to a message's name. */
function keyOf({ subject, streamSequence, publishedAt }: MessageFacts): string {
  const user = subject.split(".")[2] ?? "";
  return `yard:command:${user}:${streamSequence}:${publishedAt.getTime()}:runners`;
}
