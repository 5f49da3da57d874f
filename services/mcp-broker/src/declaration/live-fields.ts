import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import type { ServerConfig, ServerEntry } from "@switchyard/project/mcp-servers/server-config";

/**
 * Fields that do not affect the connection: a connected server takes them over as it is, and its calls continue. Every other
 * field needs a new connection.
 */
const LIVE = [
  "name",
  "autoConnect",
  "connectTimeoutMs",
  "callTimeoutMs",
  "maxConcurrency",
  "queueLimit",
  "maxReconnectAttempts",
  "maxResultBytes",
  "maxInstances",
  "instanceIdleMs",
  "allowedAgentRoles",
  "tags",
  "enabledTools",
  "disabledTools",
  "roots",
  "validateArguments",
] as const;

const isLive = (field: string): boolean => LIVE.some((name) => name === field);

/** True for entries that make the same connection, however they write it. */
export function makeSameConnection(before: ServerEntry, after: ServerEntry): boolean {
  if (before.config === null || after.config === null) return false;
  return connectionDigest(before.config) === connectionDigest(after.config);
}

/**
 * Takes over the live fields of a configuration into the one that a connection was made with. It is changed in place: a
 * configuration identifies its server (`request-origins.ts`).
 */
export function takeLiveFields(config: ServerConfig, next: ServerConfig): void {
  const fields = Object.entries(next).filter(([field]) => isLive(field));
  Object.assign(config, Object.fromEntries(fields));
}

function connectionDigest(config: ServerConfig): string {
  const made = Object.entries(config).filter(([field]) => !isLive(field));
  return canonicalDigest(Object.fromEntries(made));
}
