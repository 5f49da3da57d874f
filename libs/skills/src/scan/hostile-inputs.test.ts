import assert from "node:assert/strict";
import { test } from "node:test";
import { hostileInputs } from "../../test/hostile-inputs.ts";
import { parseSkillFile } from "../skill/skill-file.ts";
import { scanSkill } from "./scan-skill.ts";

// The sizes at which each rule is most costly are measured in `bench/skills`.
test("every rule terminates on text that was made to cost time, and its verdict can be sent", () => {
  let count = 0;
  for (const { name, path, content } of hostileInputs({
    bodyBytes: 24 * 1024,
    frontmatterBytes: [4_000],
  })) {
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
  assert.ok(count > 150);
});
