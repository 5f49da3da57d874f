import assert from "node:assert/strict";
import { test } from "node:test";
import { backoffMs } from "./backoff.ts";

test("a pause doubles with each failure, up to its longest", () => {
  const backoff = { firstMs: 250, mostMs: 1_500 };
  const pauses = [0, 1, 2, 3, 4, 5, 1e9].map((failures) => backoffMs(failures, backoff));
  assert.deepEqual(pauses, [250, 250, 500, 1_000, 1_500, 1_500, 1_500]);
});
