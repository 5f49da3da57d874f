import type { PreparedReply } from "@switchyard/bus/prepared-reply";
import type { listTools } from "@switchyard/contracts/mcp";
import type { ListableTools } from "./listable-tools.ts";

export type PreparedList = PreparedReply<typeof listTools>;

/**
 * Keeps the JSON of lists, since most principals are shown the same ones. All of them go when they
 * have more than `limit` characters together; those of tools that are gone go with these.
 */
export function createPreparedLists(limit: number) {
  let lists = new WeakMap<ListableTools, Map<string, PreparedList>>();
  let characters = 0;
  return {
    /** The list that was made of these tools under the key, or what `make` makes now. The key says all that `make` depends on besides them. */
    get(tools: ListableTools, key: string, make: () => PreparedList): PreparedList {
      const found = lists.get(tools)?.get(key);
      if (found !== undefined) return found;
      const made = make();
      const size = key.length + made.characters;
      if (size > limit) return made;
      if (characters + size > limit) {
        lists = new WeakMap();
        characters = 0;
      }
      characters += size;
      const own = lists.get(tools) ?? new Map<string, PreparedList>();
      own.set(key, made);
      lists.set(tools, own);
      return made;
    },
  };
}
