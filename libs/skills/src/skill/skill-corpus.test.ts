import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseSkillFile } from "./skill-file.ts";

// A synthetic corpus with the failures of public skills in the proportions counted among 36,298 files. It contains no text of
// their authors, so its results check the classes and are no measurement.

const GOOD = "name: my-skill\ndescription: Does a thing. Use it when it is needed.";

/** One broken frontmatter of each class, and how many of 36,298 files have it. */
const CLASSES: readonly (readonly [count: number, frontmatter: string])[] = [
  [199, "name: my-skill\ndescription: Use this when: it rains\nallowed-tools: Read"],
  [15, 'name: my-skill\ndescription: d\nmetadata: {"clawdbot":{"requires":{"bins":\\["curl"]}}}'],
  [4, "name: my-skill\ndescription: goes on\nat the margin: and on"],
  [4, "<<<<<<< Updated upstream\nname: a\n=======\nname: b\n>>>>>>> Stashed changes"],
  [3, "name: my-skill\ndescription: `code` first"],
  [3, "name: my-skill\ndescription: @Observable and more"],
  [2, "name: my-skill\ndescription: , first"],
  [8, `${GOOD}\nname: again`],
  [6, `${GOOD}\nargument-hint: [date] [duration]`],
  [3, `${GOOD}\nallowed-tools: *`],
  [3, `${GOOD}\ndependencies: [@motion-canvas/core>=3.0.0]`],
  [3, `${GOOD}\ntags: [one, two`],
  [4, `${GOOD}\npaths: **/*.ts`],
  [2_373, `${GOOD}\nmetadata: {"openclaw":{"requires":{"bins":["jq"]}}}`],
  [468, `${GOOD}\nmetadata:\n  {\n    "openclaw": { "emoji": "x", },\n  }`],
  [6_939, `${GOOD}\nallowed-tools: Read, Grep, Bash(git:*)`],
  [393, `${GOOD}\nallowed-tools:\n  - Read\n  - Write`],
  [11_900, `${GOOD}\nauthor: somebody\nversion: 1.0`],
  [12_757, GOOD],
];

function fileOf(frontmatter: string, n: number): Buffer {
  const text = `---\n${frontmatter}\n---\n\n# Skill ${n}\n\nDo it.\n`;
  // 499 files have Windows line ends, 13 a byte order mark.
  if (n % 73 === 0) return Buffer.from(text.replaceAll("\n", "\r\n"));
  return Buffer.from(n % 2_792 === 1 ? `\uFEFF${text}` : text);
}

test("at least 99.5 % of a synthetic corpus with frontmatter loads, and nothing is lost silently", (t) => {
  let n = 0;
  let loaded = 0;
  let repaired = 0;
  for (const [count, frontmatter] of CLASSES) {
    // A tenth of them: the same text gives the same result.
    for (let copy = 0; copy < Math.ceil(count / 10); copy += 1) {
      n += 1;
      const { skill, findings } = parseSkillFile(fileOf(frontmatter, n), "my-skill");
      if (skill !== null) loaded += 1;
      else
        assert.ok(
          findings.some(({ severity }) => severity === "error"),
          frontmatter,
        );
      if (skill?.repaired === true) repaired += 1;
      assert.ok(
        skill?.repaired !== true || findings.some(({ code }) => code.startsWith("repaired_")),
      );
    }
  }
  t.diagnostic(`synthetic: ${loaded} of ${n} load, ${repaired} of them repaired`);
  assert.ok(loaded / n >= 0.995, `${loaded} of ${n}`);
});

const LINES = [
  "name: my-skill",
  "description: Does a thing",
  "allowed-tools: Read",
  "disable-model-invocation: true",
  "metadata:",
  "  openclaw:",
  "    requires: { bins: [jq] }",
  "version: 1.0",
];

/** One slip: a byte turned into another, a line left out, or lines further in. */
const mutation = fc.oneof(
  fc.record({
    kind: fc.constant("byte" as const),
    at: fc.nat(400),
    to: fc.integer({ min: 32, max: 126 }),
  }),
  fc.record({
    kind: fc.constant("drop" as const),
    at: fc.nat(LINES.length - 1),
    to: fc.constant(0),
  }),
  fc.record({ kind: fc.constant("indent" as const), at: fc.nat(LINES.length - 1), to: fc.nat(6) }),
);

