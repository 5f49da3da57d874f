import assert from "node:assert/strict";
import { test } from "node:test";
import { hostileInputs } from "../../test/hostile-inputs.ts";
import { parseSkillFile } from "../skill/skill-file.ts";
import { scanSkill } from "./scan-skill.ts";

test("every rule comes to an end on 256 KB that were made to cost time, and its verdict can be sent", () => {
  let count = 0;
  for (const { name, path, content } of hostileInputs()) {
    const { skill, metadata, findings } = parseSkillFile(content, "hostile");
    const report = scanSkill({
      files: [{ path, content }],
      skill,
      metadata,
      digest: "sha256:0",
      now: new Date(0),
    });
    count += 1;
    assert.ok(report.findings.length <= 100, name);
    assert.ok(JSON.stringify({ report, findings }).length < 256 * 1024, name);
    if (report.leftOut > 0) assert.notEqual(report.verdict, "clean", name);
  }
  assert.ok(count > 250);
});
