import { MAX_LABELS, ServerFacts } from "@switchyard/contracts/policy/policy";
import type { ServerConfig } from "@switchyard/project/mcp-servers/server-config";

type Source = Pick<ServerConfig, "tags" | "allowedAgentRoles" | "enabledTools">;

const known = new WeakMap<
  ServerConfig,
  { readonly of: Source; readonly made: ServerFacts | null }
>();

/** Read from the declaration alone: no claim of the server itself is a label. */
export function serverFacts(config: ServerConfig): ServerFacts | null {
  const { tags, allowedAgentRoles, enabledTools } = config;
  const before = known.get(config);
  // A connected server may take over others, see `live-fields.ts`.
  if (
    before !== undefined &&
    before.of.tags === tags &&
    before.of.allowedAgentRoles === allowedAgentRoles &&
    before.of.enabledTools === enabledTools
  )
    return before.made;
  const of = { tags, allowedAgentRoles, enabledTools };
  const made = makeFacts(of);
  known.set(config, { of, made });
  return made;
}

function makeFacts({ tags, allowedAgentRoles, enabledTools }: Source): ServerFacts | null {
  const facts: ServerFacts = {
    ...(tags.length === 0 ? {} : { labels: tags.slice(0, MAX_LABELS) }),
    ...(allowedAgentRoles === null ? {} : { roles: [...allowedAgentRoles] }),
  };
  if (enabledTools !== null) {
    // A list that is too long for a question narrows here alone.
    const whole = ServerFacts.safeParse({ ...facts, enabledTools });
    if (whole.success) Object.assign(facts, whole.data);
  }
  return Object.keys(facts).length === 0 ? null : facts;
}
