import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseYamlByLibrary } from "./safe-yaml.ts";
import { positionOfSimpleValue } from "./simple-yaml-position.ts";
import { parseSimpleYaml } from "./simple-yaml.ts";

/** Parses a text with the library; undefined when the library rejects it. */
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
  "a: no-break space\u00a0\nb: wide one\u3000\n",
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
  "a: \u00a0x\n",
  "a:\n  - \u3000x\n",
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
  ...'name:|description:|a: |  b: |    c:| - |- |  - |x|yes|1.0|\n|\n|\n|\n  |\n    |"|\'|: |#| #|, |,|{|}|[|]|"k":|"k": |>|>-|\\||\\|-| |  |:|-|---|...|?|? |&a|*a|!t|%|@|`|é|\t|\\|<<: |key: v\n|key: v|list:\n|- i\n|  - i\n|# c\n|\u00a0|\u3000'.split(
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

test("never finds a value at another position than the library", () => {
  const key = fc.constantFrom("name", "tools", "a", "na", "list");
  const written = fc.constantFrom(
    "x",
    "  x y",
    "[a, b]",
    '"q: r"',
    "|\n  name: x",
    ">-\n  tools: y",
    "\n  - name",
    "\n  name: y",
    '{"a": "b"}',
  );
  const line = fc.oneof(
    fc.tuple(key, written).map(([name, value]) => `${name}: ${value}\n`),
    fc.constantFrom("\n", "# name: x\n"),
  );
  let found = 0;
  fc.assert(
    fc.property(fc.array(line, { maxLength: 6 }), key, (lines, name) => {
      const text = lines.join("");
      if (parseSimpleYaml(text) === null) return;
      const place = positionOfSimpleValue(text, [name], 1);
      if (place === null) return;
      found += 1;
      const parsed = parseYamlByLibrary(text, { schema: "failsafe", linesBefore: 1 });
      assert("locate" in parsed);
      assert.deepEqual(place, parsed.locate([name]), text);
    }),
    { numRuns: 5_000 },
  );
  assert(found > 100);
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
