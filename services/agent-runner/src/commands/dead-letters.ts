import { randomUUID } from "node:crypto";
import { DeadLetter, type DeadRun } from "@switchyard/contracts/agent-runner/runs";
import type { Redis } from "@switchyard/service/redis";
import { ESSENTIAL, essentialWrite } from "@switchyard/service/essential-write";
import { fromRedis } from "@switchyard/service/store-error";
import { z } from "zod";
import { DeferredCommand, type DeferredCommands } from "../journal/deferred-commands.ts";
import { defineScripts } from "../journal/redis-scripts.ts";
import type { MessageFacts } from "./run-command.ts";
import type { DeadRows } from "../journal/run-index.ts";
import { keptMember, type ParkedRuns } from "../journal/parked-runs.ts";
import { mayControl } from "../journal/run-access.ts";

/** The command with which it can be sent again, and the digest of the command. */
const DeadText = z.object({ digest: z.string(), command: DeferredCommand });
export type DeadText = z.infer<typeof DeadText>;

/** A command that was given up, or one that has been sent again since. */
type FoundLetter =
  | { readonly isSent: false; readonly letter: DeadLetter; readonly text: DeadText | null }
  | { readonly isSent: true; readonly runId: string; readonly caller: string };

/**
 * Commands that never became a run because runners died of them. Each runner that begins a message adds a mark, which it
 * removes when it releases the message in order: the remaining marks are deaths. An existing run counts its deaths itself.
 * Methods reject with StoreError.
 */
export interface DeadLetters {
  /** Marks the message as begun by this runner; returns how many others died of it or failed at it. */
  begin(message: MessageFacts): Promise<number>;
  /** This runner has released the message in order, for whatever reason it could not complete it. */
  leave(message: MessageFacts): Promise<void>;
  /** The runner failed on the message because of a program fault, which counts like a death. */
  fail(message: MessageFacts, deliveryCount: number): Promise<void>;
  /** The message is acknowledged, or its run counts the deaths from now on. */
  forget(message: MessageFacts): Promise<void>;
  /**
   * True for the one runner that may begin the message before its turn: only then its deaths are counted. The mark expires
   * after ten minutes.
   */
  beginEarly(message: MessageFacts): Promise<boolean>;
  /** The early attempt failed for a reason that is independent of the message. */
  forgetEarly(message: MessageFacts): Promise<void>;
  /** Stores the facts of a message that is given up, and its text if there is one; idempotent. */
  add(letter: DeadLetter, text: DeadText | null): Promise<void>;
  /** All stored letters, latest first; with `caller` only those that this user sent. */
  list(caller?: string): Promise<DeadLetter[]>;
  /** Null when there is none of this id. */
  find(id: string): Promise<FoundLetter | null>;
  /** The command has been sent again: removes it from the list and deletes its text. */
  takeOff(letter: DeadLetter): Promise<void>;
}

const LETTERS_KEY = "yard:runs:letters";
/** The texts, by the ids of the letters. */
const TEXTS_KEY = "yard:runs:letters:texts";
/** With the size limit of a text the maximum is 64 MiB. */
const MAX_LETTERS = 1_000;
/** The limit for one text as JSON, in characters; a larger one is listed without its text. */
const MAX_TEXT = 64 * 1024;
/** The same time that a command may wait in the queue. */
const KEEP_SECONDS = 30 * 24 * 3_600;
/** Deliveries of a message are minutes apart at most. */
const MARK_SECONDS = 86_400;
/** One runner in ten minutes may die of a command whose turn has not come. */
const EARLY_SECONDS = 600;

/**
 * One request for each command that comes. KEYS marks · ARGV runner, lifetime of the marks in seconds · returns how many marks
 * others left
 */
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
      // Stored first, so that a letter that is listed with a text has one.
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

/**
 * Returns one page of the runs and commands that were given up, latest first: runs by the time of that, commands by when they
 * were sent. `dead` has the runs after the cursor, `letters` all commands.
 */
