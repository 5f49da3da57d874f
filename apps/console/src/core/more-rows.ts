import { useEffect, useRef, useState } from "preact/hooks";
import { act } from "./resource.ts";

/** Further pages of a list, one at each `load`. */
export interface MoreRows<T> {
  readonly rows: readonly T[];
  /** True when there is another page. */
  readonly isMore: boolean;
  readonly isLoading: boolean;
  readonly load: () => void;
}

/**
 * The pages behind the first one, which reloads separately; they are dropped when `key` changes. Until one is loaded, `next` of the
 * first page is where they begin.
 */
export function useMoreRows<T>(
  key: string,
  next: string | null,
  read: (cursor: string) => Promise<{ readonly rows: readonly T[]; readonly next: string | null }>,
): MoreRows<T> {
  const [loaded, setLoaded] = useState<Loaded<T>>(NOTHING);
  const [isLoading, setLoading] = useState(false);
  const shown = useRef(key);
  useEffect(() => {
    shown.current = key;
    setLoaded(NOTHING);
  }, [key]);
  const cursor = loaded.next === undefined ? next : loaded.next;
  const load = async (): Promise<void> => {
    if (cursor === null || isLoading) return;
    setLoading(true);
    await act("", async () => {
      const page = await read(cursor);
      if (shown.current === key)
        setLoaded(({ rows }) => ({ rows: [...rows, ...page.rows], next: page.next }));
    });
    setLoading(false);
  };
  return { rows: loaded.rows, isMore: cursor !== null, isLoading, load: () => void load() };
}

interface Loaded<T> {
  readonly rows: readonly T[];
  /** Undefined before any is loaded. */
  readonly next: string | null | undefined;
}

const NOTHING = { rows: [], next: undefined } as const;

/** The first page and those behind it, each row once: a row may have moved from one to the other. */
export function joined<T>(
  first: readonly T[],
  more: readonly T[],
  keyOf: (row: T) => string,
): readonly T[] {
  const keys = new Set(first.map(keyOf));
  return [...first, ...more.filter((row) => !keys.has(keyOf(row)))];
}
