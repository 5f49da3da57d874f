import { MAX_LABELS, ServerFacts } from "@switchyard/contracts/policy";
import type { KnownFacts } from "@switchyard/service/tool-provider/server-access";
import type { ServerConfig } from "../registry/server-config.ts";

const known = new WeakMap<ServerConfig, KnownFacts | null>();

/** Read from the declaration alone: nothing that a server says of itself is a label. */
export function serverFacts(config: ServerConfig): KnownFacts | null {
  const before = known.get(config);
  if (before !== undefined) return before;
  const made = makeFacts(config);
  known.set(config, made);
  return made;
}

function makeFacts({ tags, allowedAgentRoles, enabledTools }: ServerConfig): KnownFacts | null {
  const facts: ServerFacts = {
    ...(tags.length === 0 ? {} : { labels: tags.slice(0, MAX_LABELS) }),
    ...(allowedAgentRoles === null ? {} : { roles: [...allowedAgentRoles] }),
  };
  if (enabledTools !== null) {
    // A list that is too long for a question narrows here alone.
    const whole = ServerFacts.safeParse({ ...facts, enabledTools });
    if (whole.success) Object.assign(facts, whole.data);
  }
  return Object.keys(facts).length === 0 ? null : { facts, text: JSON.stringify(facts) };
}
