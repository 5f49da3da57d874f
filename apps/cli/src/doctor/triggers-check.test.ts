import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { tempDirectory } from "../../test-fixtures/temp-directory.ts";
import { HOME } from "../locations.ts";
import { checkTriggers } from "./triggers-check.ts";

test("a file of triggers that cannot be used is reported with its line and what to do", async () => {
  const file = join(tempDirectory(), "triggers.yaml");
  await writeFile(file, "version: 1\ntriggers:\n  - id: a\n    agent: clerk\n");
  const broken = await checkTriggers(file);
  assert.equal(broken.status, "failed");
  assert.match(broken.summary, /^triggers\.yaml:3:5: triggers\[0\]\.owner is missing; and 1 more$/);
  assert.match(broken.fix ?? "", /^correct .*triggers\.yaml; docs\/schedules\.md/);
});

test("the example's file is ok, and a project need not have one", async () => {
  const good = await checkTriggers(join(HOME, "examples/triggers/triggers.yaml"));
  assert.deepEqual([good.status, good.summary.startsWith("3 triggers")], ["ok", true]);
  assert.equal((await checkTriggers("/nowhere/triggers.yaml")).status, "skipped");
});
