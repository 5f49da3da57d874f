import type { Redis } from "@switchyard/service/redis";

/**
 * What runners keep of their runs in Redis. The policy may read it and write none of it, so what it says about a run is not
 * the word of whoever asks. Methods reject when Redis does not answer.
 */
export interface RunRecords {
  /** The user that a run works for; null when there is no such run. */
  requesterOf(runId: string): Promise<string | null>;
}

export function createRunRecords(redis: Redis): RunRecords {
  return {
    requesterOf: (runId) => redis.hget(stateKey(runId), "requester"),
  };
}

/** As services/agent-runner names it (journal/run-store.ts). */
function stateKey(runId: string): string {
  return `yard:run:{${runId}}:state`;
}
