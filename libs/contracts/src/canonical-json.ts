import { hash } from "node:crypto";

/**
 * JSON with sorted keys and without spaces: equal values have one text, whatever the order of their keys. Members that are undefined are
 * left out, as JSON.stringify does. Meant for values that came from JSON; numbers and strings are written as JSON.stringify writes them,
 * which is RFC 8785's form.
 */
export function canonicalJson(value: unknown): string {
  // Every call and every audit record passes here; JSON.stringify of a value in order takes half the time of a serializer in JavaScript.
  const inOrder = sorted(value);
  const text = inOrder === AWKWARD ? written(value) : JSON.stringify(inOrder);
  return text ?? "null";
}

/** `sha256:` and the hexadecimal SHA-256 of a value's canonical JSON. */
export function canonicalDigest(value: unknown): string {
  return digestOf(canonicalJson(value));
}

/** `sha256:` and the hexadecimal SHA-256 of bytes, or of a text's UTF-8 bytes. */
export function digestOf(data: string | Uint8Array): string {
  return `sha256:${hash("sha256", data, "hex")}`;
}

type Members = Readonly<Record<string, unknown>>;

/** Some key has a place of its own in every object, so that no object has the keys in canonical order. */
const AWKWARD = Symbol("awkward key");

/** The value itself where its keys are in order, a copy where not; AWKWARD when neither serves. */
function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  return Array.isArray(value) ? sortedItems(value) : sortedMembers(value as Members); // an object has only such
}

function sortedItems(items: readonly unknown[]): unknown {
  let copy: unknown[] | null = null;
  for (const [index, item] of items.entries()) {
    const next = sorted(item);
    if (next === AWKWARD) return AWKWARD;
    if (next !== item) copy ??= items.slice(0, index);
    copy?.push(next);
  }
  return copy ?? items;
}

function sortedMembers(members: Members): unknown {
  const keys = Object.keys(members);
  let copy: Record<string, unknown> | null = sortKeys(keys) ? {} : null;
  for (const [index, key] of keys.entries()) {
    if (isAwkward(key)) return AWKWARD;
    const member = members[key];
    const next = sorted(member);
    if (next === AWKWARD) return AWKWARD;
    if (next !== member && copy === null) {
      copy = {};
      for (const before of keys.slice(0, index)) copy[before] = members[before];
    }
    if (copy !== null) copy[key] = next;
  }
  return copy ?? members;
}

const ZERO = 48;
const NINE = 57;

/** Keys that look like numbers come first in every object; `__proto__` is not a member when it is set. */
function isAwkward(key: string): boolean {
  const first = key.charCodeAt(0);
  return (first >= ZERO && first <= NINE) || key === "__proto__";
}

function written(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(written).join(",")}]`;
  const members = value as Members;
  const keys = Object.keys(members);
  sortKeys(keys);
  const texts = keys
    .filter((key) => members[key] !== undefined)
    .map((key) => `${JSON.stringify(key)}:${written(members[key])}`);
  return `{${texts.join(",")}}`;
}

/** Up to so many keys are sorted by insertion, which costs a fraction of the general sort; more only hostile input has. */
const FEW = 24;

/** By UTF-16 code units, as RFC 8785 §3.2.3 wants it. True when they were not so before. */
function sortKeys(keys: string[]): boolean {
  const firstOut = keys.findIndex((key, index) => index > 0 && key < (keys[index - 1] ?? ""));
  if (firstOut === -1) return false;
  if (keys.length > FEW) keys.sort();
  else insertionSort(keys, firstOut);
  return true;
}

/** The keys before `from` are in order. */
function insertionSort(keys: string[], from: number): void {
  for (let next = from; next < keys.length; next += 1) {
    const key = keys[next] ?? "";
    let at = next - 1;
    for (; at >= 0; at -= 1) {
      const before = keys[at] ?? "";
      if (before <= key) break;
      keys[at + 1] = before;
    }
    keys[at + 1] = key;
  }
}
