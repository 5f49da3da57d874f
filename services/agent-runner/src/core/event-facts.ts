import { createHash } from "node:crypto";
import type { AbridgedText } from "@switchyard/contracts/agent-runner/run-events";
import { redactFields, redactText } from "@switchyard/service/redact";
import { cutBytes, cutText } from "@switchyard/contracts/cut-text";

/** The longest texts of an event, by the name of their field, in bytes. */
const LIMITS: Readonly<Record<string, number>> = {
  output: 16_384,
  text: 16_384,
  preview: 1_024,
  argsPreview: 1_024,
};
const OTHER_LIMIT = 4_096;
const MAX_ENTRIES = 100;
const MAX_ABRIDGED = 20;

/** Fields that objects are looked up by; their form is validated on input. */
const IDENTIFIER = /(?:Id|Digest)$|^(?:at|until|digest|key|by|requester|agent|model|skill|status)$/;

/**
 * Returns the facts of an event as they are published: more readers have access to events than to the journal, so every text is
 * short and has nothing that looks like a secret. Each changed text is listed with its whole length and digest.
 */
export function eventFacts(facts: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const safe: Record<string, unknown> = {};
  const abridged: AbridgedText[] = [];
  for (const [field, value] of Object.entries(facts)) {
    safe[field] = IDENTIFIER.test(field) ? value : shownValue(field, value);
    if (safe[field] === value) continue;
    const whole = typeof value === "string" ? value : JSON.stringify(value);
    if (typeof value !== "string" && JSON.stringify(safe[field]) === whole) continue;
    abridged.push({ field, ...measureOf(whole) });
  }
  return abridged.length === 0 ? safe : { ...safe, abridged: abridged.slice(0, MAX_ABRIDGED) };
}

/** Returns the beginning of a text, without anything that looks like a secret. */
export function shownText(text: string, limitBytes: number): string {
  const looked = cutText(text, 4 * limitBytes);
  const clean = redactText(looked);
  // The examined part may end in half a secret, which no pattern recognises.
  const sure = looked.length < text.length ? clean.slice(0, -limitBytes) : clean;
  return cutBytes(sure, limitBytes);
}

function shownValue(field: string, value: unknown): unknown {
  if (typeof value === "string") return shownText(value, LIMITS[field] ?? OTHER_LIMIT);
  // The sender chooses the names of labels, so they are redacted, too.
  if (field === "labels") return redactFields(value);
  return publicForm(value, { hasIdentifiers: field !== "schema" });
}

/** Returns a copy of what is published of a value, and the value itself when that is the whole of it. */
function publicForm(value: unknown, how: { readonly hasIdentifiers: boolean }): unknown {
  if (typeof value === "string") return shownText(value, OTHER_LIMIT);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const items: readonly unknown[] = value;
    const copy = items.slice(0, MAX_ENTRIES).map((item) => publicForm(item, how));
    const isWhole = copy.length === items.length && copy.every((item, at) => item === items[at]);
    return isWhole ? value : copy;
  }
  const copy: Record<string, unknown> = Object.create(null) as Record<string, unknown>; // no `__proto__` setter
  const members = Object.entries(value);
  let isWhole = members.length <= MAX_ENTRIES;
  for (const [key, member] of members.slice(0, MAX_ENTRIES)) {
    const isIdentifier = how.hasIdentifiers && IDENTIFIER.test(key);
    const name = redactText(key);
    copy[name] = isIdentifier ? member : publicForm(member, how);
    isWhole &&= name === key && copy[name] === member;
  }
  return isWhole ? value : copy;
}

function measureOf(text: string): Pick<AbridgedText, "bytes" | "digest"> {
  const digest = createHash("sha256").update(text).digest("hex");
  return { bytes: Buffer.byteLength(text), digest: `sha256:${digest}` };
}
