import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { test } from "node:test";
import { markdownFiles, root, type Document } from "./markdown-files.ts";

const documents = markdownFiles();

test("every relative link leads to a file, and to a heading when it names one", () => {
  const dead: string[] = [];
  let links = 0;
  for (const { path, prose } of documents) {
    for (const [, target = ""] of prose.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      links += 1;
      const [file = "", anchor] = target.split("#");
      const place = file === "" ? path : normalize(join(dirname(path), file));
      if (!existsSync(join(root, place))) dead.push(`${path}: ${target} is not there`);
      else if (anchor !== undefined && !anchorsOf(place).has(anchor))
        dead.push(`${path}: ${target} names no heading`);
    }
  }
  assert.deepEqual(dead, []);
  assert.ok(documents.length > 40 && links > 30, "hardly any document or link was found");
});

function anchorsOf(path: string): ReadonlySet<string> {
  const document: Document | undefined = documents.find((candidate) => candidate.path === path);
  const headings = document?.prose.matchAll(/^#+ +(.*)$/gm) ?? [];
  return new Set([...headings].map(([, heading = ""]) => anchorOf(heading)));
}

/** The format of GitHub: lower case, no punctuation, hyphens for spaces. */
function anchorOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");
}
