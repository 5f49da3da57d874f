import type { z } from "zod";

/** Reads what Redis holds as JSON. What cannot be read counts as absent. */
export class StoredValues {
  readonly #onCorrupt: (key: string) => void;

  /** `onCorrupt` hears of every value that cannot be read. */
  constructor(onCorrupt: (key: string) => void) {
    this.#onCorrupt = onCorrupt;
  }

  /** In HMGET's order, without those that are not there. */
  present<T extends z.ZodType>(
    schema: T,
    key: string,
    { names, texts }: { names: readonly string[]; texts: unknown },
  ): z.output<T>[] {
    return (texts as (string | null)[]) // HMGET's reply
      .map((text, index) =>
        text === null ? null : this.parse(schema, `${key} ${names[index] ?? ""}`, text),
      )
      .filter((entry) => entry !== null);
  }

  values<T extends z.ZodType>(schema: T, key: string, hash: unknown): z.output<T>[] {
    return Object.entries(hash as Record<string, string>) // HGETALL's reply
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([field, text]) => this.parse(schema, `${key} ${field}`, text))
      .filter((value) => value !== null);
  }

  entries<T extends z.ZodType<{ summary: { name: string } }>>(
    schema: T,
    key: string,
    hash: unknown,
  ): z.output<T>[] {
    const entries = Object.entries(hash as Record<string, string>) // HGETALL's reply
      .map(([name, text]) => this.parse(schema, `${key} ${name}`, text))
      .filter((entry) => entry !== null);
    return entries.toSorted((a, b) => (a.summary.name < b.summary.name ? -1 : 1));
  }

  parse<T extends z.ZodType>(schema: T, key: string, text: string): z.output<T> | null {
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

/** The answers of a transaction; ioredis has the errors of single commands among them. */
export function answersOf(results: [Error | null, unknown][] | null): unknown[] {
  return (results ?? []).map(([error, answer]) => {
    if (error !== null) throw error;
    return answer;
  });
}
