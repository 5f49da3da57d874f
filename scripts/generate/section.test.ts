import assert from "node:assert/strict";
import { test } from "node:test";
import { replaceSection } from "./section.ts";

test("replaces what stands between the markers and nothing else", () => {
  const before = "a\n<!-- generated: t -->\nold\n<!-- end -->\nz\n";
  const after = replaceSection(before, { t: "new" });
  assert.equal(after, "a\n<!-- generated: t -->\n\nnew\n\n<!-- end -->\nz\n");
  assert.equal(replaceSection(after, { t: "new" }), after);
});

test("names the marker that is missing", () => {
  assert.throws(() => replaceSection("no markers", { t: "new" }), /<!-- generated: t -->/);
});
