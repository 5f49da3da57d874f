import assert from "node:assert/strict";
import { test } from "node:test";
import { createValidatorCache } from "./validator-cache.ts";

test("compiles a schema once, and lets go of the one that was not used for longest", () => {
  const validatorOf = createValidatorCache(2);
  const a = validatorOf("a", { type: "string" });
  const b = validatorOf("b", { type: "number" });
  assert.equal(validatorOf("a", {}), a);
  validatorOf("c", {});
  assert.equal(validatorOf("a", {}), a);
  assert.notEqual(validatorOf("b", { type: "number" }), b);
});
