import type { ServerFacts } from "@switchyard/contracts/policy/policy";
import type { ToolRef } from "@switchyard/contracts/tool-names";

const MAX_SERVERS = 1_000;

/**
 * Caches the facts that providers sent last about their servers: `policy.explain` and `policy.who-can` are called by people, who
 * do not send them.
 */
export interface ServerFactsMemory {
  learn(tool: ToolRef, facts: ServerFacts | undefined): void;
  of(tool: ToolRef): ServerFacts | undefined;
}

export function createServerFactsMemory(): ServerFactsMemory {
  const known = new Map<string, ServerFacts>();
  return {
    learn({ server }, facts) {
      if (server === null || facts === undefined || known.get(server) === facts) return;
      if (known.size >= MAX_SERVERS && !known.has(server)) known.clear();
      known.set(server, facts);
    },
    of: ({ server }) => (server === null ? undefined : known.get(server)),
  };
}
