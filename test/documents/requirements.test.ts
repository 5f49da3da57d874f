import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { root } from "./markdown-files.ts";

/** The number of requirements of each system, which are numbered from 1. */
const SYSTEMS = {
  A: 60,
  B: 32,
  C: 20,
  D: 66,
  E: 18,
  F: 42,
  AR: 15,
  BR: 14,
  CR: 12,
  DR: 13,
  ER: 10,
  X: 43,
} as const satisfies Record<string, number>;
const ID = /^([A-Z]{1,2})(\d+)(?:[-–]\*{0,2}(?:[A-Z]{1,2})?(\d+))?$/;
const CHANGED = "decisions/031-requirements-changed-on-purpose.md";

/** Returns the ids of a text such as `A2` or `F13-F22`; none for any other text. */
function idsOf(text: string): string[] {
  const [, system = "", first = "", last = first] = ID.exec(text.trim()) ?? [];
  if (!Object.hasOwn(SYSTEMS, system)) return [];
  const count = Number(last) - Number(first) + 1;
  return Array.from({ length: count }, (_, index) => `${system}${Number(first) + index}`);
}

function idsInTitles(): Set<string> {
  const files = globSync("{apps,libs,services,test,scripts,deploy,bench}/**/*.test.ts", {
    cwd: root,
    exclude: (path) => path.endsWith("node_modules"),
  });
  const text = files.map((file) => readFileSync(join(root, file), "utf8")).join("\n");
  const brackets = [...text.matchAll(/\[([A-Z][A-Z0-9, -]*)\]/g)];
  return new Set(brackets.flatMap(([, ids = ""]) => ids.split(",").flatMap(idsOf)));
}

/** Each item of the list begins with its ids in bold. */
function idsInDecision(): Set<string> {
  const items = readFileSync(join(root, CHANGED), "utf8").matchAll(/^- (\*\*[^(:]*)/gm);
  const marked = [...items].flatMap(([, text = ""]) => text.replaceAll("**", "").split(","));
  return new Set(marked.flatMap(idsOf));
}

test("each requirement is named by the title of a test, or is changed on purpose with a reason", () => {
  const [named, changed] = [idsInTitles(), idsInDecision()];
  const all = Object.entries(SYSTEMS).flatMap(([system, count]) => idsOf(`${system}1-${count}`));
  const missing = all.filter((id) => !named.has(id) && !changed.has(id));
  assert.deepEqual(missing, [], `neither a title nor ${CHANGED} has them`);
  for (const ids of [named, changed])
    assert.deepEqual(
      [...ids].filter((id) => !all.includes(id)),
      [],
    );
});
