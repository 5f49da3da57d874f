/** The order in which rows came, by their keys. */
export interface Order {
  readonly keys: readonly string[];
  /** The latest time of a row that was there at the first look. */
  readonly latest: string;
}

export interface RowFacts<T> {
  readonly keyOf: (row: T) => string;
  /** An ISO 8601 time. Rows that are older than those at the first look, such as of another page, did not arrive. */
  readonly timeOf: (row: T) => string;
}

/** The order with rows that are new in it at its end; null while there have been no rows. */
export function orderOf<T>(
  before: Order | null,
  rows: readonly T[],
  { keyOf, timeOf }: RowFacts<T>,
): Order | null {
  const keys = rows.map(keyOf);
  if (before !== null) return { ...before, keys: [...new Set([...before.keys, ...keys])] };
  if (rows.length === 0) return null;
  return { keys, latest: rows.map(timeOf).toSorted().at(-1) ?? "" };
}
