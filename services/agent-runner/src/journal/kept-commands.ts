import type { Redis } from "@switchyard/service/redis";
import { z } from "zod";
import { defineScripts, reach } from "./redis-scripts.ts";

/** A message of the queue as it was read there, so that it can be read again without the queue. */
const KeptCommand = z.object({
  contract: z.string(),
  tokens: z.record(z.string(), z.string()),
  payload: z.unknown(),
  subject: z.string(),
  caller: z.string(),
  streamSequence: z.int(),
  messageId: z.string().nullable(),
  publishedAt: z.string(),
});
export type KeptCommand = z.infer<typeof KeptCommand>;

/**
 * Commands that cannot become a run now, because a service is away that a new run needs. They lie here and not in the queue, where they
 * would count as work that waits for a runner. Methods reject with StoreUnavailable.
 */
export interface KeptCommands {
  /** Keeps a command, or counts one more rest of it. False when another command with its run id is kept. */
  keep(
    run: { readonly runId: string; readonly digest: string },
    command: KeptCommand,
  ): Promise<boolean>;
  /** Null when none of this run id is kept. */
  read(runId: string): Promise<{ readonly command: KeptCommand; readonly rests: number } | null>;
  forget(runId: string): Promise<void>;
}

/** As long as the queue keeps a command. */
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

export function openKeptCommands(redis: Redis): KeptCommands {
  const run = defineScripts(redis, { yardCommandKeep: KEEP });
  return {
    async keep({ runId, digest }, command) {
      const args = [digest, JSON.stringify(command), KEEP_SECONDS];
      const [answer] = await run("yardCommandKeep", [keptKey(runId)], args);
      return answer === "kept";
    },

    async read(runId) {
      const [command, rests] = await reach(redis.hmget(keptKey(runId), "command", "rests"));
      if (!command) return null;
      return { command: KeptCommand.parse(JSON.parse(command)), rests: Number(rests) };
    },

    async forget(runId) {
      await reach(redis.del(keptKey(runId)));
    },
  };
}

export function keptKey(runId: string): string {
  return `yard:command:kept:{${runId}}`;
}
