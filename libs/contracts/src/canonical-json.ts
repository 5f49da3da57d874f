import { hash } from "node:crypto";

/**
 * JSON with sorted keys and without spaces: equal values have one text, whatever the order of their
 * keys. Members that are undefined are left out, as JSON.stringify does. For values that came from
 * JSON; numbers and strings are written as JSON.stringify writes them, which is RFC 8785's form.
 */
export function canonicalJson(value: unknown): string {
  // Every call and every audit record passes here: without lists and library calls in between.
  if (typeof value === "string") return quoted(value);
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  const members = value as Readonly<Record<string, unknown>>; // an object has only such
  let text = "";
  for (const key of sortedKeys(members)) {
    const member = members[key];
    if (member === undefined) continue;
    text += `${text === "" ? "" : ","}${quoted(key)}:${canonicalJson(member)}`;
  }
  return `{${text}}`;
}

/** `sha256:` and the hexadecimal SHA-256 of a value's canonical JSON. */
export function canonicalDigest(value: unknown): string {
  return digestOf(canonicalJson(value));
}

/** `sha256:` and the hexadecimal SHA-256 of a text's UTF-8 bytes. */
export function digestOf(text: string): string {
  return `sha256:${hash("sha256", text, "hex")}`;
}

/** Printable ASCII without `"` and `\`: what JSON writes as it is. */
const PLAIN = /^[ !#-[\]-~]*$/;

function quoted(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text);
}

/** Up to so many keys are sorted by insertion, which costs a fraction of the general sort; more only hostile input has. */
const FEW = 24;

/** By UTF-16 code units, as RFC 8785 §3.2.3 wants it. */
function sortedKeys(members: Readonly<Record<string, unknown>>): string[] {
  const keys = Object.keys(members);
  if (keys.length > FEW) return keys.toSorted();
  for (let next = 1; next < keys.length; next += 1) {
    const key = keys[next] ?? "";
    let at = next - 1;
    for (; at >= 0; at -= 1) {
      const before = keys[at] ?? "";
      if (before <= key) break;
      keys[at + 1] = before;
    }
    keys[at + 1] = key;
  }
  return keys;
}
