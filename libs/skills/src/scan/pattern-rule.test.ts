import assert from "node:assert/strict";
import { test } from "node:test";
import { patternScan, type PatternRule } from "./pattern-rule.ts";
import { ScannedText } from "./scanned-text.ts";

const FACTS = {
  code: "a_word",
  owasp: "AST01",
  severity: "medium",
  confidence: "medium",
  message: "a word",
  advice: "none",
} as const;

function scanned(rule: Partial<PatternRule>, times: number) {
  const scan = patternScan([{ ...FACTS, hints: ["word"], pattern: /word/iy, ...rule }]);
  return scan(new ScannedText("SKILL.md", "markdown", "word ".repeat(times)));
}

test("a rule checks 400 matches in a file, and a file with more is blocked", () => {
  let looks = 0;
  const check = () => {
    looks += 1;
    return null;
  };
  assert.deepEqual(scanned({ check }, 400).findings, []);
  assert.equal(looks, 400);
  looks = 0;
  const { findings } = scanned({ check }, 50_000);
  assert.deepEqual(
    findings.map(({ code, blocks }) => ({ code, blocks })),
    [{ code: "too_many_to_judge", blocks: true }],
  );
  assert.equal(looks, 400);
});

test("ten findings of a rule are written out, and the others counted", () => {
  const { findings, leftOut } = scanned({}, 50_000);
  assert.equal(findings.length, 10);
  assert.equal(leftOut, 49_990);
});
