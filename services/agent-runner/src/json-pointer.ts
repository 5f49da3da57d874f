/** What a pointer found, or the token at which the way ended. */
export type PointerResult =
  | { readonly found: true; readonly value: unknown }
  | { readonly found: false; readonly missing: string };

/**
 * Follows a JSON pointer (RFC 6901) through own properties only, so that no pointer reaches a
 * prototype. The empty pointer is the whole document.
 */
export function followPointer(document: unknown, pointer: string): PointerResult {
  if (pointer === "") return { found: true, value: document };
  if (!pointer.startsWith("/")) return { found: false, missing: pointer };
  let value = document;
  for (const token of pointer.slice(1).split("/")) {
    const key = token.replaceAll("~1", "/").replaceAll("~0", "~");
    if (!hasChild(value, key)) return { found: false, missing: key };
    value = value[key];
  }
  return { found: true, value };
}

/** Writes a list of keys as a pointer: the inverse of {@link followPointer}'s reading. */
export function pointerOf(keys: readonly string[]): string {
  return keys.map((key) => `/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

const ARRAY_INDEX = /^(?:0|[1-9]\d*)$/;

function hasChild(value: unknown, key: string): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value) && !ARRAY_INDEX.test(key)) return false;
  return Object.hasOwn(value, key);
}
