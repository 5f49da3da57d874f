import assert from "node:assert/strict";
import { test } from "node:test";
import { Problem } from "../problems/problem.ts";
import { openPlaces } from "./places.ts";

test("each caller has its own places, and one that is given back twice counts once", () => {
  const places = openPlaces("streams", 2);
  const first = places.take("a");
  places.take("a");
  assert.throws(
    () => places.take("a"),
    (error) => error instanceof Problem && error.status === 429,
  );
  places.take("b");
  first();
  first();
  places.take("a");
  assert.throws(() => places.take("a"), Problem);
});
