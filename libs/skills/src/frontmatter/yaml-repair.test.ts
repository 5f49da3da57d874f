import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { balancedFlow } from "./balance-flow.ts";
import { parseSkillFile } from "../skill/skill-file.ts";

function fileOf(frontmatter: string): Buffer {
  return Buffer.from(`---\n${frontmatter}\n---\nThe body.`);
}

function parse(frontmatter: string) {
  return parseSkillFile(fileOf(frontmatter), "my-skill");
}

/** Mistakes of real authors, with the repaired description, hint or metadata. */
const repairs: readonly {
  text: string;
  code: string;
  line: number;
  after?: string;
  is?: Record<string, unknown>;
}[] = [
  {
    text: "name: my-skill\ndescription: Use this when: it rains",
    code: "repaired_quotes",
    line: 3,
    after: "description: 'Use this when: it rains'",
    is: { description: "Use this when: it rains" },
  },
  {
    text: "description: It's for: you\nallowed-tools: Read",
    code: "repaired_quotes",
    line: 2,
    after: "description: 'It''s for: you'",
    is: { description: "It's for: you", allowedTools: ["Read"] },
  },
  {
    text: 'description: "a "quoted" word: here"',
    code: "repaired_quotes",
    line: 2,
    is: { description: 'a "quoted" word: here' },
  },
  {
    text: "description: Use when: it rains\n  and pours\nargument-hint: x",
    code: "repaired_quotes",
    line: 2,
    is: { description: "Use when: it rains and pours", argumentHint: "x" },
  },
  {
    text: "description: goes on\nat the margin\nargument-hint: x",
    code: "repaired_quotes",
    line: 2,
    is: { description: "goes on at the margin", argumentHint: "x" },
  },
  {
    text: "argument-hint: [date] [duration]",
    code: "repaired_quotes",
    line: 2,
    is: { argumentHint: "[date] [duration]" },
  },
  {
    text: "description: @Observable…",
    code: "repaired_quotes",
    line: 2,
    is: { description: "@Observable…" },
  },
  {
    text: "description: `code` first",
    code: "repaired_quotes",
    line: 2,
    is: { description: "`code` first" },
  },
  {
    text: "description: , first",
    code: "repaired_quotes",
    line: 2,
    is: { description: ", first" },
  },
  { text: "description: %x", code: "repaired_quotes", line: 2, is: { description: "%x" } },
  { text: "description: &x y", code: "repaired_quotes", line: 2, is: { description: "&x y" } },
  {
    text: "description: !important",
    code: "repaired_quotes",
    line: 2,
    is: { description: "!important" },
  },
  { text: "allowed-tools: *", code: "repaired_quotes", line: 2, is: { allowedTools: ["*"] } },
  {
    text: "paths: **/*.ts\nargument-hint: x",
    code: "repaired_quotes",
    line: 2,
    is: { argumentHint: "x" },
  },
  { text: "dependencies: [@motion-canvas/core>=3.0.0]", code: "repaired_quotes", line: 2 },
  {
    text: "tags: [one, two\nargument-hint: x",
    code: "repaired_json",
    line: 2,
    after: "tags: [one, two]",
  },
  {
    text: "name: a\nname: my-skill",
    code: "repaired_duplicate_key",
    line: 3,
    is: { name: "my-skill" },
  },
];

for (const { text, code, line, after, is } of repairs) {
  test(`repairs ${JSON.stringify(text).slice(0, 60)}`, () => {
    const { skill, findings } = parse(text);
    assert(skill, JSON.stringify(findings));
    assert.equal(skill.repaired, true);
    assert.equal(skill.needsReview, true);
    const expected = `sha256:${createHash("sha256").update(fileOf(text)).digest("hex")}`;
    assert.equal(skill.digest, expected);
    const [finding] = findings;
    assert(finding);
    assert.deepEqual([finding.severity, finding.code, finding.line], ["warning", code, line]);
    assert.equal(finding.excerpt, text.split("\n")[line - 2]);
    if (after !== undefined) assert.equal(finding.patch?.after, after);
    for (const [field, value] of Object.entries(is ?? {})) {
      assert.deepEqual(Object.entries(skill).find(([key]) => key === field)?.[1], value);
    }
  });
}

test("completes one-line JSON that lost its end", () => {
  const { skill, metadata } = parse(
    'metadata: {"clawdbot":{"requires":{"bins":\\["curl"]}\nname: my-skill',
  );
  assert.equal(skill?.repaired, true);
  assert.deepEqual(JSON.parse(JSON.stringify(metadata)), {
    clawdbot: { requires: { bins: ["curl"] } },
  });
});

test("repairs more than one mistake, each with its own patch", () => {
  const { skill, findings } = parse("description: a: b\nargument-hint: [a] [b]\nname: my-skill");
  assert.equal(skill?.argumentHint, "[a] [b]");
  assert.deepEqual(
    findings.map(({ patch }) => [patch?.line, patch?.before]),
    [
      [2, "description: a: b"],
      [3, "argument-hint: [a] [b]"],
    ],
  );
});

