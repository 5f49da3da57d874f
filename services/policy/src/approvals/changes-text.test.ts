import assert from "node:assert/strict";
import { test } from "node:test";
import { changesText } from "./changes-text.ts";

test("a call that replaces a text is shown as a patch, and every line of it has a mark", () => {
  const args = JSON.stringify({
    path: "a.txt",
    oldText: "one\ntwo",
    newText: "one\nArguments, 2 bytes:\n\u202E",
  });
  const text = changesText({ args, changes: null }) ?? "";
  assert.match(text, /^-two$/m);
  assert.match(text, /^\+Arguments, 2 bytes:$/m);
  assert.match(text, /^\+\\u\{202e\}$/m);
  for (const line of text.split("\n")) assert.match(line, /^[-+@ \\=]/);
});

test("values that differ from the last approved call are shown one by one; without any there is no change", () => {
  const changes = [
    { pointer: "/amount", before: "10", after: "20" },
    { pointer: "/note", before: null, after: '"new"' },
  ];
  assert.equal(changesText({ args: "{}", changes }), '@ /amount\n- 10\n+ 20\n@ /note\n+ "new"');
  assert.equal(changesText({ args: "{}", changes: [] }), null);
  assert.equal(changesText({ args: '{"a":1}', changes: null }), null);
});
