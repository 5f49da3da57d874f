import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { test } from "node:test";
import { boundOf, redisBounds } from "./redis-bounds.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const files = globSync("{services/*,libs/{service,audit,tool-provider}}/src/**/*.ts", {
  cwd: root,
}).filter((file) => !/\.test\.ts$|test-/.test(file));
/** A string that begins like a key, and is no pattern. */
const LITERAL = /["`](yard:(?:[^"`$]|\$\{(?:[^{}`]|`[^`]*`)*\})*)["`]/g;
/** A channel, which stores nothing, and keys of the importer and the gateway whose kind is computed, which have rows for each kind. */
const OTHERS = new Set(["yard:mcp:pins-written", "yard:x:{x}:x", "yard:gateway:{x:x}"]);

/** Key texts of the sources, with `x` for each part that is computed. */
function keysInSources(): string[] {
  const keys = files.flatMap((file) => {
    const text = readFileSync(join(root, file), "utf8").replaceAll(/^\s*(?:\*|\/\/|\/\*).*$/gm, "");
    return Array.from(text.matchAll(LITERAL), ([, key = ""]) =>
      key.replaceAll(/\$\{(?:[^{}`]|`[^`]*`)*\}/g, "x"),
    );
  });
  return [...new Set(keys)].filter((key) => !OTHERS.has(key) && !key.includes(" "));
}

test("each kind of key that a service writes has a bound, and a part of the system that deletes it", () => {
  const keys = keysInSources();
  assert.ok(keys.length > 60, String(keys.length));
  // A prefix that a file completes elsewhere has a row when its completions have.
  const patterns = redisBounds.flatMap((row) => row.keys);
  const isPrefix = (key: string) =>
    key.endsWith(":") && patterns.some((pattern) => pattern.startsWith(key));
  assert.deepEqual(
    keys.filter((key) => boundOf(key) === undefined && !isPrefix(key)),
    [],
  );
});

test("each kind is listed once", () => {
  const patterns = redisBounds.flatMap(({ keys }) => keys);
  assert.deepEqual(patterns.toSorted(), [...new Set(patterns)].toSorted());
});
