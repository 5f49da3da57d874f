import assert from "node:assert/strict";
import { test } from "node:test";
import { nearestName } from "./nearest-name.ts";

const known = ["id", "effect", "who", "what", "when", "note"];

test("a typing error finds the name that was meant", () => {
  assert.equal(nearestName("efect", known), "effect");
  assert.equal(nearestName("Effect", known), "effect");
  assert.equal(nearestName("wen", known), "when");
  assert.equal(nearestName("notes", known), "note");
});

test("a name that is nothing like a known one finds none", () => {
  assert.equal(nearestName("approval", known), null);
  assert.equal(nearestName("ttl", known), null);
  assert.equal(nearestName("x", known), null);
});
