import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { stringify } from "yaml";
import { parseYaml, type YamlSchema } from "./safe-yaml.ts";

function problemOf(text: string, schema: YamlSchema = "failsafe") {
  const parsed = parseYaml(text, { schema });
  assert("problem" in parsed, "must be refused");
  return parsed.problem;
}

function valuesOf(text: string, schema: YamlSchema = "failsafe"): unknown {
  const parsed = parseYaml(text, { schema });
  assert("values" in parsed, "problem" in parsed ? parsed.problem.message : "");
  return JSON.parse(JSON.stringify(parsed.values));
}

test("keeps every scalar as it was written in the failsafe schema [BR8]", () => {
  const text =
    "version: 1.0\nwallet: 0x7962\ndate: 2026-02-01\nflag: yes\nmode: 0777\nnothing:\nname: 123";
  assert.deepEqual(valuesOf(text), {
    version: "1.0",
    wallet: "0x7962",
    date: "2026-02-01",
    flag: "yes",
    mode: "0777",
    nothing: "",
    name: "123",
  });
});

test("parses numbers, booleans and null as such in the core schema", () => {
  assert.deepEqual(valuesOf("a: 1.5\nb: true\nc:\nd: yes\n7: x", "core"), {
    a: 1.5,
    b: true,
    c: null,
    d: "yes",
    "7": "x",
  });
});

test("reads an empty text as an empty mapping", () => {
  assert.deepEqual(valuesOf(""), {});
  assert.deepEqual(valuesOf("# only a comment\n", "core"), {});
});

const refused: readonly { text: string; code: string; line: number; column: number }[] = [
  { text: "description: Use this when: it rains", code: "invalid_yaml", line: 1, column: 14 },
  { text: "name: x\nargument-hint: [date] [duration]", code: "invalid_yaml", line: 2, column: 23 },
  {
    text: 'metadata: {"clawdbot":{"requires":{"bins":\\["curl"',
    code: "invalid_yaml",
    line: 1,
    column: 44,
  },
  { text: "<<<<<<< Updated upstream\nname: x", code: "invalid_yaml", line: 1, column: 1 },
  { text: "dependencies: [@motion-canvas/core>=3.0.0]", code: "invalid_yaml", line: 1, column: 16 },
  { text: "description: @Observable state", code: "invalid_yaml", line: 1, column: 14 },
  { text: "allowed-tools: *", code: "invalid_yaml", line: 1, column: 16 },
  { text: "allowed-tools: *all", code: "yaml_alias", line: 1, column: 16 },
  { text: "a: &anchor 1", code: "yaml_anchor", line: 1, column: 12 },
  { text: "a: &anchor {}", code: "yaml_anchor", line: 1, column: 12 },
  { text: "a: !!js/function 'x'", code: "yaml_tag", line: 1, column: 18 },
  { text: "a: !!binary aGk=", code: "yaml_tag", line: 1, column: 13 },
  { text: "a: 1\nb: 2\na: 3", code: "duplicate_key", line: 3, column: 1 },
  { text: "a: 1\n__proto__: { polluted: yes }", code: "forbidden_key", line: 2, column: 1 },
  { text: "a: { constructor: { prototype: 1 } }", code: "forbidden_key", line: 1, column: 6 },
  { text: "? [a, b]\n: c", code: "invalid_key", line: 1, column: 3 },
  { text: "just words", code: "not_a_mapping", line: 1, column: 1 },
  { text: "- a\n- b", code: "not_a_mapping", line: 1, column: 1 },
];

for (const { text, ...expected } of refused) {
  test(`rejects ${JSON.stringify(text)} with its position [D9]`, () => {
    const { code, line, column } = problemOf(text);
    assert.deepEqual({ code, line, column }, expected);
  });
}

test("counts lines from the start of the file", () => {
  const parsed = parseYaml("a: 1\na: 2", { schema: "failsafe", linesBefore: 1 });
  assert("problem" in parsed);
  assert.equal(parsed.problem.line, 3);
});

