import { createHash } from "node:crypto";

/**
 * JSON with sorted keys and without spaces: equal values have one text, whatever the order of their
 * keys. Members that are undefined are left out, as JSON.stringify does. For values that came from
 * JSON; numbers and strings are written as JSON.stringify writes them, which is RFC 8785's form.
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`);
  return `{${members.join(",")}}`;
}

/** `sha256:` and the hexadecimal SHA-256 of a value's canonical JSON. */
export function canonicalDigest(value: unknown): string {
  return `sha256:${createHash("sha256").update(canonicalJson(value)).digest("hex")}`;
}
