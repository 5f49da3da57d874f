import { createQuestionsUnderWay } from "../questions-under-way.ts";

/**
 * Questions to the policy that are on their way. Calls of one step come together, and when the answer to the first
 * may be kept it answers the others, too.
 */
export interface QuestionsAhead {
  /** Resolves when the equal question that is on its way has its answer or has failed; null when waiting for one is not worth it. */
  find(key: string, tool: string): Promise<void> | null;
  /** Asks, and lets equal questions wait for the answer. It is stored where they look for it before they go on. */
  ask<T extends { readonly cacheable?: unknown }>(
    key: string,
    tool: string,
    question: () => Promise<T>,
  ): Promise<T>;
}

/** Of names; as many tools as have rules about arguments. */
const MAX_UNKEPT = 1_000;

/** It remembers whose answers could not be kept, so that their calls do not wait one behind the other. */
export function createQuestionsAhead(): QuestionsAhead {
  const asking = createQuestionsUnderWay();
  /** Tools of which the last answer could not be kept: each call of theirs is asked about at once. */
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
