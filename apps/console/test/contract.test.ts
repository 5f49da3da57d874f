import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const home = fileURLToPath(new URL("..", import.meta.url));
const reference = readFileSync(join(home, "../../docs/console.md"), "utf8");

const PLAIN = /(?:data-testid|testId)(?:=|: )"([a-z-]+)"/g;
/** `data-testid={…}`, whose texts are names up to what is put in. */
const CHOSEN = /data-testid=\{((?:\$\{[^}]*\}|[^}])*)\}/g;

test("the names for programs are those of docs/console.md, and no others", () => {
  const given = new Set<string>();
  for (const file of globSync("src/**/*.tsx", { cwd: home })) {
    const text = readFileSync(join(home, file), "utf8");
    for (const [, name = ""] of text.matchAll(PLAIN)) given.add(name);
    for (const [, choice = ""] of text.matchAll(CHOSEN))
      for (const [, name = ""] of choice.matchAll(/["`]([a-z-]+)/g)) given.add(name);
  }
  const contract = reference.slice(
    reference.indexOf("## Attributes"),
    reference.indexOf("## Journeys"),
  );
  const written = [...contract.matchAll(/`(?:data-testid=)?"([a-z-]+)(?:NAME|ID)?"`/g)];
  const named = new Set(written.map(([, name = ""]) => name));
  assert.deepEqual([...given].toSorted(), [...named].toSorted());
});

test("each journey of docs/console.md is walked by a test of that name", () => {
  const rows = reference.slice(reference.indexOf("## Journeys")).split("\n").slice(6);
  const titles = rows.flatMap((row) => row.split("|")[2]?.trim() ?? []);
  assert.ok(titles.length >= 30, `${titles.length} journeys`);
  const tests = globSync("../../test/console/*.test.ts", { cwd: home })
    .map((file) => readFileSync(join(home, file), "utf8"))
    .join("\n");
  assert.deepEqual(
    titles.filter((title) => !tests.includes(`"${title}"`)),
    [],
  );
});
