import { around, type ClientInterceptor } from "@switchyard/bus/interceptor";
import { checkPolicy, filterPolicy, type ServerFacts } from "@switchyard/contracts/policy/policy";
import type { z } from "zod";
import { masksInValue } from "@switchyard/service/inspect/masks-in";
import { decisionKey, type Decided, type DecisionCache } from "./decision-cache.ts";

/**
 * Answers checks of tool calls and filters of lists from earlier replies of the policy, for as long as it promised. `onChecked` is
 * called for every check of a tool call, with true when a cached decision answered it.
 */
export function keepDecisions(
  cache: DecisionCache,
  onChecked: (isHit: boolean) => void,
): readonly ClientInterceptor[] {
  return [keepChecks(cache, onChecked), keepLists(cache)];
}

/** The number of names; as many tools as have rules about arguments. */
const MAX_UNCACHED = 1_000;

/** Calls of one step come together: when the answer to the first may be cached it answers the others, too. */
function keepChecks(cache: DecisionCache, onChecked: (isHit: boolean) => void): ClientInterceptor {
  /** Tools whose last answer could not be cached: their calls do not wait one behind the other. */
  const uncached = new Set<string>();
  return around(checkPolicy, async (call, next) => {
    const { request } = call;
    if (request.kind !== undefined && request.kind !== "tool") return next(call);
    const key = keyOfCheck(request);
    const { name } = request.tool;
    let found = keptFor(request, cache.find(key));
    // An await that is not needed would let all calls that arrive together miss the cache before the first of them calls the policy.
    const first = found === null && !uncached.has(name) ? cache.underWay(key) : null;
    if (first !== null) {
      await first;
      found = keptFor(request, cache.find(key));
    }
    onChecked(found !== null);
    if (found !== null) return found;
    const reply = await cache.ask(key, () => next(call));
    if (reply.cacheable !== undefined) uncached.delete(name);
    else if (uncached.size < MAX_UNCACHED) uncached.add(name);
    return reply;
  });
}

/** A kept decision is about arguments without masks. Only where rules mask, arguments are searched for them. */
function keptFor(
  { args }: z.input<typeof checkPolicy.request>,
  found: Decided | null,
): Decided | null {
  const mayHaveMasks = found?.decision.inspection !== undefined;
  return mayHaveMasks && masksInValue(args).length > 0 ? null : found;
}

/** A list is identified by its array: a change of its tools makes another array. */
function keepLists({ filters }: DecisionCache): ClientInterceptor {
  return around(filterPolicy, async (call, next) => {
    const { tools: refs, ...rest } = call.request;
    const key = JSON.stringify(rest);
    const found = filters.find(key, refs);
    if (found !== null) return found;
    const askedAt = performance.now();
    const reply = await next(call);
    filters.keep(key, { refs, reply }, askedAt);
    return reply;
  });
}

function keyOfCheck(request: z.input<typeof checkPolicy.request>): string {
  const { onBehalfOf, token, tool, pin, server } = request;
  return decisionKey({ onBehalfOf, token, ...tool, pin, facts: textOf(server) });
}

/** Each server's declaration makes one object of facts for all calls of its tools. */
const texts = new WeakMap<ServerFacts, string>();

function textOf(facts: ServerFacts | undefined): string {
  if (facts === undefined) return "";
  const known = texts.get(facts) ?? JSON.stringify(facts);
  texts.set(facts, known);
  return known;
}
