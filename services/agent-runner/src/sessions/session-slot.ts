import { createHash } from "node:crypto";
import type { SessionKind } from "@switchyard/contracts/agent-runner/session-key";

/**
 * The slot of an owner's key in Redis. It is derived from the two names, so the same key of another owner has another slot, and
 * no lookup is needed.
 */
export function slotOf(owner: string, key: string): string {
  return createHash("sha256").update(`${owner}\n${key}`).digest("hex").slice(0, 26);
}

/** A session's id: its slot, and the time of its beginning, which is later for each life of a key. */
export function sessionIdOf(slot: string, bornMs: number): string {
  return `ses-${slot}-${bornMs.toString(36)}`;
}

/** The slot in an id; null for a key. */
export function slotOfId(ref: string): string | null {
  return /^ses-([0-9a-f]{26})-[0-9a-z]{1,16}$/.exec(ref)?.[1] ?? null;
}

/** Returns the time at which the session of an id began, in milliseconds since the Unix epoch. */
export function bornAt(sessionId: string): number {
  return Number.parseInt(sessionId.split("-")[2] ?? "0", 36);
}

/** Derives from a key where its session comes from; the forms are those of OpenClaw. */
export function kindOfKey(key: string): SessionKind {
  if (key === "main" || /^agent:[^:]+:main$/.test(key)) return "main";
  if (key.startsWith("cron:")) return "cron";
  if (key.startsWith("hook:")) return "hook";
  if (key.startsWith("node-")) return "node";
  return /:(?:group|channel):/.test(key) ? "group" : "other";
}
