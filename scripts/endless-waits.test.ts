import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
/** A loop, with its body when that is indented below it. */
const LOOP = /^( *)(?:while \(|do \{|for \(;;\)).*(?:\n(?:\1 +.*|\1\} while.*)?$)*/gm;
/** Matches what ends a loop whose condition never comes true; the owner of an object ends a loop over its own state. */
const LIMIT =
  /performance\.now|Date\.now|\bsignal\b|\.aborted|throw |assert|this\.#|\bon(?:ce|Line)\(/;

test("no test waits for ever: it polls with until(), which has a deadline and reports what it waited for", () => {
  const files = globSync(
    [
      "{libs,services,apps,test,bench,deploy}/**/*.test.ts",
      "{libs,services,apps}/**/{test,test-fixtures}/**/*.ts",
      "test/**/*.ts",
    ],
    { cwd: root, exclude: (name) => name === "node_modules" },
  );
  assert.ok(files.length > 300, "hardly any test was found");
  const found = [...new Set(files)].flatMap((file) =>
    endlessWaits(readFileSync(join(root, file), "utf8")).map((loop) => `${file}: ${loop}`),
  );
  assert.deepEqual(found, [], "use until() of @switchyard/local-servers/until");
});

test("finds a loop that waits without a limit, and no other", () => {
  assert.deepEqual(endlessWaits("  while (!(await ready())) await delay(5);\n  next();\n"), [
    "while (!(await ready())) await delay(5);",
  ]);
  assert.deepEqual(
    endlessWaits("for (;;) {\n  if (await ready()) return;\n  await delay(5);\n}\n"),
    ["for (;;) {"],
  );
  assert.deepEqual(
    endlessWaits("while (left > 0) left -= 1;\nconst x = await until(ready);\n"),
    [],
  );
  const limited =
    "  for (;;) {\n    if (await ready()) return;\n    assert.ok(Date.now() < end);\n  }\n";
  assert.deepEqual(endlessWaits(limited), []);
});

function endlessWaits(text: string): string[] {
  return [...text.matchAll(LOOP)]
    .map(([loop]) => loop.trim())
    .filter((loop) => loop.includes("await ") && !LIMIT.test(loop))
    .map((loop) => loop.split("\n")[0] ?? "");
}
