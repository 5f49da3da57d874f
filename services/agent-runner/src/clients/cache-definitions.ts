import type { ClientInterceptor } from "@switchyard/bus/interceptor";
import { getAgent } from "@switchyard/contracts/skill-importer/agents";
import { skillCatalogue } from "@switchyard/contracts/skill-importer/skill-catalogue";
import { createQuestionsUnderWay } from "@switchyard/tool-provider/questions-under-way";

interface Kept<T> {
  readonly reply: T;
  readonly until: number;
}

type Keepable = { readonly keepForMs?: number | undefined };

/** The number of cached agents and lists of skills; many more than are in use within half a second. */
const MAX_KEPT = 1_000;

/**
 * Calls the importer for an agent or the list of skills only when the cache lifetime of an earlier reply is over: under load,
 * each of them would cost a run two messages for unchanged data. `now` in milliseconds, of a monotonic clock that counts pauses
 * of the process.
 */
export function cacheDefinitions(now: () => number = () => performance.now()): ClientInterceptor {
  const kept = createKept<Keepable>(now);
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

function createKept<T extends Keepable>(now: () => number) {
  const kept = new Map<string, Kept<T>>();
  const underWay = createQuestionsUnderWay();
  const find = (key: string): Kept<T> | undefined => {
    const found = kept.get(key);
    return found !== undefined && now() < found.until ? found : undefined;
  };
  const askAnew = async (key: string, ask: () => Promise<T>): Promise<T> => {
    const askedAt = now();
    const reply = await ask();
    kept.delete(key);
    if (reply.keepForMs === undefined) return reply;
    if (kept.size >= MAX_KEPT) kept.clear();
    kept.set(key, { reply, until: askedAt + reply.keepForMs });
    return reply;
  };
  return async (key: string, ask: () => Promise<T>): Promise<T> => {
    // If the last reply could be cached, so can the next: concurrent callers share one request when its lifetime ends.
    const other = kept.has(key) ? underWay.find(key) : null;
    if (other !== null) await other;
    return find(key)?.reply ?? underWay.ask(key, () => askAnew(key, ask));
  };
}
