import { useRef, useState } from "preact/hooks";
import { orderOf, type Order, type RowFacts } from "./row-order.ts";

/** Rows in an order that does not change under a pointer. */
export interface Arrivals<T> {
  /** Rows that came after the first load follow at the end. */
  readonly rows: readonly T[];
  /** Keys of later arrivals that were not opened yet. */
  readonly arrived: ReadonlySet<string>;
  /** Puts all rows in the given order, and none counts as an arrival. */
  readonly settle: () => void;
}

interface Facts<T> extends RowFacts<T> {
  /** Identifies the list; the order starts again when it changes. */
  readonly list: string;
  readonly opened: string;
}

/** Preserves the order of rows over every reload of their list. */
export function useArrivals<T>(rows: readonly T[], facts: Facts<T>): Arrivals<T> {
  const order = useRef<Order | null>(null);
  const list = useRef(facts.list);
  const opened = useRef(new Set<string>());
  const [, setRound] = useState(0);
  if (list.current !== facts.list) order.current = null;
  list.current = facts.list;
  opened.current.add(facts.opened);
  order.current = orderOf(order.current, rows, facts);
  const { keys, latest } = order.current ?? NOTHING;
  const places = new Map(keys.map((key, place) => [key, place]));
  const placeOf = (row: T): number => places.get(facts.keyOf(row)) ?? 0;
  const sorted = rows.toSorted((one, other) => placeOf(one) - placeOf(other));
  const arrived = rows
    .filter((row) => facts.timeOf(row) > latest && !opened.current.has(facts.keyOf(row)))
    .map(facts.keyOf);
  return {
    rows: sorted,
    arrived: new Set(arrived),
    settle() {
      order.current = null;
      setRound((n) => n + 1);
    },
  };
}

const NOTHING: Order = { keys: [], latest: "" };
