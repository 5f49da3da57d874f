import { createHash } from "node:crypto";

/**
 * JSON with sorted keys and without spaces: equal values have one text, whatever the order of their
 * keys. Members that are undefined are left out, as JSON.stringify does. For values that came from
 * JSON; numbers and strings are written as JSON.stringify writes them, which is RFC 8785's form.
 */
export function canonicalJson(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  // Every call and every audit record passes here, so without lists in between.
  const members = value as Readonly<Record<string, unknown>>; // an object has only such
  let text = "";
  for (const key of Object.keys(members).toSorted()) {
    const member = members[key];
    if (member === undefined) continue;
    text += `${text === "" ? "" : ","}${JSON.stringify(key)}:${canonicalJson(member)}`;
  }
  return `{${text}}`;
}

/** `sha256:` and the hexadecimal SHA-256 of a value's canonical JSON. */
export function canonicalDigest(value: unknown): string {
  return `sha256:${createHash("sha256").update(canonicalJson(value)).digest("hex")}`;
}
