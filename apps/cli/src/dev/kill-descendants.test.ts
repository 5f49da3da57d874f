import assert from "node:assert/strict";
import { test } from "node:test";
import { descendantsOf } from "./kill-descendants.ts";

test("finds children and their children, parents first, and no other process", () => {
  const processes = [
    { pid: 1, parent: 0 },
    { pid: 30, parent: 20 },
    { pid: 10, parent: 1 },
    { pid: 20, parent: 10 },
    { pid: 21, parent: 10 },
    { pid: 99, parent: 1 },
  ];
  assert.deepEqual(descendantsOf(10, processes), [20, 21, 30]);
  assert.deepEqual(descendantsOf(99, processes), []);
});
