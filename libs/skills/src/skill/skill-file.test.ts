import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { parseSkillFile } from "./skill-file.ts";

function parse(text: string, directoryName = "my-skill") {
  return parseSkillFile(Buffer.from(text), directoryName);
}

function load(text: string, directoryName = "my-skill") {
  const { skill, findings, metadata } = parse(text, directoryName);
  assert(skill, findings.map((finding) => finding.message).join("; "));
  return { skill, metadata, codes: findings.map((finding) => finding.code) };
}

test("reads all fields of a full file [D58]", () => {
  const text = [
    "---",
    "name: my-skill",
    "description: >",
    "  Does a thing.",
    "  Use it often.",
    "version: 2.0.0",
    "user-invocable: no",
    "disable-model-invocation: true",
    "allowed-tools: Read, Bash(git add:*) mcp__files__*",
    "argument-hint: [file] ",
    "arguments: [path, depth]",
    "metadata:",
    "  openclaw: { emoji: x }",
    "---",
    "",
    "# My skill",
    "",
    "    indented code",
    "",
  ].join("\n");
  const { skill, metadata, codes } = load(text);
  const { record, ...plain } = skill;
  assert.deepEqual([record?.openclaw?.emoji, record?.version], ["x", "2.0.0"]);
  assert.deepEqual(plain, {
    name: "my-skill",
    description: "Does a thing. Use it often.",
    digest: `sha256:${createHash("sha256").update(text).digest("hex")}`,
    userInvocable: false,
    modelInvocable: false,
    allowedTools: ["Read", "Bash(git add:*)", "mcp__files__*"],
    argumentHint: "[file]",
    body: "# My skill\n\n    indented code",
    arguments: ["path", "depth"],
    plan: null,
  });
  assert.deepEqual(JSON.parse(JSON.stringify(metadata)), { openclaw: { emoji: "x" } });
  assert.deepEqual(codes, []);
});

test("variables is the older name of arguments, and the newer one takes precedence [D4]", () => {
  const older = load(
    "---\nname: my-skill\ndescription: d\nvariables: [from, to]\n---\n$from",
  ).skill;
  assert.deepEqual(older.arguments, ["from", "to"]);
  const both = "---\nname: my-skill\ndescription: d\nvariables: [old]\narguments: [new]\n---\n";
  assert.deepEqual(load(both).skill.arguments, ["new"]);
});

test("gives a minimal file with an empty body the defaults [B6, D4, D9, D58, DR3]", () => {
  const { skill } = load("---\nname: my-skill\ndescription: d\n---\n");
  assert.equal(skill.userInvocable, true);
  assert.equal(skill.modelInvocable, true);
  assert.equal(skill.allowedTools, null);
  assert.equal(skill.argumentHint, null);
  assert.deepEqual(skill.arguments, []);
  assert.equal(skill.body, "");
});

test("reads a file without frontmatter as the prompt, with the directory's name and the first paragraph [D7, D58]", () => {
  const { skill } = load("# Title\n\nFirst line\nsecond line.\n\nMore.", "Web_Search Tool");
  assert.equal(skill.name, "web-search-tool");
  assert.equal(skill.description, "First line second line.");
  assert.equal(skill.body, "# Title\n\nFirst line\nsecond line.\n\nMore.");
});

test("fills in a missing name and cuts the first paragraph at 200 characters [D8, DR2]", () => {
  const { skill } = load(`---\nversion: 1.0\n---\n${"ä😀".repeat(150)}`);
  assert.equal(skill.name, "my-skill");
  assert.equal(skill.description, "ä😀".repeat(100));
});

test("uses a heading as the description only when there is no paragraph", () => {
  assert.equal(load("# Only a title").skill.description, "Only a title");
  const { skill, codes } = load("---\nname: my-skill\n---\n");
  assert.equal(skill.description, "");
  assert.deepEqual(codes, ["no_description"]);
});

