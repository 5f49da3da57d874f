import type { ClientInterceptor } from "@switchyard/bus/interceptor";
import { PromisedCache } from "@switchyard/contracts/promised-cache";
import { getAgent } from "@switchyard/contracts/skill-importer/agents";
import { skillCatalogue } from "@switchyard/contracts/skill-importer/skill-catalogue";

type Keepable = { readonly keepForMs?: number | undefined };

/** The number of cached agents and lists of skills; many more than are in use within half a second. */
const MAX_KEPT = 1_000;

/**
 * Calls the importer for an agent or the list of skills only when the cache lifetime of an earlier reply is over: under load,
 * each of them would cost a run two messages for unchanged data. `now` in milliseconds, of a monotonic clock that counts pauses
 * of the process.
 */
export function cacheDefinitions(now: () => number = () => performance.now()): ClientInterceptor {
  const cache = new PromisedCache<Keepable>({ now, most: MAX_KEPT });
  const kept = async (key: string, ask: () => Promise<Keepable>): Promise<Keepable> => {
    // If the last reply could be cached, so can the next: concurrent callers share one request when its lifetime ends.
    const other = cache.has(key) ? cache.underWay(key) : null;
    if (other !== null) await other.catch(() => undefined);
    const found = cache.find(key);
    if (found !== undefined) return found;
    return cache.ask(key, async () => {
      const askedAt = now();
      const reply = await ask();
      const { keepForMs } = reply;
      cache.keep(key, reply, keepForMs === undefined ? null : askedAt + keepForMs);
      return reply;
    });
  };
  return (next) => (call) => {
    // Both contracts have the cache lifetime in their replies.
    const ask = () => next(call) as Promise<Keepable>;
    const { contract, request } = call;
    if (contract === getAgent) return kept(`agent ${JSON.stringify(request)}`, ask);
    if (contract === skillCatalogue) return kept(`skills ${keyOfCatalogue(request)}`, ask);
    return ask();
  };
}

/** A list that may be cached is complete, so it does not depend on the work. */
function keyOfCatalogue(request: unknown): string {
  return JSON.stringify({ ...(request as object), about: undefined });
}
