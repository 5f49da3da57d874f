import type { Check } from "./readiness.ts";
import type { Redis } from "./redis.ts";
import { isServing } from "./redis-cluster.ts";
import { adviceOn, fromRedis, storeErrorOf } from "./store-error.ts";

/** A write is synced to disk and probes come often, so that most of them get by with the outcome of an earlier write. */
const WRITE_EVERY_MS = 5_000;
const KEPT_MS = 60_000;

/**
 * A readiness check that fails, with the reason, when Redis takes no reads or no writes. It writes one small key, at most once in
 * `writeEveryMs`, and at once after a write that failed.
 */
export function redisCheck(
  redis: Redis,
  {
    key,
    writeEveryMs = WRITE_EVERY_MS,
    now = () => performance.now(),
  }: { readonly key: string; readonly writeEveryMs?: number; readonly now?: () => number },
): Check {
  let writtenAt = Number.NEGATIVE_INFINITY;
  let writing: Promise<void> | null = null;
  const write = async (): Promise<void> => {
    const startedAt = now();
    await fromRedis(redis.set(key, "1", "PX", KEPT_MS));
    writtenAt = startedAt;
  };
  return async () => {
    try {
      if (redis.status !== "ready") return adviceOn("unreachable");
      if (!(await isServing(redis))) return adviceOn("no-primary");
      if (now() - writtenAt >= writeEveryMs)
        await (writing ??= write().finally(() => {
          writing = null;
        }));
      return true;
    } catch (error) {
      return storeErrorOf(error)?.message ?? false;
    }
  };
}
