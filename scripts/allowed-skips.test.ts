import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { isAllowedSkip, readAllowedSkips } from "./allowed-skips.ts";

test("each line of the list is a part of a reason and why CI cannot do without", () => {
  const list = readAllowedSkips("# engines\n\nno engine answers :: there is no registry\n");
  assert.deepEqual(list, [{ reason: "no engine answers", because: "there is no registry" }]);
  assert.ok(isAllowedSkip("docker: no engine answers (ENOENT)", list));
  assert.equal(isAllowedSkip("the moon is new", list), false);
  for (const line of ["no engine answers", "no engine answers :: ", " :: why", "a :: b :: c"])
    assert.throws(() => readAllowedSkips(`# fine\n${line}`), /line 2 is not "reason :: why/);
});

test("the list of this repository can be read", () => {
  const text = readFileSync(new URL("../.ci/allowed-skips", import.meta.url), "utf8");
  assert.ok(readAllowedSkips(text).length > 0);
});
