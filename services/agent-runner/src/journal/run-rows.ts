import type { Redis } from "@switchyard/service/redis";
import { essentialWrite } from "@switchyard/service/essential-write";
import { fromRedis } from "@switchyard/service/store-error";
import { hasEnded, readRow, ROW_COLUMNS, type RunRow } from "../core/run-row.ts";
import { readColumns } from "./run-columns.ts";

/**
 * The rows of runs, read from the runs' own state. A run is in another hash slot than the lists, so no script can count it where
 * it is written; rows of ended runs are cached in this process in place of that, because only a retry changes them.
 */
export interface RunRows {
  /** Reads rows in the order of the ids; a run that does not exist has none. */
  read(runIds: readonly string[]): Promise<RunRow[]>;
}

/**
 * The runs that were retried. A retry adds its run before it opens it, and a run of this set is never served from a cache; so no
 * replica serves the old end of a retried run.
 */
export const RETRIED_KEY = "yard:runs:retried";

/** The newest runs that totals and other orders than by time look at. */
export const MAX_SEARCHED = 100_000;
/** The rows that are cached at most; the newest are kept. */
const MAX_CACHED = MAX_SEARCHED;
/** The runs that one pipeline reads: other requests get their turn between two. */
const PIPELINED = 500;

/** `keepSeconds` is how long a run is stored after its end. */
export function openRunRows(
  redis: Redis,
  { keepSeconds, now }: { readonly keepSeconds: number; readonly now: () => number },
): RunRows {
  const cached = new Map<string, RunRow>();
  // After a failover Redis may have lost the end of a run that was read before.
  redis.on("ready", () => cached.clear());
  const names = new Map<string, string>();
  const oldestUpdate = (): number => now() - keepSeconds * 1_000;
  const readCached = (runId: string, expiredMs: number): RunRow | undefined => {
    const row = cached.get(runId);
    return row !== undefined && row.updatedMs > expiredMs ? row : undefined;
  };
  return {
    async read(runIds) {
      const retried = new Set(await fromRedis(redis.zrange(RETRIED_KEY, "0", "-1")));
      const expiredMs = oldestUpdate();
      const rows = runIds.map((runId) =>
        retried.has(runId) ? undefined : readCached(runId, expiredMs),
      );
      const missing = rows.flatMap((row, index) => (row === undefined ? [index] : []));
      for (let from = 0; from < missing.length; from += PIPELINED) {
        const part = missing.slice(from, from + PIPELINED);
        const found = await Promise.all(
          part.map((index) => readColumns(redis, runIds[index] ?? "", ROW_COLUMNS)),
        );
        for (const [at, values] of found.entries()) {
          const index = part[at] ?? 0;
          const row = readRow(runIds[index] ?? "", values);
          if (row === null) continue;
          rows[index] = withSharedTexts(row, names);
          if (hasEnded(row) && !retried.has(row.runId)) store(cached, rows[index]);
        }
      }
      return rows.filter((row) => row !== undefined);
    },
  };
}

function store(cached: Map<string, RunRow>, row: RunRow): void {
  cached.set(row.runId, row);
  if (cached.size <= MAX_CACHED * 1.25) return;
  const oldestFirst = [...cached.values()].toSorted((a, b) => a.createdMs - b.createdMs);
  for (const { runId } of oldestFirst.slice(0, cached.size - MAX_CACHED)) cached.delete(runId);
}

const MAX_NAMES = 10_000;

/** Replaces texts that many runs have in common by one copy of each. */
function withSharedTexts(row: RunRow, names: Map<string, string>): RunRow {
  const shared = (text: string): string => {
    const known = names.get(text);
    if (known !== undefined) return known;
    if (names.size < MAX_NAMES) names.set(text, text);
    return text;
  };
  return {
    ...row,
    agent: shared(row.agent),
    requester: shared(row.requester),
    model: shared(row.model),
    errorCode: row.errorCode === null ? null : shared(row.errorCode),
  };
}

/** Notes that a run is about to be opened again. */
export async function noteRetry(redis: Redis, runId: string, atMs: number): Promise<void> {
  await essentialWrite(redis, ["zadd", RETRIED_KEY, atMs, runId]);
}
