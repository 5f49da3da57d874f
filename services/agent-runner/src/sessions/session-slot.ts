import { createHash } from "node:crypto";
import type { SessionKind } from "@switchyard/contracts/session-key";

/**
 * Where the session of an owner's key lies in Redis. It follows from the two names, so another owner's
 * session of the same key is another one, and none of them need be looked up.
 */
export function slotOf(owner: string, key: string): string {
  return createHash("sha256").update(`${owner}\n${key}`).digest("hex").slice(0, 26);
}

/** A session's id: its place, and when it was begun, which is later for each life of a key. */
export function sessionIdOf(slot: string, bornMs: number): string {
  return `ses-${slot}-${bornMs.toString(36)}`;
}

/** The place that an id names; null for a key. */
export function slotOfId(ref: string): string | null {
  return /^ses-([0-9a-f]{26})-[0-9a-z]{1,16}$/.exec(ref)?.[1] ?? null;
}

/** When the session of an id was begun, in milliseconds since the Unix epoch. */
export function bornAt(sessionId: string): number {
  return Number.parseInt(sessionId.split("-")[2] ?? "0", 36);
}

/** What a key says of where its session comes from; the forms are those of OpenClaw. */
export function kindOfKey(key: string): SessionKind {
  if (key === "main" || /^agent:[^:]+:main$/.test(key)) return "main";
  if (key.startsWith("cron:")) return "cron";
  if (key.startsWith("hook:")) return "hook";
  if (key.startsWith("node-")) return "node";
  return /:(?:group|channel):/.test(key) ? "group" : "other";
}
