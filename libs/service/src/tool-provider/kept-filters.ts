import type { filterPolicy, Principal } from "@switchyard/contracts/policy";
import type { StopInForce } from "@switchyard/contracts/policy-budgets";
import type { ToolRef } from "@switchyard/contracts/tool-names";
import type { z } from "zod";

type FilterReply = z.output<typeof filterPolicy.reply>;

/** What the policy said of a list of tools, and of whom. */
export interface Filtered {
  readonly names: ReadonlySet<string>;
  readonly principal: Principal | undefined;
  /** What keeps out everything that the principal could call. */
  readonly stopped?: StopInForce | undefined;
}

/**
 * Filtered lists, each kept for as long as the policy promised to bring no other revision into
 * force, like a {@link DecisionCache}. A list is known by its identity: whoever changes its tools
 * makes another array of it, and that one is asked about.
 */
export interface KeptFilters {
  find(key: string, refs: readonly ToolRef[]): Filtered | null;
  /** Takes the place of what was kept under the key. `askedAt` is from before the question was sent. */
  keep(
    key: string,
    answer: { readonly refs: readonly ToolRef[]; readonly reply: FilterReply },
    askedAt: number,
  ): Filtered;
  clear(): void;
}

interface Kept extends Filtered {
  readonly refs: readonly ToolRef[];
  readonly until: number;
}

/** Tools of all lists that are kept; a list of a thousand for each of two hundred principals. */
const MAX_KEPT_TOOLS = 200_000;

/** `now` in milliseconds, of a clock that does not go back and that no pause of the process stops. */
export function createKeptFilters(now: () => number): KeptFilters {
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
      if (now() < found.until) return found;
      remove(key);
      return null;
    },
    keep(key, { refs, reply }, askedAt) {
      const { allowed, principal, cacheable, stopped } = reply;
      const filtered = { names: new Set(allowed), principal, stopped };
      remove(key);
      if (cacheable === undefined) return filtered;
      const isOther = cacheable.revision !== newest;
      if (isOther || tools + refs.length > MAX_KEPT_TOOLS) clear(); // they live for less than a second anyway
      newest = cacheable.revision;
      kept.set(key, { ...filtered, refs, until: askedAt + cacheable.forMs });
      tools += refs.length;
      return filtered;
    },
    clear() {
      clear();
      newest = null;
    },
  };
}
