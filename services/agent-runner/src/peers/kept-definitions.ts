import { createQuestionsUnderWay } from "@switchyard/service/questions-under-way";
import type { Peers } from "./peers.ts";

interface Kept<T> {
  readonly reply: T;
  readonly until: number;
}

type Keepable = { readonly keepForMs?: number | undefined };

/** Agents and lists of skills that runs are begun with; many more than are in use within half a second. */
const MAX_KEPT = 1_000;

/**
 * Asks the importer for an agent or the list of skills only when its promise of an earlier answer is over: under
 * load, each of them would cost a run two messages for what has not changed. `now` in milliseconds, of a clock that
 * does not go back and that no pause of the process stops.
 */
export function keepingDefinitions(
  peers: Peers,
  now: () => number = () => performance.now(),
): Peers {
  const agents = createKept<Awaited<ReturnType<Peers["getAgent"]>>>(now);
  const catalogues = createKept<Awaited<ReturnType<Peers["skillCatalogue"]>>>(now);
  return {
    ...peers,
    getAgent: (request, options) =>
      agents(JSON.stringify(request), () => peers.getAgent(request, options)),
    // A list that may be kept is whole, and then it is the same whatever the work is about.
    skillCatalogue: (request, options) =>
      catalogues(JSON.stringify({ ...request, about: undefined }), () =>
        peers.skillCatalogue(request, options),
      ),
  };
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
    // Where the last answer could be kept, so can the next: of many that need it when a promise ends one asks.
    const other = kept.has(key) ? underWay.find(key) : null;
    if (other !== null) await other;
    return find(key)?.reply ?? underWay.ask(key, () => askAnew(key, ask));
  };
}
