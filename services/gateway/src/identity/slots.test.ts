import assert from "node:assert/strict";
import { test } from "node:test";
import { Problem } from "../problems/problem.ts";
import { openSlots } from "./slots.ts";

test("each caller has its own slots, and one that is released twice counts once", () => {
  const slots = openSlots("streams", 2);
  const first = slots.take("a");
  slots.take("a");
  assert.throws(
    () => slots.take("a"),
    (error) => error instanceof Problem && error.status === 429,
  );
  slots.take("b");
  first();
  first();
  slots.take("a");
  assert.throws(() => slots.take("a"), Problem);
});
