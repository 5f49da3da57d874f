import assert from "node:assert/strict";
import { test } from "node:test";
import { createValidatorCache } from "./validator-cache.ts";

test("compiles a schema once, and lets go of the one that was not used for longest", () => {
  const cache = createValidatorCache(2);
  const a = cache.get("a", { type: "string" });
  const b = cache.get("b", { type: "number" });
  assert.equal(cache.get("a", {}), a);
  cache.get("c", {});
  assert.equal(cache.get("a", {}), a);
  assert.notEqual(cache.get("b", { type: "number" }), b);
});