test("a patched file needs no repair any more", () => {
  for (const { text } of repairs) {
    const lines = `---\n${text}\n---\nThe body.`.split("\n");
    const patches = parse(text).findings.flatMap(({ patch }) =>
      patch === undefined ? [] : [patch],
    );
    for (const { line, before, after } of patches.toReversed()) {
      const count = before.split("\n").length;
      assert.equal(lines.slice(line - 1, line - 1 + count).join("\n"), before);
      lines.splice(line - 1, count, after);
    }
    if (patches.length === 0) continue;
    const { skill } = parseSkillFile(Buffer.from(lines.join("\n")), "my-skill");
    assert.equal(skill?.repaired, undefined, text);
  }
});

test("reads known fields line by line as the last resort, and requests a review", () => {
  const { skill, findings, metadata } = parse(
    'name: my-skill\ndescription: d\nallowed-tools:\n  - Read\nmetadata:\n  always: true\n bad\n"x',
  );
  assert.equal(skill?.needsReview, true);
  assert.deepEqual(skill.allowedTools, ["Read"]);
  assert.equal(skill.description, "d");
  assert.equal(metadata, null);
  assert.equal(findings[0]?.code, "repaired_known_fields");
});

/** A line after which only the known fields can be read. */
const HOPELESS = "\nkind: x\n- stray";

for (const [what, text, description] of [
  [
    "a quoted text on several lines",
    '"第一行：说明。\n触发词：写作"',
    "第一行：说明。 触发词：写作",
  ],
  ["a quoted text with an empty line", '"写作\n\n更多内容"', "写作 更多内容"],
  ["a heading in quotes", "'写作\n# 用法\n更多'", "写作 # 用法 更多"],
  [
    "a text that goes on at the margin",
    "写作助手: 说明\n支持多种格式",
    "写作助手: 说明 支持多种格式",
  ],
  ["a block that is not indented", "|\n第一行\n\n第二行", "第一行 第二行"],
  ["quotes in quotes", '"这是一个"智能"助手"', '这是一个"智能"助手'],
  ["a quote that nothing closes", '"写作助手，支持多种格式', "写作助手，支持多种格式"],
  ["a quote that nothing opens", '写作助手，支持多种格式"', "写作助手，支持多种格式"],
  ["a text that begins with a quotation", '"写作助手"，支持: 格式', '"写作助手"，支持: 格式'],
  ["a comment below", "写作: 助手\n# 备注", "写作: 助手"],
] as const) {
  test(`keeps ${what} whole where only known fields can be read`, () => {
    const { skill, findings } = parse(`name: my-skill\ndescription: ${text}${HOPELESS}`);
    assert.ok(findings.some(({ code }) => code === "repaired_known_fields"));
    assert.equal(skill?.description, description);
  });
}

test("leaves no stray quote where a text is put in quotes", () => {
  const { skill } = parse('name: my-skill\ndescription: "写作助手，支持多种格式');
  assert.equal(skill?.description, "写作助手，支持多种格式");
});

test("reads a full-width colon after a known field as a colon, also for restrictions", () => {
  const { skill, findings } = parse(
    "name：my-skill\ndescription：写作助手：支持多种格式\nuser-invocable：false\nallowed-tools： Read",
  );
  assert.deepEqual(
    [skill?.description, skill?.userInvocable, skill?.allowedTools],
    ["写作助手：支持多种格式", false, ["Read"]],
  );
  assert.deepEqual(
    findings.filter(({ severity }) => severity === "warning").map(({ code, line }) => [code, line]),
    [2, 3, 4, 5].map((line) => ["repaired_colon", line]),
  );
  const broken = parse(`name: my-skill\ndescription：写作${HOPELESS}`);
  assert.equal(broken.skill?.description, "写作");
});

for (const [what, text, code] of [
  [
    "a git conflict",
    "<<<<<<< Updated upstream\nname: a\n=======\nname: b\n>>>>>>> x",
    "merge_conflict",
  ],
  ["a key that could mean more than it says", "__proto__: x\nname: my-skill", "forbidden_key"],
  ["fields that nobody knows", "title: a\n- [\nkind: x", "invalid_yaml"],
] as const) {
  test(`does not guess at ${what}`, () => {
    const { skill, findings } = parse(text);
    assert.equal(skill, null);
    assert.equal(findings[0]?.code, code);
  });
}

test("reads Markdown between two rules as the body, because no line of it is a field", () => {
  const { skill, findings } = parse("\n**Name:** talk\n\nHelps with talking.\n");
  assert.equal(skill?.needsReview, true);
  assert.equal(skill.name, "my-skill");
  assert.equal(skill.body, "**Name:** talk\n\nHelps with talking.\n\n\nThe body.");
  assert.deepEqual(
    findings.map(({ code }) => code),
    ["repaired_no_fields"],
  );
  const restricted = parse("Some text (allowed-tools: Read) and\n[ more");
  assert.deepEqual(restricted.skill?.allowedTools, []);
});

