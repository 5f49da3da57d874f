import { createQuestionsUnderWay } from "./questions-under-way.ts";

/**
 * Requests to the policy that are in flight. Calls of one step come together, and when the answer to the first may be cached it answers the
 * others, too.
 */
export interface QuestionsAhead {
  /** Resolves when the equal request that is in flight has its answer or has failed; null when waiting for one is not worth it. */
  find(key: string, tool: string): Promise<void> | null;
  /** Sends the request, and lets equal ones wait for the answer. It is stored where they look for it before they continue. */
  ask<T extends { readonly cacheable?: unknown }>(
    key: string,
    tool: string,
    question: () => Promise<T>,
  ): Promise<T>;
}

/** The number of names; as many tools as have rules about arguments. */
const MAX_UNKEPT = 1_000;

/** It remembers tools whose answers could not be cached, so that their calls do not wait one behind the other. */
export function createQuestionsAhead(): QuestionsAhead {
  const asking = createQuestionsUnderWay();
  /** Tools whose last answer could not be cached: each of their calls is checked at once. */
  const unkept = new Set<string>();
  return {
    find: (key, tool) => (unkept.has(tool) ? null : asking.find(key)),
    async ask(key, tool, question) {
      const reply = await asking.ask(key, question);
      if (reply.cacheable !== undefined) unkept.delete(tool);
      else if (unkept.size < MAX_UNKEPT) unkept.add(tool);
      return reply;
    },
  };
}
