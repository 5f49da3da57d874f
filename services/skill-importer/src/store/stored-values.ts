import type { z } from "zod";

/** Reads JSON values from Redis. Unreadable values count as absent. */
export class StoredValues {
  readonly #onCorrupt: (key: string) => void;

  /** `onCorrupt` is called for every value that cannot be read. */
  constructor(onCorrupt: (key: string) => void) {
    this.#onCorrupt = onCorrupt;
  }

  /** Reads the values of a hash, by field; null stands for a missing one. */
  values<T>(schema: z.ZodType<T>, key: string, hash: Readonly<Record<string, string | null>>): T[] {
    return Object.entries(hash)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([field, text]) => (text === null ? null : this.parse(schema, `${key} ${field}`, text)))
      .filter((value) => value !== null);
  }

  parse<T>(schema: z.ZodType<T>, key: string, text: string): T | null {
    const parsed = schema.safeParse(jsonOf(text));
    if (parsed.success) return parsed.data;
    this.#onCorrupt(key);
    return null;
  }
}

/** Undefined when it is not JSON. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined; // no schema accepts it
  }
}
