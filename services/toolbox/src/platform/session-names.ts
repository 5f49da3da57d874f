import { createHash, randomBytes } from "node:crypto";
import { parseTarget, type AddressInput } from "@switchyard/contracts/channels/channel-address";
import type { Session, SessionMessage } from "@switchyard/contracts/agent-runner/sessions";

/** The agent that a key names: `agent:coder:slack:channel:42` is `coder`'s. Null where it names none. */
export function agentOfKey(key: string): string | null {
  return /^agent:([A-Za-z0-9][A-Za-z0-9_-]{0,63})(?::|$)/.exec(key)?.[1] ?? null;
}

/** The chat that a key is of, as a job's delivery names it; null where the key does not have the chat's own id. */
export function announceOfKey(
  key: string,
): { channel: string; to: string; accountId?: string } | null {
  const parts = partsOfKey(key);
  if (parts === null) return null;
  const { kind, id, ...account } = parts;
  return { ...account, to: `${kind === "direct" ? "user" : kind}:${id}` };
}

/** The parts of a conversation's key: `agent:<id>:<channel>:[<account>:]<kind>:<to>`. */
function partsOfKey(key: string) {
  const [, channel, accountId, kind, id] =
    /^agent:[^:]+:([a-z][a-z0-9-]*):(?:([a-z0-9][a-z0-9-]*):)?(group|channel|direct):([^:#]+)(?::thread:|$)/.exec(
      key,
    ) ?? [];
  if (channel === undefined || id === undefined) return null;
  return { channel, kind, id, ...(accountId !== undefined && { accountId }) };
}

/** The same as an address, with the thread that the key names. */
export function chatOfKey(key: string): AddressInput | null {
  const parts = announceOfKey(key);
  const target = parseTarget(parts?.to ?? "");
  if (parts === null || target === null) return null;
  const { channel, accountId } = parts;
  const [, threadId] = /:thread:([^#]+)$/.exec(key) ?? [];
  return {
    channel,
    target,
    ...(accountId !== undefined && { accountId }),
    ...(threadId !== undefined && { threadId }),
  };
}

/**
 * Returns the path of a spawned session: a digest of the session where it began, and one part for each level below. So the
 * sessions below a session are found by its key alone, even when sessions in between are gone. Null for any other key.
 */
function pathOfKey(key: string): string | null {
  return /subagent:([0-9a-f]{12}(?:-[0-9a-f]{10})+)$/.exec(key)?.[1] ?? null;
}

/** Returns how many levels a session is below one that no tool has started. */
export function depthOfKey(key: string): number {
  const levels = pathOfKey(key)?.split("-").slice(2) ?? [];
  return levels.length + wordsOf(key);
}

function wordsOf(key: string): number {
  return key.split(":").filter((part) => part === "subagent").length;
}

/** Returns the common part of the keys of all sessions that were started from one session, at any depth. */
export function markBelow(parent: string): string {
  const digest = () => createHash("sha256").update(parent).digest("hex").slice(0, 12);
  return `subagent:${pathOfKey(parent) ?? digest()}-`;
}

/** Returns the mark that a spawned session's key shares with its siblings; null for any other key. */
export function markBeside(key: string): string | null {
  const path = pathOfKey(key);
  return path === null ? null : `subagent:${path.slice(0, path.lastIndexOf("-") + 1)}`;
}

/** Returns a new key for a session that is started from another. */
export function spawnedKey(agent: string, parent: string): string {
  const above = "subagent:".repeat(wordsOf(parent) - (pathOfKey(parent) === null ? 0 : 1));
  return `agent:${agent}:${above}${markBelow(parent)}${randomBytes(5).toString("hex")}`;
}

/** A session as `sessions_list` shows it: the fields of OpenClaw's rows that a session here has. */
export function rowOf(session: Session, messages?: readonly SessionMessage[]) {
  const { key, kind, label, sessionId, model, totalTokens, updatedAt, lastRun, agent } = session;
  const parts = partsOfKey(key);
  const account = parts?.accountId === undefined ? {} : { accountId: parts.accountId };
  return {
    key,
    kind,
    channel: parts?.channel ?? null,
    label,
    displayName: label ?? key,
    deliveryContext: parts === null ? null : { channel: parts.channel, to: parts.id, ...account },
    updatedAt: Date.parse(updatedAt),
    sessionId,
    agentId: agent,
    model: model ?? lastRun?.model ?? null,
    thinkingLevel: lastRun?.thinking ?? null,
    contextTokens: lastRun?.contextWindow ?? null,
    totalTokens,
    // Each of its runs gets the agent's instructions.
    systemSent: lastRun !== null || session.activeRun !== null,
    abortedLastRun: lastRun?.status === "cancelled",
    lastChannel: parts?.channel ?? null,
    lastTo: parts?.id ?? null,
    lastAccountId: parts?.accountId ?? null,
    ...(messages !== undefined && { messages }),
  };
}
