import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseYamlByLibrary } from "./safe-yaml.ts";
import { parseSimpleYaml } from "./simple-yaml.ts";

/** What the library makes of a text; undefined when it refuses it. */
function byLibrary(text: string): unknown {
  const parsed = parseYamlByLibrary(text, { schema: "failsafe" });
  return "problem" in parsed ? undefined : parsed.values;
}

const readHere = [
  "name: my-skill\ndescription: Does it, and more (see x) 😀.\n",
  "a: \"quoted: text # here\"\nb: 'it: is'\n\n# a comment\nc: http://x.y/z#part\n",
  'tags:\n  - one\n  - "two: x"\nmore:\n- a\n- b\n',
  'metadata: {"openclaw":{"emoji":"x","requires":{"bins":["git","jq"]},"always":true}}\n',
  "tools: [Read, Grep, Write]\nnone: []\nempty: {}\n",
  "metadata:\n  author: me\n  nested:\n    deep: 1.0\n  last: x\nend: y\n",
  "description: >\n  folded text\n  goes on: here\nname: x\n",
  "description: |-\n  literal # text\n  - goes on\n",
  "wallet: 0x7962\nversion: 1.0\ndate: 2024-01-01\nflag: yes\nnothing: null\n",
];

for (const text of readHere) {
  test(`reads as the library does: ${JSON.stringify(text).slice(0, 50)}`, () => {
    const values = parseSimpleYaml(text);
    assert(values);
    assert.deepEqual(values, byLibrary(text));
  });
}

const leftToTheLibrary = [
  "description: Use when: raining\n",
  "a: x #y\n",
  "a: one\n  two\n",
  "a: x\na: y\n",
  "__proto__: x\n",
  "constructor: x\n",
  'a: {"constructor": "x"}\n',
  "a: &x y\n",
  "a: *x\n",
  "a: !t x\n",
  'a: "\\n"\n',
  "a:\n",
  "a: >\n  x\n\n  y\n",
  "a:\tx\n",
  "- a\n",
  "--- \na: x\n",
  "a: [b] c\n",
  "a: [x\n",
  "",
];

for (const text of leftToTheLibrary) {
  test(`leaves to the library: ${JSON.stringify(text)}`, () => {
    assert.equal(parseSimpleYaml(text), null);
  });
}

const piece = fc.constantFrom(
  ...'name:|description:|a: |  b: |    c:| - |- |  - |x|yes|1.0|\n|\n|\n|\n  |\n    |"|\'|: |#| #|, |,|{|}|[|]|"k":|"k": |>|>-|\\||\\|-| |  |:|-|---|...|?|? |&a|*a|!t|%|@|`|é|\t|\\|<<: |key: v\n|key: v|list:\n|- i\n|  - i\n|# c\n'.split(
    "|",
  ),
  "|",
  "|-",
);

test("never reads a text in another way than the library, whatever it is made of", () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 14 }), (pieces) => {
      const text = `${pieces.join("")}\n`;
      const values = parseSimpleYaml(text);
      if (values !== null) assert.deepEqual(values, byLibrary(text), text);
    }),
    { numRuns: 20_000 },
  );
});

test("never reads values in another way than the library", () => {
  const value = fc.oneof(
    fc.string(),
    fc.array(piece, { maxLength: 5 }).map((pieces) => pieces.join("")),
    fc.json(),
  );
  fc.assert(
    fc.property(
      fc.array(value, { minLength: 1, maxLength: 3 }),
      fc.boolean(),
      (values, isNested) => {
        const lines = values.map((text, n) => `${isNested ? "  " : ""}k${n}: ${text}\n`);
        const text = `${isNested ? "top:\n" : ""}${lines.join("")}`;
        const read = parseSimpleYaml(text);
        if (read !== null) assert.deepEqual(read, byLibrary(text), text);
      },
    ),
    { numRuns: 5_000 },
  );
});
