import type { Redis } from "../redis.ts";
import { CallStoreError } from "./call-store.ts";

/**
 * Remembers the highest epoch of each run whose calls came here, so that a runner that lost its run
 * and does not know it yet can do nothing more.
 */
export interface RunEpochs {
  /** False when a higher epoch of the run was seen. Rejects with CallStoreError. */
  admit(runId: string, epoch: number): Promise<boolean>;
}

/**
 * A day: the shortest time for which a run is kept after its end. So nothing is known any more of a run whose id is
 * used again, and a runner that lost its run has no valid token for so long.
 */
const KEPT_SECONDS = 24 * 3_600;

/** Writes once for an epoch and not for each of its calls: every write goes to disk before the call may go on. */
const RAISE = `
local epoch = tonumber(ARGV[1])
local seen = tonumber(redis.call('GET', KEYS[1]) or '-1')
if epoch < seen then return 0 end
if epoch == seen and redis.call('TTL', KEYS[1]) > ARGV[2] / 2 then return 1 end
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])
return 1`;

/** All tool providers on the same Redis share what they saw. */
export function createRunEpochs(redis: Redis): RunEpochs {
  return {
    async admit(runId, epoch) {
      try {
        return (await redis.eval(RAISE, 1, keyOf(runId), epoch, KEPT_SECONDS)) === 1;
      } catch (error) {
        throw new CallStoreError(`Redis did not answer: ${String(error)}`, { cause: error });
      }
    },
  };
}

function keyOf(runId: string): string {
  return `yard:run:{${runId}}:tool-epoch`;
}
