import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { root } from "./markdown-files.ts";

const text = readFileSync(join(root, "ARCHITECTURE.md"), "utf8");

test("the architecture is short enough to be read", () => {
  const bytes = Buffer.byteLength(text);
  assert.ok(bytes <= 16 * 1024, `${bytes} bytes; what is reference belongs into docs/`);
});

test("the README of each service, app and library is short enough to be read", () => {
  const readmes = globSync("{apps,libs,services}/*/README.md", { cwd: root });
  assert.ok(readmes.length > 10, `${readmes.length} were found`);
  const long = readmes
    .map((path) => ({ path, bytes: readFileSync(join(root, path)).length }))
    .filter(({ bytes }) => bytes > 12 * 1024);
  assert.deepEqual(long, [], "what is reference belongs into docs/");
});

test("the glossary has at most forty words, in order", () => {
  const glossary = text.slice(text.indexOf("\n## Words\n"));
  const words = [...glossary.matchAll(/^- \*\*(.+?)\*\*(?: \(.+?\))?: /gm)].map(
    ([, word = ""]) => word,
  );
  assert.ok(words.length > 20 && words.length <= 40, `${words.length} words`);
  const ordered = words.toSorted((one, other) => one.localeCompare(other, "en"));
  assert.deepEqual(words, ordered);
});
