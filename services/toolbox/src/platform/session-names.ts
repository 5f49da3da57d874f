import { createHash } from "node:crypto";
import type { Session, SessionMessage } from "@switchyard/contracts/sessions";

/** The agent that a key names: `agent:coder:slack:channel:42` is `coder`'s. Null where it names none. */
export function agentOfKey(key: string): string | null {
  return /^agent:([A-Za-z0-9][A-Za-z0-9_-]{0,63})(?::|$)/.exec(key)?.[1] ?? null;
}

/** Where answers of a conversation go, as its key says: `agent:<id>:<channel>:<kind>:<to>`. */
export function deliveryOfKey(key: string): { channel: string; to: string } | null {
  const [, channel, to] =
    /^agent:[^:]+:([a-z][a-z0-9-]*):(?:group|channel|direct):([^:]+)/.exec(key) ?? [];
  return channel === undefined || to === undefined ? null : { channel, to };
}

/** The chat that a key is of, as a job's delivery names it; null where the key does not have the chat's own id. */
export function announceOfKey(
  key: string,
): { channel: string; to: string; accountId?: string } | null {
  const [, channel, accountId, kind, id] =
    /^agent:[^:]+:([a-z][a-z0-9-]*):(?:([a-z0-9][a-z0-9-]*):)?(group|channel|direct):([^:#]+)(?::thread:|$)/.exec(
      key,
    ) ?? [];
  if (channel === undefined || id === undefined) return null;
  const to = `${kind === "direct" ? "user" : kind}:${id}`;
  return { channel, to, ...(accountId !== undefined && { accountId }) };
}

/** How deep a session stands below one that nobody's tool has started. */
export function depthOfKey(key: string): number {
  return key.split(":").filter((part) => part === "subagent").length;
}

/** What the keys of sessions have in common that were started from one session. */
export function childMark(parent: string): string {
  return `subagent:${createHash("sha256").update(parent).digest("hex").slice(0, 12)}`;
}

/** A session as `sessions_list` shows it: the fields of OpenClaw's rows that a session here has. */
export function rowOf(session: Session, messages?: readonly SessionMessage[]) {
  const { key, kind, label, sessionId, model, totalTokens, updatedAt, lastRun, agent } = session;
  const delivery = deliveryOfKey(key);
  return {
    key,
    kind,
    channel: delivery?.channel ?? null,
    label,
    displayName: label ?? key,
    deliveryContext: delivery,
    updatedAt: Date.parse(updatedAt),
    sessionId,
    agentId: agent,
    model,
    totalTokens,
    abortedLastRun: lastRun?.status === "cancelled",
    lastChannel: delivery?.channel ?? null,
    lastTo: delivery?.to ?? null,
    ...(messages !== undefined && { messages }),
  };
}
