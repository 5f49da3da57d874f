import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { examplesOf } from "../../apps/cli/src/program/examples.ts";
import { commandLineOf } from "./command-lines.ts";
import { root } from "./markdown-files.ts";

/** Pages that people read, in the order of their names; what is in docs/reference is looked up. */
const pages = globSync("docs/*.md", { cwd: root })
  .filter((path) => path !== "docs/README.md")
  .map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }));

/** Tests that run the opening of a page which shows more than commands of `yard`. */
const RUN_BY: Readonly<Record<string, string>> = {
  "docs/http.md": "test/e2e/http.integration.test.ts",
  "docs/kubernetes.md": "test/cluster/checks/install.ts",
  "docs/operations.md": "deploy/test/compose-up.integration.test.ts",
  "docs/release.md": "scripts/release.integration.test.ts",
  "docs/tutorials.md": "test/documents/own-project.integration.test.ts",
};

test("every page of docs is in its index", () => {
  const index = readFileSync(join(root, "docs/README.md"), "utf8");
  const files = globSync(["docs/*.{md,json}", "docs/reference/*.md"], { cwd: root })
    .map((path) => path.slice("docs/".length))
    .filter((name) => name !== "README.md");
  assert.deepEqual(
    files.filter((name) => !index.includes(`](${name})`)),
    [],
  );
  assert.ok(pages.length > 10 && pages.length <= 18, `${pages.length} pages to read`);
});

test("every page of docs opens with an example, whose commands are examples of the help or are run by another test", () => {
  const wrong = pages.flatMap(({ path, text }) => {
    const [, example = ""] = /^```\w*\n([\s\S]*?)^```$/m.exec(openingOf(text)) ?? [];
    if (example === "") return [`${path}: no example before its second section`];
    if (RUN_BY[path] !== undefined) return [];
    const lines = example.split("\n").map((line) => commandLineOf(line.replace(/ +# .*$/, "")));
    const commands = lines.flatMap((line) => (line === null ? [] : [line]));
    if (commands.length === 0) return [`${path}: no command`];
    return commands.filter((line) => !isExample(line)).map((line) => `${path}: ${line}`);
  });
  assert.deepEqual(wrong, [], "apps/cli/src/program/examples.ts has the examples");
  for (const file of Object.values(RUN_BY)) readFileSync(join(root, file));
});

/** Returns the text before the second section of a page, or before its first one when it has an example already. */
function openingOf(text: string): string {
  const [before = "", first = ""] = text.split(/^## /m);
  return before.includes("\n```") ? before : before + first;
}

function isExample(line: string): boolean {
  const words = line.split(" ");
  return words.some((_, index) => examplesOf(words.slice(0, index + 1).join(" ")).includes(line));
}

test("no page of docs is too long to be read", () => {
  const long = pages.filter(({ text }) => Buffer.byteLength(text) > 37 * 1024);
  assert.deepEqual(
    long.map(({ path, text }) => `${path}: ${Buffer.byteLength(text)} bytes`),
    [],
    "make it two pages, or move what is looked up to docs/reference",
  );
});

test("no cell of a table in a page of docs is too long", () => {
  const long = pages.flatMap(({ path, text }) =>
    text.split("\n").flatMap((line) => cellsOf(line).map((cell) => ({ path, cell }))),
  );
  assert.deepEqual(
    long.filter(({ cell }) => cell.length > 120).map(({ path, cell }) => `${path}: ${cell}`),
    [],
    "write a sentence below the table",
  );
});

/** Returns the cells of a row as they are read, links as their texts. */
function cellsOf(line: string): string[] {
  if (!line.startsWith("|") || /^[|\s:-]+$/.test(line)) return [];
  return line.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll(/\]\([^)]*\)/g, "]"));
}

test("no page of docs has two headings with one anchor", () => {
  const twice = pages.flatMap(({ path, text }) => {
    const headings = [
      ...text.replaceAll(/^ *```[\s\S]*?^ *```/gm, "").matchAll(/^#+ +(.*)$/gm),
    ].map(([, heading = ""]) => heading.toLowerCase());
    return headings
      .filter((heading, index) => headings.indexOf(heading) !== index)
      .map((heading) => `${path}: ${heading}`);
  });
  assert.deepEqual(twice, []);
});
