import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const own = new Set(["zod"]);

test("no library of a provider is loaded before an account uses it", () => {
  const files = globSync("**/*.ts", { cwd: import.meta.dirname }).filter(
    (name) => !name.endsWith(".test.ts"),
  );
  const loaded = files.flatMap((file) =>
    [
      ...readFileSync(join(import.meta.dirname, file), "utf8").matchAll(
        /^(?:import|export) (?!type )[^;]*? from "([^".][^"]*)";/gm,
      ),
    ]
      .map(([, name = ""]) => name)
      .filter(
        (name) => !name.startsWith("node:") && !name.startsWith("@switchyard/") && !own.has(name),
      )
      .map((name) => `${file} imports ${name}`),
  );
  assert.ok(files.includes("adapter-list.ts"));
  assert.deepEqual(loaded, []);
});
