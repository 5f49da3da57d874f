import assert from "node:assert/strict";
import { test } from "node:test";
import { orderOf } from "../src/core/row-order.ts";

const facts = { keyOf: ({ id }: Row) => id, timeOf: ({ at }: Row) => at };
interface Row {
  readonly id: string;
  readonly at: string;
}
const row = (id: string, minute: number): Row => ({ id, at: `2026-01-01T00:0${minute}:00.000Z` });

test("rows keep their places when others come before them, and those follow at the end", () => {
  const first = orderOf(null, [row("b", 2), row("a", 1)], facts);
  assert.deepEqual(first, { keys: ["b", "a"], latest: row("b", 2).at });
  const more = orderOf(first, [row("urgent", 3), row("b", 2), row("a", 1)], facts);
  assert.deepEqual(more?.keys, ["b", "a", "urgent"]);
  assert.equal(more?.latest, row("b", 2).at, "what came since then is new");
  const fewer = orderOf(more, [row("urgent", 3), row("a", 1)], facts);
  assert.deepEqual(fewer?.keys, ["b", "a", "urgent"], "one that comes back has its place");
});

test("the first rows of a list that was empty are not new", () => {
  assert.equal(orderOf(null, [], facts), null);
  assert.deepEqual(orderOf(null, [row("a", 1)], facts)?.keys, ["a"]);
});
