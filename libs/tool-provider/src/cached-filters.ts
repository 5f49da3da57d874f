import type { filterPolicy } from "@switchyard/contracts/policy/policy";
import type { ToolRef } from "@switchyard/contracts/tool-names";
import type { z } from "zod";

type FilterReply = z.output<typeof filterPolicy.reply>;

/**
 * Replies about lists of tools, each cached for as long as the policy promised to bring no other revision into
 * force, like a {@link DecisionCache}. A list is identified by its array: a change of its tools
 * makes another array, which needs a new request.
 */
export interface CachedFilters {
  find(key: string, refs: readonly ToolRef[]): FilterReply | null;
  /** Replaces the reply under the key. `askedAt` is from before the request was sent. */
  keep(
    key: string,
    answer: { readonly refs: readonly ToolRef[]; readonly reply: FilterReply },
    askedAt: number,
  ): void;
  clear(): void;
}

interface Kept {
  readonly reply: FilterReply;
  readonly refs: readonly ToolRef[];
  readonly until: number;
}

/** Tools of all lists that are kept; a list of a thousand for each of two hundred principals. */
const MAX_KEPT_TOOLS = 200_000;

/** `now` in milliseconds, of a clock that does not go back and that no pause of the process stops. */
export function createCachedFilters(now: () => number): CachedFilters {
  const kept = new Map<string, Kept>();
  let tools = 0;
  let newest: string | null = null;
  const clear = () => {
    kept.clear();
    tools = 0;
  };
  const remove = (key: string) => {
    tools -= kept.get(key)?.refs.length ?? 0;
    kept.delete(key);
  };
  return {
    find(key, refs) {
      const found = kept.get(key);
      if (found === undefined || found.refs !== refs) return null;
      if (now() < found.until) return found.reply;
      remove(key);
      return null;
    },
    keep(key, { refs, reply }, askedAt) {
      const { cacheable } = reply;
      remove(key);
      if (cacheable === undefined) return;
      const isOther = cacheable.revision !== newest;
      if (isOther || tools + refs.length > MAX_KEPT_TOOLS) clear(); // they live for less than a second anyway
      newest = cacheable.revision;
      kept.set(key, { reply, refs, until: askedAt + cacheable.forMs });
      tools += refs.length;
    },
    clear() {
      clear();
      newest = null;
    },
  };
}
