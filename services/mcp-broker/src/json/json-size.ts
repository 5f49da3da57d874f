export interface JsonLimits {
  readonly depth: number;
  readonly values: number;
  readonly characters: number;
}

/**
 * Returns the number of characters of a value from JSON, or in words why it is too much to work on. Measured without recursion, so
 * that a value nested ten thousand levels deep is refused here and does not end the stack elsewhere.
 */
export function jsonSize(
  value: unknown,
  limits: JsonLimits,
): { readonly characters: number } | { readonly excess: string } {
  let level: unknown[] = [value];
  let values = 0;
  let characters = 0;
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > limits.depth) return { excess: `is nested deeper than ${limits.depth} levels` };
    const next: unknown[] = [];
    for (const item of level) {
      values += 1;
      if (typeof item === "string") characters += item.length;
      if (typeof item !== "object" || item === null) continue;
      for (const [key, inner] of Object.entries(item)) {
        characters += key.length;
        next.push(inner);
      }
      if (values + next.length > limits.values)
        return { excess: `has more than ${limits.values} values` };
    }
    if (characters > limits.characters)
      return { excess: `has more than ${limits.characters} characters` };
    level = next;
  }
  return { characters };
}