test("a slip in a good file never loses it silently", () => {
  fc.assert(
    fc.property(fc.array(mutation, { minLength: 1, maxLength: 3 }), (slips) => {
      const lines = [...LINES];
      for (const { kind, at, to } of slips) {
        if (kind === "drop") lines.splice(at, 1);
        if (kind === "indent") lines[at] = `${" ".repeat(to)}${lines[at] ?? ""}`;
      }
      const file = Buffer.from(`---\n${lines.join("\n")}\n---\nThe body.\n`);
      for (const { kind, at, to } of slips) {
        if (kind === "byte") file[4 + (at % (file.length - 20))] = to;
      }
      const { skill, findings } = parseSkillFile(file, "my-skill");
      if (skill === null) assert.ok(findings.some(({ severity }) => severity === "error"));
      else assert.match(skill.body + skill.description, /body/);
    }),
    { numRuns: 2_000 },
  );
});

test("the YAML that a repair proposes parses without a repair", () => {
  const broken = CLASSES.map(([, frontmatter]) => frontmatter);
  fc.assert(
    fc.property(fc.constantFrom(...broken), (frontmatter) => {
      const { skill, findings } = parseSkillFile(fileOf(frontmatter, 2), "my-skill");
      if (skill?.repaired !== true) return;
      const lines = fileOf(frontmatter, 2).toString().split("\n");
      const patches = findings.flatMap(({ patch }) => (patch === undefined ? [] : [patch]));
      const isOnlyPatched = findings.every(
        ({ code, patch }) => !code.startsWith("repaired_") || patch !== undefined,
      );
      for (const { line, before, after } of patches) {
        const count = before.split("\n").length;
        lines.splice(
          line - 1,
          count,
          ...after.split("\n"),
          ...Array.from<string>({ length: count - 1 }).fill(""),
        );
      }
      const again = parseSkillFile(Buffer.from(lines.join("\n")), "my-skill");
      if (isOnlyPatched) assert.notEqual(again.skill?.repaired, true);
      assert.deepEqual(again.skill?.description, skill.description);
    }),
  );
});

test("a file that declares UTF-16 loads, a damaged one loads with the damage named", () => {
  const text = `---\n${GOOD}\n---\nThe body.\n`;
  const wide = parseSkillFile(Buffer.from(`\uFEFF${text}`, "utf16le"), "my-skill");
  assert.equal(wide.skill?.name, "my-skill");
  assert.deepEqual(
    wide.findings.map(({ code }) => code),
    ["repaired_encoding"],
  );
  assert.ok(wide.conformance.every(({ conforms }) => !conforms));
  const damaged = parseSkillFile(
    Buffer.concat([Buffer.from(text), Buffer.of(0xff, 0x0a)]),
    "my-skill",
  );
  assert.equal(damaged.skill?.name, "my-skill");
  assert.equal(damaged.findings[0]?.line, 6);
});

test("the fields of all clients are read into one record, context: fork and unknown ones included [D46, D58]", () => {
  const text = `${GOOD}\nlicense: MIT\nmodel: inherit\neffort: high\ncontext: fork\nagent: Explore\nbackground: off\nshell: bash\npaths: "src/**, test/*.ts"\ndisallowed-tools: Bash(rm *), Write\nhooks:\n  Stop: [x]\nmetadata: '{clawdbot: {emoji: "x", envVars: [{name: "KEY", required: true}],}, /* five */}'\nrisk: low`;
  const { skill, findings } = parseSkillFile(Buffer.from(`---\n${text}\n---\nx`), "my-skill");
  const record = skill?.record;
  assert.deepEqual(findings, []);
  assert.deepEqual(
    [
      record?.license,
      record?.model,
      record?.effort,
      record?.context,
      record?.agent,
      record?.background,
      record?.shell,
    ],
    ["MIT", "inherit", "high", "fork", "Explore", false, "bash"],
  );
  assert.deepEqual(record?.paths, ["src/**", "test/*.ts"]);
  assert.deepEqual(record.disallowedTools, ["Bash(rm *)", "Write"]);
  assert.deepEqual(record.openclaw?.envVars, [{ name: "KEY", required: true, description: "" }]);
  assert.deepEqual(record.openclaw.aliases, ["clawdbot"]);
  assert.deepEqual({ ...record.unknown }, { risk: "low" });
});

test("hooks of a broken frontmatter are left out, and disallowed tools that cannot be read are all", () => {
  const hooks =
    "name: my-skill\ndescription: Use: it\nhooks: { Stop: [x] }\ndisallowed-tools: Write";
  const repaired = parseSkillFile(Buffer.from(`---\n${hooks}\n---\nx`), "my-skill");
  assert.equal(repaired.skill?.record?.hooks, null);
  assert.deepEqual(repaired.skill.record.disallowedTools, ["Write"]);
  assert.ok(repaired.findings.some(({ code }) => code === "authority_ignored"));
  const odd = parseSkillFile(
    Buffer.from(`---\n${GOOD}\ndisallowed-tools: { a: b }\n---\nx`),
    "my-skill",
  );
  assert.deepEqual(odd.skill?.record?.disallowedTools, ["*"]);
});