test("advises how to fix an unquoted colon [BR6] [complaint-8]", () => {
  assert.match(problemOf("description: Use this when: it rains").message, /quotes/);
});

test("keeps a merge key as a plain key", () => {
  assert.deepEqual(valuesOf("<<: { a: 1 }\nb: 2"), { "<<": { a: "1" }, b: "2" });
});

test("returns values without a prototype", () => {
  const parsed = parseYaml("a: { b: c }", { schema: "failsafe" });
  assert("values" in parsed);
  assert.equal(Object.getPrototypeOf(parsed.values), null);
  assert.equal(Object.getPrototypeOf(parsed.values["a"]), null);
});

test("finds the position of a value, or of its nearest parent", () => {
  const parsed = parseYaml("a:\n  b:\n    - 1\n    - 2\n", { schema: "core" });
  assert("locate" in parsed);
  assert.deepEqual(parsed.locate(["a", "b", 1]), { line: 4, column: 7 });
  assert.deepEqual(parsed.locate(["a", "b", 9, "x"]), { line: 3, column: 5 });
  assert.deepEqual(parsed.locate(["absent"]), { line: 1, column: 1 });
});

const SIZE = 16 * 1024;
const hostile: Readonly<Record<string, string>> = {
  "an alias bomb [BR7]": [
    "a: &a [x, x, x, x, x, x, x, x, x]",
    ..."bcdefghi".split("").map((name, index) => {
      const previous = "abcdefgh"[index];
      return `${name}: &${name} [${Array(9).fill(`*${previous}`).join(",")}]`;
    }),
  ].join("\n"),
  "an anchor that holds itself": "a: &a [*a]",
  "13,000 keys in one flow mapping": `a: {${Array.from({ length: 13_000 }, (_, index) => `k${index}`).join(",")}}`,
  "2,000 keys on lines of their own": Array.from(
    { length: 2_000 },
    (_, index) => `k${index}: v`,
  ).join("\n"),
  "a deep flow sequence": `a: ${"[".repeat(SIZE / 2)}${"]".repeat(SIZE / 2)}`,
  "an open flow sequence": `a: ${"[".repeat(SIZE)}`,
  "a deep flow mapping": `a: ${"{a: ".repeat(SIZE / 4)}`,
  "a deep block sequence": `a:\n${" - ".repeat(SIZE / 3)}x`,
  "a deep block mapping": Array.from({ length: 170 }, (_, level) => `${" ".repeat(level)}a:`).join(
    "\n",
  ),
  "a chain of colons": `a: ${"b: ".repeat(SIZE / 3)}`,
};

for (const [name, text] of Object.entries(hostile)) {
  test(`refuses ${name} [D48, SEC-SKILL-01]`, () => {
    assert.equal(problemOf(text).severity, "error");
    assert.equal(problemOf(text, "core").severity, "error");
  });
}

test("pollutes no prototype, whatever the text", () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 200 }), (text) => {
      parseYaml(`__proto__: x\n${text}`, { schema: "core" });
      parseYaml(text, { schema: "failsafe" });
      assert.equal(Object.keys(Object.prototype).length, 0);
    }),
  );
});

test("parses back any text that was written", () => {
  const value = fc.dictionary(
    fc
      .string({ minLength: 1 })
      .filter((key) => !["__proto__", "constructor", "prototype"].includes(key)),
    fc.oneof(fc.string(), fc.array(fc.string(), { maxLength: 4 })),
    { maxKeys: 8 },
  );
  fc.assert(
    fc.property(value, (written) => {
      const text = stringify(written, {
        schema: "core",
        defaultStringType: "QUOTE_DOUBLE",
        lineWidth: 0,
      });
      assert.deepEqual(valuesOf(text), JSON.parse(JSON.stringify(written)));
    }),
  );
});