test("reads variables as names for arguments, where there are no arguments [D4]", () => {
  const { skill, codes } = load("---\nname: my-skill\nvariables: [topic, depth]\n---\n$topic");
  assert.deepEqual(skill.arguments, ["topic", "depth"]);
  assert.deepEqual(skill.record?.unknown, {});
  assert.deepEqual(codes, []);
  const both = load("---\nname: my-skill\nvariables: [a]\narguments: [b]\n---\nx").skill;
  assert.deepEqual(both.arguments, ["b"]);
  const odd = load("---\nname: my-skill\nvariables: { a: b }\n---\nx");
  assert.deepEqual([odd.skill.arguments, odd.codes], [[], ["invalid_field"]]);
});

test("ignores unknown fields without a finding [B7]", () => {
  const { codes } = load(
    "---\nname: my-skill\ndescription: d\nauthor: me\ntags: [a]\nversion: 1.0\n---\nx",
  );
  assert.deepEqual(codes, []);
});

test("skips broken YAML with the directory, the line and the column [D9, D57]", () => {
  const { skill, findings } = parse("---\nkind: x\n- of the thing\n---\nbody");
  assert.equal(skill, null);
  const [finding] = findings;
  assert(finding);
  assert.equal(finding.severity, "error");
  assert.match(finding.message, /^skill\/my-skill: invalid YAML/);
  assert.deepEqual([finding.line, finding.column], [3, 1]);
  assert.equal(finding.excerpt, "- of the thing");
});

test("skips an unterminated frontmatter [D9, D58]", () => {
  const { skill, findings } = parse("---\nname: my-skill\n");
  assert.equal(skill, null);
  assert.match(findings[0]?.message ?? "", /^skill\/my-skill: unterminated YAML frontmatter/);
});

test("returns the same findings for a broken file each time it is parsed [BR5] [complaint-8]", () => {
  const text = "---\nk: x\n- [\n---\nbody";
  assert.deepEqual(parse(text), parse(text));
  assert.equal(parse(text).skill, null);
});

test("never runs code from a frontmatter that declares JavaScript [BR4, B3, X17]", () => {
  const { skill, codes } = load("---js\n{ name: globalThis.pwned = 'x' }\n---\nbody");
  assert.equal(Object.hasOwn(globalThis, "pwned"), false);
  assert.equal(skill.name, "my-skill");
  assert.deepEqual(codes, ["frontmatter_not_recognised"]);
});

test("reads files from Windows: byte order mark and CRLF [DR13]", () => {
  const { skill } = load(
    "\uFEFF---\r\nname: my-skill\r\ndescription: d\r\n---\r\nline\r\nline\r\n",
  );
  assert.equal(skill.description, "d");
  assert.equal(skill.body, "line\nline");
});

const names: readonly { name: string; directory: string; slug: string; codes: string[] }[] = [
  {
    name: "My Skill_two",
    directory: "my-skill-two",
    slug: "my-skill-two",
    codes: ["name_changed"],
  },
  {
    name: "ＰＤＦ\u200B tools",
    directory: "pdf-tools",
    slug: "pdf-tools",
    codes: ["name_changed"],
  },
  {
    name: "plugin:skill",
    directory: "x",
    slug: "plugin-skill",
    codes: ["name_changed", "name_differs"],
  },
  { name: "../../etc/passwd", directory: "evil", slug: "evil", codes: ["invalid_name"] },
  { name: "a\\\\b", directory: "win", slug: "win", codes: ["invalid_name"] },
  { name: "技能", directory: "jineng", slug: "jineng", codes: ["invalid_name"] },
  { name: "天气 api", directory: "weather", slug: "weather", codes: ["invalid_name"] },
  { name: "天气 api", directory: "天气", slug: "api", codes: ["invalid_name"] },
  // Cyrillic letters that look like Latin ones.
  { name: "реsеt", directory: "tool", slug: "tool", codes: ["invalid_name"] },
  {
    name: "Größe Łódź",
    directory: "x",
    slug: "grosse-lodz",
    codes: ["name_changed", "name_differs"],
  },
  {
    name: "x".repeat(80),
    directory: "x".repeat(80),
    slug: "x".repeat(64),
    codes: ["name_changed"],
  },
];

for (const { name, directory, slug, codes } of names) {
  test(`names a skill called ${JSON.stringify(name.slice(0, 20))} ${slug.slice(0, 20)} [D49, X21]`, () => {
    const loaded = load(`---\nname: "${name}"\ndescription: d\n---\nx`, directory);
    assert.equal(loaded.skill.name, slug);
    assert.deepEqual(loaded.codes, codes);
  });
}

