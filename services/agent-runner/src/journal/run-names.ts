import { fullRunId, ownerOfRun } from "@switchyard/contracts/ids";
import type { Redis } from "@switchyard/service/redis";
import { fromRedis } from "@switchyard/service/store-error";
import { mayControl } from "./run-access.ts";
import type { RunIndex } from "./run-index.ts";
import { readColumns } from "./run-columns.ts";

/** Resolves which run a caller means: its own, unless it names another owner. Whether the run exists is not checked here. */
export interface RunNames {
  /** An existing run that the caller speaks of. */
  known(caller: string, runId: string): string;
  /** Returns the existing run that the caller wants to change; null when the id's owner is another one, so that it may not. */
  controlled(caller: string, runId: string): string | null;
  /** A run that the caller wants to start; null for the id of another owner. */
  own(caller: string, runId: string): string | null;
}

/** A run, or a message that will be one, whose id has no owner. */
export interface OldRun {
  readonly runId: string;
  readonly requester: string;
  readonly createdAt: string;
}

/** Runners have whole ids and send nothing else. */
export const RUNNER = "runner";
const ALL_RUNS = ["yard:runs", "yard:runs:parked"] as const;
const AT_ONCE = 500;

/**
 * Runs of versions before 0.2 have ids without an owner, and keep them until they expire. They are read once, with the messages
 * that wait to become runs: no new one can come. They are added to their owners' lists, which those versions did not have.
 */
export async function openRunNames(
  redis: Redis,
  { index, waiting }: { index: Pick<RunIndex, "adopt">; waiting: readonly OldRun[] },
): Promise<RunNames> {
  const listed = await Promise.all(ALL_RUNS.map((key) => fromRedis(redis.zrange(key, "0", "-1"))));
  const ids = [...new Set(listed.flat())].filter((runId) => ownerOfRun(runId) === null);
  const old: OldRun[] = [...waiting];
  for (let from = 0; from < ids.length; from += AT_ONCE) {
    const some = ids.slice(from, from + AT_ONCE);
    const found = await Promise.all(
      some.map((runId) => readColumns(redis, runId, ["requester", "createdAt"])),
    );
    for (const [at, runId] of some.entries()) {
      const [requester, createdAt] = found[at] ?? [];
      if (requester && createdAt) old.push({ runId, requester, createdAt });
    }
  }
  for (const { runId, ...run } of old) await index.adopt(runId, run);
  return runNames(new Map(old.map(({ runId, requester }) => [runId, requester])));
}

/** The names where these runs have no owner in their id. */
export function runNames(requesters: ReadonlyMap<string, string>): RunNames {
  const known = (caller: string, runId: string): string => {
    if (caller === RUNNER) return runId;
    const requester = requesters.get(runId);
    const isOld = requester !== undefined && mayControl(caller, { requester });
    return isOld ? runId : fullRunId(caller, runId);
  };
  return {
    known,
    controlled(caller, runId) {
      const named = known(caller, runId);
      const requester = ownerOfRun(named);
      if (caller === RUNNER || requester === null) return named;
      return mayControl(caller, { requester }) ? named : null;
    },
    own(caller, runId) {
      if (requesters.get(runId) === caller) return runId;
      const full = fullRunId(caller, runId);
      return ownerOfRun(full) === caller ? full : null;
    },
  };
}