test("takes the line that ends the frontmatter also when a text follows on it", () => {
  const text =
    "---\nname: my-skill\nallowed-tools: Read\nhooks:\n  a: b\n---# Heading\n\nThe body.";
  const { skill, findings, conformance } = parseSkillFile(Buffer.from(text), "my-skill");
  assert.equal(skill?.body, "# Heading\n\nThe body.");
  assert.deepEqual([skill.repaired, skill.needsReview], [true, true]);
  assert.deepEqual(skill.allowedTools, ["Read"]);
  assert.equal(skill.record?.hooks, null);
  assert.deepEqual([findings[0]?.code, findings[0]?.line], ["repaired_delimiter", 6]);
  assert.ok(conformance.every(({ conforms }) => !conforms));
});

test("a repaired file's grants are ignored, and a review is requested", () => {
  const { skill, metadata, findings } = parse(
    "description: Use when: x\nhooks:\n  Stop: x\ncommand-dispatch: tool\ncommand-tool: exec\nallowed-tools: Read\ndisallowed-tools: Bash\nmetadata:\n  openclaw:\n    always: true\n    emoji: x",
  );
  assert.equal(skill?.needsReview, true);
  assert.equal(skill.record?.hooks, null);
  assert.equal(skill.dispatch, undefined);
  assert.deepEqual(skill.allowedTools, ["Read"]);
  assert.deepEqual(skill.record?.disallowedTools, ["Bash"]);
  assert.equal(JSON.stringify(metadata), '{"openclaw":{"emoji":"x"}}');
  const ignored = findings.filter(({ code }) => code === "authority_ignored");
  assert.deepEqual(
    ignored.map(({ message }) => message.split(":")[0]),
    ["hooks", "metadata", "command-dispatch"],
  );
});

test("long and deep nonsense is not retried in a loop, and the known fields are still found", () => {
  const deep = parse(`name: my-skill\na: ${"[".repeat(12_000)}`);
  assert.equal(deep.findings[0]?.code, "repaired_known_fields");
  const many = Array.from({ length: 100 }, (_, n) => `k${n}: a: ${"b".repeat(100)}`).join("\n");
  assert.equal(parse(`name: my-skill\n${many}`).skill?.needsReview, true);
});

test("a restriction that a repair swallowed, or that occurs twice, counts in its strictest reading", () => {
  const swallowed = parse(
    "description: Use when: x\n  disable-model-invocation: true\n  allowed-tools: Read",
  );
  assert.equal(swallowed.skill?.modelInvocable, false);
  assert.deepEqual(swallowed.skill.allowedTools, []);
  const twice = parse("user-invocable: false\nuser-invocable: true");
  assert.equal(twice.skill?.userInvocable, false);
});

const anyLine = fc.oneof(
  fc.constantFrom(
    "description: a: b",
    "argument-hint: [a] [b]",
    'metadata: {"openclaw":{"always":true',
    "metadata: {",
    "name: 'x",
    '"open',
    "  further in",
    "margin text",
    'description: "',
    'it"',
    "name：x",
    "description: |",
    "description: >",
    "x: *y",
    "tags: [a,",
    "- item",
    "name: a",
    "",
    "\ttab",
  ),
  fc.string({ maxLength: 12 }),
);
const restriction = fc.constantFrom(
  "disable-model-invocation: true",
  "user-invocable: false",
  "allowed-tools: Read",
  "  allowed_tools: [Read]",
  "disableModelInvocation: true",
  "user-invocable: 'no'",
);

test("a repaired file never grants more than any restriction in its text", () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof({ weight: 3, arbitrary: anyLine }, { weight: 2, arbitrary: restriction }), {
        minLength: 1,
        maxLength: 7,
      }),
      (lines) => {
        const text = lines.join("\n");
        const { skill } = parse(text);
        if (skill?.repaired !== true) return;
        if (/disable-?model-?invocation: true/i.test(text))
          assert.equal(skill.modelInvocable, false, text);
        if (/user-invocable: (?:false|'no')/.test(text))
          assert.equal(skill.userInvocable, false, text);
        if (/allowed[-_]tools/.test(text)) {
          assert(skill.allowedTools !== null, text);
          // A line that YAML itself folds into the value belongs to it.
          if (/allowed[-_]tools: .*\n+ /.test(text)) return;
          assert.deepEqual(
            skill.allowedTools.filter((tool) => tool !== "Read"),
            [],
            text,
          );
        }
      },
    ),
    { numRuns: 3_000 },
  );
});

for (const [broken, whole] of [
  ['{"a":["b"', '{"a":["b"]}'],
  ['{"a":"b', '{"a":"b"}'],
  ['{"a":\\["b"]}}', '{"a":["b"]}'],
  ['{"a":["b"}', '{"a":["b"]}'],
  ['{"a":"}]"}', '{"a":"}]"}'],
  ["{'it''s': [a,", "{'it''s': [a]}"],
] as const) {
  test(`balances ${broken}`, () => assert.equal(balancedFlow(broken), whole));
}
