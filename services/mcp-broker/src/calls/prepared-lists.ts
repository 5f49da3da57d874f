import type { PreparedReply } from "@switchyard/bus/prepared-reply";
import type { listTools } from "@switchyard/contracts/mcp-broker/mcp";
import type { ListableTools } from "./listable-tools.ts";

export type PreparedList = PreparedReply<typeof listTools>;

/**
 * Caches the JSON of lists, since most principals are shown the same ones. All of them go when they
 * have more than `limit` characters together; those of tools that are gone go with these.
 */
export function createPreparedLists(limit: number) {
  let lists = new WeakMap<ListableTools, Map<string, Promise<PreparedList>>>();
  let characters = 0;
  return {
    /** The list that was made of these tools under the key, or what `make` makes now. The key contains everything else that `make` depends on. */
    async get(
      tools: ListableTools,
      key: string,
      make: () => Promise<PreparedList>,
    ): Promise<PreparedList> {
      const found = lists.get(tools)?.get(key);
      if (found !== undefined) return found;
      const own = lists.get(tools) ?? new Map<string, Promise<PreparedList>>();
      lists.set(tools, own);
      const making = make();
      own.set(key, making);
      try {
        const made = await making;
        const size = key.length + made.characters;
        if (size > limit) own.delete(key);
        else if (characters + size <= limit) characters += size;
        else {
          lists = new WeakMap([[tools, new Map([[key, making]])]]);
          characters = size;
        }
        return made;
      } catch (error) {
        own.delete(key);
        throw error;
      }
    },
  };
}
