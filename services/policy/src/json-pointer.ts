/** What a pointer finds: `blocked` when something on the way is no object or array, so nothing can lie below it. */
export type Located =
  | { readonly kind: "found"; readonly value: unknown }
  | { readonly kind: "missing" }
  | { readonly kind: "blocked" };

const ARRAY_INDEX = /^(0|[1-9][0-9]{0,9})$/;
const MISSING: Located = { kind: "missing" };
const BLOCKED: Located = { kind: "blocked" };

/** The reference tokens of a JSON pointer (RFC 6901), or null when it is none. The empty pointer, the whole document, is not accepted. */
export function parsePointer(pointer: string): string[] | null {
  if (!pointer.startsWith("/") || /~(?![01])/.test(pointer)) return null;
  return pointer
    .slice(1)
    .split("/")
    .map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** Follows the tokens through own properties only, so `/constructor` finds nothing that the caller did not send. */
export function locate(document: unknown, tokens: readonly string[]): Located {
  let value = document;
  for (const token of tokens) {
    if (typeof value !== "object" || value === null) return BLOCKED;
    if (Array.isArray(value) && !ARRAY_INDEX.test(token)) return BLOCKED;
    if (!Object.hasOwn(value, token)) return MISSING;
    // Own properties of an object can be read by name, whatever its type.
    value = (value as Record<string, unknown>)[token];
  }
  return { kind: "found", value };
}