test("skips a file without any source of a name [B8, X21]", () => {
  const { skill, findings } = parse("---\ndescription: d\n---\nx", "技能");
  assert.equal(skill, null);
  assert.equal(findings[0]?.code, "no_usable_name");
});

test("slugs are always safe as a name, whatever the file contains [D49, X22, X35, SEC-SKILL-02]", () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (name, directory) => {
      const { skill } = parse(`---\nname: ${JSON.stringify(name)}\n---\n`, directory);
      if (skill !== null) assert.match(skill.name, /^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/);
    }),
  );
});

for (const [text, expected] of [
  ["yes", true],
  ["ON", true],
  ["1", true],
  ["'false'", false],
  ["Off", false],
] as const) {
  test(`reads the flag ${text} as ${expected}`, () => {
    const { skill } = load(`---\nuser_invocable: ${text}\ndescription: d\n---\nx`);
    assert.equal(skill.userInvocable, expected);
  });
}

test("uses the restrictive reading of authority that it cannot read [complaint-8]", () => {
  const { skill, codes } = load(
    "---\ndescription: d\nuser-invocable: maybe\ndisable-model-invocation: [x]\nallowed-tools: { a: b }\n---\nx",
  );
  assert.equal(skill.userInvocable, false);
  assert.equal(skill.modelInvocable, false);
  assert.deepEqual(skill.allowedTools, []);
  assert.deepEqual(codes, ["invalid_field", "invalid_field", "invalid_field"]);
});

test("accepts other spellings of a key, and prefers the exact one", () => {
  const { skill, codes } = load(
    "---\nuserInvocable: false\nargument_hint: a\nargument-hint: b\nallowed_tools: Read\nallowed-tools: Read\n---\nx",
  );
  assert.equal(skill.userInvocable, false);
  assert.equal(skill.argumentHint, "b");
  assert.deepEqual(skill.allowedTools, ["Read"]);
  assert.deepEqual(codes, []);
  assert.equal(load("---\nuser-invokable: false\n---\nx").skill.userInvocable, false);
});

test("reads two spellings of a restriction that differ as the strictest", () => {
  const { skill, codes } = load(
    "---\nuser-invocable: true\nuser_invocable: false\ndisable_model_invocation: true\ndisable-model-invocation: false\nallowedTools: Read\nallowed-tools: Bash\ndisallowed_tools: Read\ndisallowed-tools: Bash\n---\nx",
  );
  assert.equal(skill.userInvocable, false);
  assert.equal(skill.modelInvocable, false);
  assert.deepEqual(skill.allowedTools, []);
  assert.deepEqual(skill.record?.disallowedTools, ["*"]);
  assert.deepEqual(
    codes,
    Array.from({ length: 4 }, () => "invalid_field"),
  );
});

for (const opening of ["---js\n", "--- name: x\n", "```yaml\n", "<!-- c -->\n---\nname: x\n"]) {
  test(`keeps the restrictions of a frontmatter that begins with ${JSON.stringify(opening)}`, () => {
    const close = opening.startsWith("`") ? "```" : "---";
    const { skill } = load(
      `${opening}description: d\nallowed-tools: Read\nuser-invocable: false\ndisallowed-tools: Bash\n${close}\nbody`,
    );
    assert.deepEqual(skill.allowedTools, []);
    assert.equal(skill.userInvocable, false);
    assert.equal(skill.modelInvocable, true);
    assert.deepEqual(skill.record?.disallowedTools, ["*"]);
    assert.equal(skill.needsReview, true);
  });
}

test("a text that only shows a frontmatter is not restricted by it", () => {
  const shown = `# How to\n${"text\n".repeat(30)}---\nname: x\nallowed-tools: Read\n---\n`;
  const { skill, codes } = load(shown);
  assert.equal(skill.allowedTools, null);
  assert.deepEqual(codes, []);
});

for (const [written, expected] of [
  ["Read", ["Read"]],
  ["Read,Write", ["Read", "Write"]],
  ["Read Write", ["Read", "Write"]],
  ["[Read, ' Write ']", ["Read", "Write"]],
  ["Bash(git log:*), Bash(npm run *) Read", ["Bash(git log:*)", "Bash(npm run *)", "Read"]],
  ["[]", null],
  ["''", null],
] as const) {
  test(`reads allowed-tools ${written} [D5]`, () => {
    assert.deepEqual(load(`---\nallowed-tools: ${written}\n---\nx`).skill.allowedTools, expected);
  });
}

