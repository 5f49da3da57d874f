import { ownerOfRun } from "@switchyard/contracts/ids";
import type { StartRun } from "@switchyard/contracts/agent-runner/runs";
import type { Holding } from "@switchyard/service/owner-storage";
import type { Redis } from "@switchyard/service/redis";
import { fromRedis } from "@switchyard/service/store-error";
import { RUN_BYTES } from "./journal-scripts.ts";
import { readColumns } from "./run-columns.ts";
import { stateKey } from "./run-keys.ts";

// The names under which things of the runner are counted for their owner, see libs/service/src/owner-storage.ts.

const RUN = "run:";
const KEPT = "kept:";
const PROMPT_BYTES = 4_096;

export function runThing(runId: string): string {
  return RUN + runId;
}

/** A command that is deferred until a service is back. */
export function keptThing(runId: string): string {
  return KEPT + runId;
}

export function keptKey(runId: string): string {
  return `yard:command:kept:{${runId}}`;
}

/** About the bytes of a run at its start: its first entry has the system prompt besides, of which an agent's file has some kilobytes. */
export function sizeOf(payload: StartRun): number {
  return RUN_BYTES + PROMPT_BYTES + JSON.stringify(payload).length;
}

/** Returns the owner whose storage a run uses. */
export function holderOf(runId: string, requester: string): string {
  return ownerOfRun(runId) ?? requester;
}

/**
 * Returns the current size of a run, or of a deferred command, in Redis. Null: it is deleted, or it is another kind of object.
 * Rejects with StoreError.
 */
export async function runHolding(
  redis: Redis,
  thing: string,
  now: () => number,
): Promise<Holding | null> {
  if (thing.startsWith(RUN)) {
    const runId = thing.slice(RUN.length);
    const [status, bytes] = await readColumns(redis, runId, ["status", "bytes"]);
    // A run of an older version has no size.
    return status
      ? { bytes: Number(bytes ?? RUN_BYTES), ends: await endOf(redis, stateKey(runId), now) }
      : null;
  }
  if (!thing.startsWith(KEPT)) return null;
  const key = keptKey(thing.slice(KEPT.length));
  const command = await fromRedis(redis.hget(key, "command"));
  return command === null ? null : { bytes: command.length, ends: await endOf(redis, key, now) };
}

async function endOf(redis: Redis, key: string, now: () => number): Promise<number | null> {
  const leftMs = await fromRedis(redis.pttl(key));
  return leftMs < 0 ? null : now() + leftMs;
}
