/** Deeper nesting occurs in no real data, and serializing it would overflow the stack. */
export const MAX_NESTING = 256;

/** True when arrays and objects are nested deeper than that. The check itself stops at this depth. */
export function isNestedTooDeeply(value: unknown, levels = MAX_NESTING): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((item) => isNestedTooDeeply(item, levels - 1));
}
