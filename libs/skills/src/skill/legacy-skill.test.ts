import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { packageOf, packagesIn } from "../source/package.ts";
import { parseLegacySkill } from "./legacy-skill.ts";
import { parseSkill } from "./parse-skill.ts";

const MANIFEST = {
  name: "Report Maker",
  description: "Makes reports.",
  version: "1.0.0",
  author: "somebody",
  variables: ["topic"],
  "allowed-tools": ["Read", "Grep"],
  "user-invocable": false,
  triggers: ["a report, please"],
  openclaw: { requires: { bins: ["pandoc"] } },
  main: "index.js",
};

function read(manifest: unknown, prompt: string | null = "Write about $topic.\n") {
  const text = typeof manifest === "string" ? manifest : JSON.stringify(manifest);
  return parseLegacySkill(
    Buffer.from(text),
    prompt === null ? null : Buffer.from(prompt),
    "reports",
  );
}

function codes({ findings }: ReturnType<typeof read>): string[] {
  return findings.map(({ code }) => code);
}

test("reads skill.json with prompt.md into the same form as a SKILL.md [D1] [D4, D44, D60]", () => {
  const { skill, metadata, findings } = read(MANIFEST);
  assert(skill);
  assert.equal(skill.name, "report-maker");
  assert.equal(skill.description, "Makes reports.");
  assert.equal(skill.body, "Write about $topic.");
  assert.deepEqual(skill.arguments, ["topic"]);
  assert.deepEqual(skill.allowedTools, ["Read", "Grep"]);
  assert.equal(skill.userInvocable, false);
  assert.deepEqual(skill.triggers, ["a report, please"]);
  assert.equal(skill.format, "legacy");
  assert.equal(skill.record?.version, "1.0.0");
  assert.deepEqual(skill.record?.unknown, { main: "index.js" });
  assert.deepEqual(skill.record?.openclaw?.aliases, ["openclaw"]);
  assert.equal(JSON.stringify(metadata), '{"openclaw":{"requires":{"bins":["pandoc"]}}}');
  assert.ok(findings.every(({ severity }) => severity !== "error"));
});

test("loads without a prompt.md, and reads missing fields from the prompt [D7] [D8]", () => {
  assert.equal(read(MANIFEST, null).skill?.body, "");
  const { skill } = read({}, "Does a thing.\n\nMore.");
  assert.equal(skill?.name, "reports");
  assert.equal(skill.description, "Does a thing.");
});

test("is pinned to both files: another prompt is another digest", () => {
  const one = read(MANIFEST).skill?.digest;
  assert.equal(read(MANIFEST).skill?.digest, one);
  assert.notEqual(read(MANIFEST, "Other.").skill?.digest, one);
  assert.notEqual(read(MANIFEST, null).skill?.digest, one);
  assert.notEqual(read({ ...MANIFEST, version: "1.0.1" }).skill?.digest, one);
});

test("conforms to no other client, which all want a SKILL.md", () => {
  const { conformance } = read(MANIFEST);
  assert.equal(conformance.length, 5);
  assert.ok(conformance.every(({ conforms }) => !conforms));
});

test("reads JSON with superfluous commas and comments, and grants nothing for it", () => {
  const text =
    '{\n  "name": "x", // mine\n  "hooks": {"a": "b"},\n  "allowed-tools": ["Read"],\n  "openclaw": {"always": true},\n}';
  const parsed = read(text);
  assert.ok(codes(parsed).includes("repaired_json"));
  assert.equal(parsed.findings[0]?.line, 2);
  assert.ok(codes(parsed).includes("authority_ignored"));
  assert.equal(parsed.skill?.needsReview, true);
  assert.equal(parsed.skill.record?.hooks, null);
  assert.deepEqual(parsed.skill.allowedTools, ["Read"]);
  assert.equal(JSON.stringify(parsed.metadata), '{"openclaw":{}}');
});

for (const [what, text, code] of [
  ["is not valid JSON", "{name: ", "invalid_json"],
  ["is a list", "[]", "invalid_json"],
  ["has a key that is none", '{"name":"x","__proto__":{"a":1}}', "invalid_json"],
  ["is nested without end", "[".repeat(60_000), "invalid_json"],
  ["is nested too deeply", `${'{"a":'.repeat(40)}1${"}".repeat(40)}`, "invalid_json"],
  [
    "has too many keys",
    JSON.stringify(Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`k${n}`, n]))),
    "invalid_json",
  ],
  ["is too large", `{"name":"${"x".repeat(70_000)}"}`, "file_too_large"],
  ["is binary", '{"name":"\0"}', "binary_file"],
] as const) {
  test(`skips a skill.json that ${what}, and reports it`, () => {
    const parsed = read(text);
    assert.equal(parsed.skill, null);
    assert.equal(parsed.findings[0]?.code, code);
    assert.equal(parsed.findings[0].severity, "error");
  });
}

test("skips a skill.json that is of no skill", () => {
  assert.deepEqual(codes(read({ level: 3, damage: 12 }, null)), ["not_a_skill"]);
});

test("never throws, whatever the two files hold", () => {
  fc.assert(
    fc.property(fc.oneof(fc.json(), fc.string()), fc.string(), (manifest, prompt) => {
      const { skill, findings } = read(manifest, prompt);
      if (skill === null) assert.ok(findings.some(({ severity }) => severity === "error"));
    }),
  );
});

test("a SKILL.md beside it wins, and skill.json is a file of that skill [D2, D60]", () => {
  const files = new Map([
    ["a/SKILL.md", Buffer.from("---\nname: new\ndescription: d\n---\nBody\n")],
    ["a/skill.json", Buffer.from(JSON.stringify(MANIFEST))],
    ["a/templates/skill.json", Buffer.from("{}")],
    ["b/skill.json", Buffer.from(JSON.stringify(MANIFEST))],
    ["b/prompt.md", Buffer.from("Old.")],
    ["b/data/skill.json", Buffer.from("{}")],
  ]);
  const packages = packagesIn(files);
  assert.deepEqual(
    packages.map(({ directory, mainFile, files: own }) => [directory, mainFile, [...own.keys()]]),
    [
      ["a", "SKILL.md", ["SKILL.md", "skill.json", "templates/skill.json"]],
      ["b", "skill.json", ["data/skill.json", "prompt.md", "skill.json"]],
    ],
  );
  const names = packages.map((pkg) => parseSkill(pkg, pkg.directory).skill?.name);
  assert.deepEqual(names, ["new", "report-maker"]);
});

test("of SKILL.md and skill.md in one directory the first is the skill, and the other is left out with a warning", () => {
  const files = [
    ["skill.md", Buffer.from("old")],
    ["SKILL.md", Buffer.from("new")],
  ] as const;
  const pkg = packageOf("a", files);
  assert.equal(pkg.mainFile, "SKILL.md");
  assert.deepEqual([...pkg.files.keys()], ["SKILL.md"]);
  assert.deepEqual(
    pkg.findings.map(({ severity, code }) => [severity, code]),
    [["warning", "file_not_kept"]],
  );
});
