import type { OwnerStorage } from "@switchyard/service/owner-storage";
import type { Redis } from "@switchyard/service/redis";
import { fromRedis } from "@switchyard/service/store-error";
import { ownerOfRun } from "@switchyard/contracts/ids";
import { z } from "zod";
import { defineScripts } from "./redis-scripts.ts";
import { keptKey, keptThing } from "./run-storage.ts";

/** A message as it was read from the queue, so that it can be read again without the queue. */
export const DeferredCommand = z.object({
  contract: z.string(),
  tokens: z.record(z.string(), z.string()),
  payload: z.unknown(),
  subject: z.string(),
  caller: z.string(),
  streamSequence: z.int(),
  messageId: z.string().nullable(),
  publishedAt: z.string(),
  /** The time at which it was sent again after it had been given up. */
  redrivenAt: z.string().optional(),
});
export type DeferredCommand = z.infer<typeof DeferredCommand>;

/**
 * Limits for stored commands. Beyond them a command stays in the queue, where it counts against the quota of its sender (decision
 * 036).
 */
export interface DeferredLimits {
  readonly perOwner: number;
  readonly all: number;
  /** The limit for one command as JSON, in characters. */
  readonly size: number;
}

export type Deferral =
  | { readonly kept: true }
  /** `why` is for the log. */
  | { readonly kept: false; readonly why: string };

/**
 * Commands that cannot become a run now, because a service is away that a new run needs. They lie here and not in the queue, where they
 * would count as work that waits for a runner. Methods reject with StoreError.
 */
export interface DeferredCommands {
  /** Stores a command, or counts one more rest of it. Refused when another command with its run id is stored, or too many are. */
  keep(
    run: { readonly runId: string; readonly digest: string },
    command: DeferredCommand,
  ): Promise<Deferral>;
  /** Null when no command with this run id is stored. */
  read(
    runId: string,
  ): Promise<{ readonly command: DeferredCommand; readonly rests: number } | null>;
  forget(runId: string): Promise<void>;
}

/** Together with the size, the limits equal a client's quota in the queue, and the quotas of eight clients. */
const LIMITS: DeferredLimits = { perOwner: 1_000, all: 8_000, size: 64 * 1024 };
/** The run ids of all stored commands, in alphabetical order, so by owner. */
const INDEX = "yard:command:{kept}";
/** Without room, this many of the owner's commands are checked for expiry. */
const LOOKED_AT = 10;
/** Equals the time for which the queue keeps a command. */
const KEEP_SECONDS = 30 * 24 * 3_600;

/** KEYS the command of a run · ARGV digest, command, seconds */
const KEEP = `
local digest = redis.call('HGET', KEYS[1], 'digest')
if digest and digest ~= ARGV[1] then return {'taken'} end
redis.call('HSET', KEYS[1], 'digest', ARGV[1], 'command', ARGV[2])
redis.call('HINCRBY', KEYS[1], 'rests', 1)
redis.call('EXPIRE', KEYS[1], ARGV[3])
return {'kept'}
`;

/** KEYS the index · ARGV run id, its owner, most of an owner, most of all */
const ENTER = `
if redis.call('ZSCORE', KEYS[1], ARGV[1]) then return {'entered'} end
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[4]) then return {'full', 'all'} end
if redis.call('ZLEXCOUNT', KEYS[1], '[' .. ARGV[2] .. '~', '(' .. ARGV[2] .. '~~') >= tonumber(ARGV[3]) then return {'full', 'owner'} end
redis.call('ZADD', KEYS[1], 0, ARGV[1])
return {'entered'}
`;

export function openDeferredCommands(
  redis: Redis,
  {
    storage,
    limits = LIMITS,
  }: { readonly storage?: Pick<OwnerStorage, "set">; readonly limits?: DeferredLimits } = {},
): DeferredCommands {
  const run = defineScripts(redis, { yardCommandKeep: KEEP, yardCommandEnter: ENTER });
  const enter = async (runId: string, owner: string): Promise<string | null> => {
    const args = [runId, owner, limits.perOwner, limits.all];
    const [answer, of] = await run("yardCommandEnter", [INDEX], args);
    if (answer === "entered") return null;
    return of === "all"
      ? `${limits.all} commands are stored for a service that is down, which is the limit: start it, and they continue`
      : `${limits.perOwner} commands of ${owner} are stored for a service that is down, which is the limit of one caller: start it, and they continue`;
  };
  /** A command that was stored for the whole time expires without an event. */
  const forgetLapsed = async (owner: string): Promise<void> => {
    const [from, to] = [`[${owner}~`, `(${owner}~~`];
    const first = redis.zrangebylex(INDEX, from, to, "LIMIT", 0, LOOKED_AT);
    for (const runId of await fromRedis(first))
      if ((await fromRedis(redis.exists(keptKey(runId)))) === 0)
        await fromRedis(redis.zrem(INDEX, runId));
  };
  return {
    async keep({ runId, digest }, command) {
      const text = JSON.stringify(command);
      if (text.length > limits.size)
        return {
          kept: false,
          why: `it has ${text.length} characters, more than the ${limits.size} that are kept of one`,
        };
      const owner = ownerOfRun(runId) ?? command.caller;
      const full = await enter(runId, owner);
      if (full !== null) {
        await forgetLapsed(owner);
        return { kept: false, why: full };
      }
      const args = [digest, text, KEEP_SECONDS];
      const [answer] = await run("yardCommandKeep", [keptKey(runId)], args);
      if (answer !== "kept") return { kept: false, why: "another command with its run id is kept" };
      const ends = Date.now() + KEEP_SECONDS * 1_000;
      storage?.set(owner, keptThing(runId), { bytes: text.length, ends });
      return { kept: true };
    },

    async read(runId) {
      const [command, rests] = await fromRedis(redis.hmget(keptKey(runId), "command", "rests"));
      if (!command) return null;
      return { command: DeferredCommand.parse(JSON.parse(command)), rests: Number(rests) };
    },

    async forget(runId) {
      await fromRedis(redis.del(keptKey(runId)));
      await fromRedis(redis.zrem(INDEX, runId));
      const owner = ownerOfRun(runId);
      if (owner !== null) storage?.set(owner, keptThing(runId), { bytes: 0, ends: Date.now() });
    },
  };
}
