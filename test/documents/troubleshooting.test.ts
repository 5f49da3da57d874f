import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { root } from "./markdown-files.ts";

test("every error that the troubleshooting quotes is one that the program gives", () => {
  const tutorials = readFileSync(join(root, "docs/tutorials.md"), "utf8");
  const page = tutorials.slice(tutorials.indexOf("\n## Troubleshooting\n"));
  const quoted = [...page.matchAll(/^\| `([^`]+)`/gm)].map(([, text = ""]) => text);
  assert.ok(quoted.length > 30);
  assert.deepEqual(
    quoted.filter((text, index) => quoted.indexOf(text) !== index),
    [],
    "an error has one row",
  );
  const sources = globSync("{apps,libs,services}/*/src/**/*.ts", { cwd: root })
    .filter((file) => !file.endsWith(".test.ts"))
    .map((file) => readFileSync(join(root, file), "utf8"))
    .join("\n");
  const isCode = (text: string): boolean => /^[a-z_]+$/.test(text);
  const missing = quoted.filter(
    (text) =>
      !(isCode(text) ? new RegExp(`"${text}"|\\b${text}:`).test(sources) : sources.includes(text)),
  );
  assert.deepEqual(missing, []);
});