export function deadPage(
  { dead, letters }: { readonly dead: DeadRows; readonly letters: readonly DeadLetter[] },
  { limit, cursor }: { readonly limit: number; readonly cursor: string | null },
): DeadPage {
  const entries = [
    ...dead.rows.map(({ cursor: at, run }) => ({ at, runs: [run], letters: [] })),
    ...letters.map((letter) => ({ at: cursorOf(letter), runs: [], letters: [letter] })),
  ]
    .filter(({ at }) => cursor === null || compare(at, cursor) < 0)
    // If the search for runs stopped early, older commands belong to a later page, after the runs in between.
    .filter(({ at }) => dead.next === null || compare(at, dead.next) >= 0)
    .toSorted((one, other) => compare(other.at, one.at));
  const page = entries.slice(0, limit);
  return {
    runs: page.flatMap(({ runs }) => runs),
    letters: page.flatMap((entry) => entry.letters),
    next: entries.length > limit ? (page.at(-1)?.at ?? null) : dead.next,
  };
}

export interface RedriveParts {
  readonly letters: DeadLetters;
  readonly kept: DeferredCommands;
  readonly parked: ParkedRuns;
  readonly now: () => number;
}

/** Finds a command that the caller may send again; null when there is none. */
export async function findLetter(
  { letters }: Pick<RedriveParts, "letters">,
  { letterId: id, caller }: { readonly letterId: string; readonly caller: string },
): Promise<FoundLetter | null> {
  const found = await letters.find(id);
  if (found === null) return null;
  const requester = found.isSent ? found.caller : found.letter.caller;
  return mayControl(caller, { requester }) ? found : null;
}

/**
 * Stores a dead command among the deferred commands and schedules it for the sweeper, which sends it again in the name of its
 * sender. Doing it twice, at once or after a crash half-way, sends the same command twice, which makes one run. Returns why the
 * command cannot be stored, or null when it will be sent.
 */
export async function redrive(
  { letters, kept, parked, now }: RedriveParts,
  { letter, text }: Extract<FoundLetter, { isSent: false }> & { readonly text: DeadText },
): Promise<string | null> {
  const { runId } = letter;
  const redrivenAt = new Date(now()).toISOString();
  const { digest, command } = text;
  const keeping = await kept.keep({ runId, digest }, { ...command, redrivenAt });
  if (!keeping.kept) return keeping.why;
  await parked.lookAgain(keptMember(runId), now());
  await letters.takeOff(letter);
  return null;
}

function membersOf(redis: Redis): Promise<string[]> {
  return fromRedis(redis.zrevrange(LETTERS_KEY, 0, MAX_LETTERS - 1));
}

async function stored(redis: Redis): Promise<DeadLetter[]> {
  return (await membersOf(redis)).map(letterIn);
}

/** Removes letters beyond the limit of number or age, with their texts. */
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

/** Each user's stream counts from 1, and again after it was recreated: user and time are parts of the key. */
function keyOf({ subject, streamSequence, publishedAt }: MessageFacts): string {
  const user = subject.split(".")[2] ?? "";
  return `yard:command:${user}:${streamSequence}:${publishedAt.getTime()}:runners`;
}

interface DeadPage {
  readonly runs: DeadRun[];
  readonly letters: DeadLetter[];
  /** The cursor of the next page; null at the end. */
  readonly next: string | null;
}

function cursorOf({ sentAt, streamSequence }: DeadLetter): string {
  return `${Date.parse(sentAt)}:letter/${streamSequence}`;
}

/** Orders by time, and by name within a millisecond, like the lists in Redis. */
function compare(one: string, other: string): number {
  const [[oneAt, oneName], [otherAt, otherName]] = [partsOf(one), partsOf(other)];
  if (oneAt !== otherAt) return oneAt - otherAt;
  return oneName === otherName ? 0 : oneName < otherName ? -1 : 1;
}

function partsOf(cursor: string): [number, string] {
  const at = cursor.indexOf(":");
  return [Number(cursor.slice(0, at)), cursor.slice(at + 1)];
}
