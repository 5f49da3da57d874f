import { createHash } from "node:crypto";
import { RunReservation } from "@switchyard/contracts/policy/run-claims";
import type { Redis } from "@switchyard/service/redis";
import { fromRedis } from "@switchyard/service/store-error";
import { z } from "zod";

/**
 * Reads the runners' records of runs in Redis. The policy may read and not write them, so the requester is not the source of its
 * facts about a run. Methods reject with StoreError.
 */
export interface RunRecords {
  /** The user that a run works for; null when there is no such run. */
  requesterOf(runId: string): Promise<string | null>;
  /** Returns a runner process's hold on a run, by the secret of the process; null when it does not hold the run now. */
  heldBy(instance: string, runId: string): Promise<HeldRun | null>;
  /** The run that a run works for; null when it works for none. */
  parentOf(runId: string): Promise<string | null>;
}

export interface HeldRun {
  /** The number of claims of the run by runners, this one included. */
  readonly epoch: number;
  readonly parent: string | null;
}

const Parent = z.object({ runId: z.string() });

export function createRunRecords(redis: Redis): RunRecords {
  return {
    requesterOf: (runId) => fromRedis(redis.hget(stateKey(runId), "requester")),
    async heldBy(instance, runId) {
      const [state, reservation, time] = await fromRedis(
        Promise.all([
          redis.hmget(stateKey(runId), "holder", "status", "heldUntil", "epoch", "parent"),
          redis.get(`yard:run:{${runId}}:claim`),
          redis.time(),
        ]),
      );
      const [holder, status, heldUntil, epoch, parent] = state;
      const asking = createHash("sha256").update(instance).digest("base64url");
      // An existing run is not created again, whichever process has reserved it.
      if (status) {
        const isHeld = holder === asking && status === "running" && Number(heldUntil) > msOf(time);
        return isHeld ? { epoch: Number(epoch), parent: parentIn(parent) } : null;
      }
      if (reservation === null) return null;
      const reserved = RunReservation.parse(JSON.parse(reservation));
      return reserved.holder === asking ? { epoch: 1, parent: reserved.parent } : null;
    },
    parentOf: async (runId) => parentIn(await fromRedis(redis.hget(stateKey(runId), "parent"))),
  };
}

/** Must match the key in services/agent-runner (journal/run-store.ts). */
function stateKey(runId: string): string {
  return `yard:run:{${runId}}:state`;
}

function parentIn(column: string | null | undefined): string | null {
  return column ? Parent.parse(JSON.parse(column)).runId : null;
}

/** Converts the two parts of TIME to milliseconds since the Unix epoch. */
function msOf([seconds, micros]: readonly (number | string)[]): number {
  return Number(seconds) * 1_000 + Number(micros) / 1_000;
}
