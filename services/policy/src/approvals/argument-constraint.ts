import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import { locate, parsePointer } from "@switchyard/contracts/json-pointer";
import { hasMask } from "./mask-secrets.ts";

/**
 * The digest of the values at some JSON pointers, from the comparable form of the arguments; null when
 * one of them is not there or holds a secret, or the arguments are too long to compare.
 */
export function constraintOf(
  comparable: string | null,
  pointers: readonly string[],
): string | null {
  if (comparable === null) return null;
  const document: unknown = JSON.parse(comparable);
  const values: unknown[] = [];
  for (const pointer of pointers) {
    const value = valueAt(document, pointer);
    if (value === undefined) return null;
    values.push(value);
  }
  return canonicalDigest({ pointers, values });
}

/** The first pointer that cannot be a constraint for these arguments, or null. */
export function badPointer(comparable: string | null, pointers: readonly string[]): string | null {
  const document: unknown = comparable === null ? undefined : JSON.parse(comparable);
  return pointers.find((pointer) => valueAt(document, pointer) === undefined) ?? null;
}

function valueAt(document: unknown, pointer: string): unknown {
  const tokens = parsePointer(pointer);
  if (tokens === null || tokens.length === 0) return undefined;
  const found = locate(document, tokens);
  // Secrets are not stored, so their equality cannot be checked.
  if (found.kind !== "found" || hasMask(JSON.stringify(found.value))) return undefined;
  return found.value;
}
