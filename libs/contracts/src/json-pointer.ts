/**
 * The result of following a pointer. `missing` means that the value could exist and does not; `blocked` that a value on the way is not an
 * object or array, so it has no members. `at` is the token at which it ended.
 */
export type Located =
  | { readonly kind: "found"; readonly value: unknown }
  | { readonly kind: "missing"; readonly at: string }
  | { readonly kind: "blocked"; readonly at: string };

const ARRAY_INDEX = /^(?:0|[1-9][0-9]{0,9})$/;

/**
 * The reference tokens of a JSON pointer (RFC 6901), or null when the text is not one. The empty pointer has no tokens: the whole document.
 */
export function parsePointer(pointer: string): string[] | null {
  if (pointer === "") return [];
  if (!pointer.startsWith("/") || /~(?![01])/.test(pointer)) return null;
  return pointer
    .slice(1)
    .split("/")
    .map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** A key as a reference token of a JSON pointer, without the slash before it. */
export function pointerToken(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** Follows the tokens through own properties only, so that `/constructor` finds nothing that the document does not hold. */
export function locate(document: unknown, tokens: readonly string[]): Located {
  let value = document;
  for (const token of tokens) {
    if (typeof value !== "object" || value === null) return { kind: "blocked", at: token };
    if (Array.isArray(value) && !ARRAY_INDEX.test(token)) return { kind: "blocked", at: token };
    if (!Object.hasOwn(value, token)) return { kind: "missing", at: token };
    // Own properties of an object can be read by name, whatever its type.
    value = (value as Record<string, unknown>)[token];
  }
  return { kind: "found", value };
}