test("reads the name 123 as text and a list as no description [BR8]", () => {
  const { skill, codes } = load("---\nname: 123\ndescription: [a, b]\n---\nThe body.", "123");
  assert.equal(skill.name, "123");
  assert.equal(skill.description, "The body.");
  assert.deepEqual(codes, ["invalid_field"]);
});

test("refuses argument names that no placeholder can have", () => {
  const { skill, codes } = load("---\narguments: path 'a.b'\n---\nx");
  assert.deepEqual(skill.arguments, []);
  assert.deepEqual(codes, ["invalid_field"]);
});

test("reads metadata given as JSON text [B7]", () => {
  const { metadata } = load(`---\nmetadata: '{"openclaw":{"always":true}}'\n---\nx`);
  assert.deepEqual(metadata, { openclaw: { always: true } });
});

for (const [name, metadata] of [
  ["is above 8 KB", `{ a: ${"x".repeat(8_200)} }`],
  ["is nested deeper than 10 levels", `${"{ a: ".repeat(11)}x${" }".repeat(11)}`],
  ["is JSON nested deeper than 10 levels", `'${'{"a":'.repeat(11)}1${"}".repeat(11)}'`],
  ["is not a mapping", "[a, b]"],
  ["is text that is not valid JSON", "hello"],
] as const) {
  test(`drops metadata that ${name}, reports it, and loads the skill [D54, SEC-SKILL-07]`, () => {
    const loaded = load(`---\ndescription: d\nmetadata: ${metadata}\n---\nx`);
    assert.equal(loaded.metadata, null);
    assert.deepEqual(loaded.codes, ["metadata_dropped"]);
  });
}

test("keeps metadata of 10 levels [D54]", () => {
  const { metadata, codes } = load(
    `---\nmetadata: ${"{ a: ".repeat(10)}x${" }".repeat(10)}\n---\nx`,
  );
  assert.notEqual(metadata, null);
  assert.deepEqual(codes, []);
});

test("gives the values of a plan their types", () => {
  const { skill } = load(
    "---\nversion: 1.0\nplan:\n  steps:\n    - calls: [{ tool: t, with: { n: 3, on: true, none: null, text: '3' } }]\n  answer: done\n---\nx",
  );
  assert.deepEqual(JSON.parse(JSON.stringify(skill.plan)), {
    steps: [{ calls: [{ tool: "t", with: { n: 3, on: true, none: null, text: "3" } }] }],
    answer: "done",
  });
});

test("skips a skill with a bad plan and points at every mistake", () => {
  const { skill, findings } = parse(
    "---\nname: my-skill\nplan:\n  steps:\n    - calls: []\n  answr: x\n---\nbody",
  );
  assert.equal(skill, null);
  assert.deepEqual(
    findings.map(({ code, line }) => [code, line]),
    [
      ["invalid_plan", 5],
      ["invalid_plan", 4],
      ["invalid_plan", 4],
    ],
  );
});

test("warns of a body that a prompt will not hold [D50, X36, SEC-SKILL-03]", () => {
  assert.deepEqual(load(`# T\n${"x".repeat(33_000)}`).codes, ["long_body"]);
});

test("strips control characters from the description", () => {
  assert.equal(
    load('---\ndescription: "a\\e[31mb\\ud800"\n---\nx').skill.description,
    "a[31mb\uFFFD",
  );
});

test("never throws, and skips with an error or loads", () => {
  const line = fc.oneof(
    fc.constantFrom(
      "---",
      "name: x",
      "description: a: b",
      "plan: 1",
      "- x",
      "metadata: {",
      "allowed-tools: *",
    ),
    fc.string(),
  );
  fc.assert(
    fc.property(fc.array(line), fc.string(), (lines, directory) => {
      const { skill, findings } = parse(lines.join("\n"), directory);
      assert.equal(
        skill === null,
        findings.some(({ severity }) => severity === "error"),
      );
    }),
  );
});
