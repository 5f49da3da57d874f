import assert from "node:assert/strict";
import { test } from "node:test";
import { JsonTextError, parseLenientJson } from "./lenient-json.ts";

test("reads JSON with comments and trailing commas, as README files have it", () => {
  const text = `\uFEFF{
    // the server
    "mcpServers": { /* one */
      "a": { "command": "npx", "args": ["-y", "x",], "url": "https://a/*b*/", }, // "c": 1
    },
  }`;
  const a = { command: "npx", args: ["-y", "x"], url: "https://a/*b*/" };
  assert.deepEqual(parseLenientJson(text), { mcpServers: { a } });
  assert.deepEqual(parseLenientJson(String.raw`["a\"//b,]", 1.5e3, null]`), [
    'a"//b,]',
    1500,
    null,
  ]);
});

test("names the line and the column where it stops being JSON, and none of the text", () => {
  const faults: [string, RegExp][] = [
    ["", /^line 1, column 1: expected a value/],
    ["{\n  'a': 1\n}", /^line 2, column 3: expected a key in double quotes or \}$/],
    ['{\n  "a": 1\n  "b": 2\n}', /^line 3, column 3: expected a comma or the closing bracket$/],
    ['{"a" 1}', /^line 1, column 6: expected a colon$/],
    ['{"a": secret}', /^line 1, column 7: expected a value/],
    ['{"a": "no end\n}', /^line 1, column 7: expected a value/],
    ['{"a": [1, 2}', /^line 1, column 12: expected a comma or the closing bracket$/],
    ['{"a": 1', /^line 1, column 8: expected a comma or the closing bracket$/],
    ["// only a comment\n", /^line 2, column 1: expected a value/],
    ['{"a": 1} {"b": 2}', /^line 1, column 10: expected nothing more$/],
    ["[,1]", /^line 1, column 2: expected a value \(texts in double quotes\) or \]$/],
    ['{"a": 01}', /^line 1, column 7: expected a value/],
  ];
  for (const [text, place] of faults)
    assert.throws(
      () => parseLenientJson(text),
      (error) => error instanceof JsonTextError && place.test(error.message),
      text,
    );
});
