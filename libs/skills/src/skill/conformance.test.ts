import assert from "node:assert/strict";
import { test } from "node:test";
import type { SkillTarget } from "@switchyard/contracts/skill-importer/skills";
import { parseSkillFile } from "./skill-file.ts";

const CLEAN = "name: my-skill\ndescription: Does a thing when asked.";

function verdicts(text: string) {
  return parseSkillFile(Buffer.from(text), "my-skill").conformance;
}

function problems(target: SkillTarget, frontmatter: string): string[] {
  const verdict = verdicts(`---\n${frontmatter}\n---\nx`).find((one) => one.target === target);
  assert(verdict);
  assert.equal(verdict.conforms, verdict.problems.length === 0);
  return verdict.problems.map(({ code, line }) => `${code}:${line ?? "-"}`);
}

test("a clean file conforms to every target", () => {
  const files = `---\n${CLEAN}\nlicense: MIT\nallowed-tools: Read Bash(git log:*, x)\nmetadata:\n  version: 1.0\n---\nx`;
  assert.deepEqual(
    verdicts(files).map(({ target, conforms }) => [target, conforms]),
    ["agent-skills", "claude-code", "claude-ai", "openclaw", "clawhub"].map((name) => [name, true]),
  );
});

const cases: readonly [SkillTarget, string, string[]][] = [
  ["agent-skills", `${CLEAN}\nversion: 1.0.0`, ["unexpected_key:4"]],
  ["agent-skills", "description: d", ["name_missing:-"]],
  ["agent-skills", "name: My Skill\ndescription: d", ["name_pattern:2", "name_differs:2"]],
  ["agent-skills", "name: my--skill\ndescription: d", ["name_pattern:2", "name_differs:2"]],
  [
    "agent-skills",
    `name: ${"x".repeat(65)}\ndescription: d`,
    ["name_too_long:2", "name_differs:2"],
  ],
  ["agent-skills", "name: my-skill", ["description_missing:-"]],
  ["agent-skills", "name: my-skill\ndescription: [a]", ["description_missing:3"]],
  ["agent-skills", `name: my-skill\ndescription: ${"d".repeat(1025)}`, ["description_too_long:3"]],
  ["agent-skills", `${CLEAN}\ncompatibility: ''`, ["compatibility_length:4"]],
  ["agent-skills", `${CLEAN}\nallowed-tools: Read, Write`, ["allowed_tools_form:4"]],
  ["agent-skills", `${CLEAN}\nallowed-tools: [Read]`, ["allowed_tools_form:4"]],
  ["agent-skills", `${CLEAN}\nmetadata: {"openclaw":{"always":true}}`, ["metadata_not_text:4"]],
  ["agent-skills", "name: my-skill\ndescription: a: b", ["invalid_yaml:3"]],
  ["claude-code", "description: d\nname: Any Name\nfoo: bar", []],
  ["claude-code", "user-invocable: maybe", ["not_a_flag:2"]],
  ["claude-code", "effort: huge\ncontext: inline", ["unknown_value:2", "unknown_value:3"]],
  ["claude-code", "metadata: text", ["metadata_not_a_mapping:2"]],
  ["claude-ai", `${CLEAN}\nuser-invocable: true`, ["unexpected_key:4"]],
  ["claude-ai", "name: my-skill\ndescription: Use <b>it</b>", ["xml_tag:3"]],
  ["claude-ai", "name: claude-x\ndescription: d", ["name_differs:2", "reserved_word:2"]],
  ["openclaw", "name: Any Name\nhomepage: x", ["description_missing:-"]],
  ["openclaw", `${CLEAN}\nmetadata: {"moltbot":{"requires":{"bins":["x"]}}}`, ["ignored_alias:4"]],
  ["openclaw", `${CLEAN}\nmetadata: {"clawdis":{"always":true}}`, ["ignored_alias:4"]],
  ["openclaw", `${CLEAN}\ncommand-dispatch: shell`, ["unknown_value:4"]],
  [
    "openclaw",
    `${CLEAN}\nmetadata: {"openclaw":{"install":[{"kind":"pip"},{"kind":"brew"}]}}`,
    ["unknown_install_kind:4"],
  ],
  ["clawhub", `${CLEAN}\nmetadata: {"clawdis":{"always":true}}`, []],
  ["clawhub", `${CLEAN}\nversion: 1.0`, ["version_not_semver:4"]],
];

for (const [target, frontmatter, expected] of cases) {
  test(`${target}: ${JSON.stringify(frontmatter).slice(0, 70)} has ${expected.join(", ") || "no problem"}`, () => {
    assert.deepEqual(problems(target, frontmatter), expected);
  });
}

test("a file without frontmatter conforms only where the targets accept it", () => {
  assert.deepEqual(
    verdicts("just text")
      .filter(({ conforms }) => conforms)
      .map(({ target }) => target),
    ["claude-code", "clawhub"],
  );
});

test("names the byte order mark that hides the frontmatter from ClawHub", () => {
  const codes = verdicts(`\uFEFF---\n${CLEAN}\n---\nx`).flatMap(({ target, problems: found }) =>
    found.map(({ code }) => `${target} ${code}`),
  );
  assert.deepEqual(codes, ["clawhub byte_order_mark"]);
});

test("a repaired file loads and conforms to nothing; a file that is not text has no verdict", () => {
  const { skill, conformance } = parseSkillFile(Buffer.from("---\ndescription: a: b\n---\nx"), "s");
  assert.equal(skill?.repaired, true);
  assert(conformance.every(({ conforms }) => !conforms));
  assert.deepEqual(parseSkillFile(Buffer.from([0x61, 0]), "s").conformance, []);
});
