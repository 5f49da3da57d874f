import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { STATUSES, WITH_CODE, WORDS } from "../src/ui/statuses.ts";

const home = fileURLToPath(new URL("..", import.meta.url));
const reference = readFileSync(join(home, "../../docs/reference/console.md"), "utf8");

const sources = globSync("src/**/*.tsx", { cwd: home }).map((file) => ({
  file,
  text: readFileSync(join(home, file), "utf8"),
}));

const PLAIN = /(?:data-testid|testId)(?:=|: )"([a-z-]+)"/g;
/** `data-testid={…}`, whose texts are names up to what is put in. */
const CHOSEN = /data-testid=\{((?:\$\{[^}]*\}|[^}])*)\}/g;

test("the names for programs are those of docs/reference/console.md, and no others", () => {
  const given = new Set<string>();
  for (const { text } of sources) {
    for (const [, name = ""] of text.matchAll(PLAIN)) given.add(name);
    for (const [, choice = ""] of text.matchAll(CHOSEN))
      for (const [, name = ""] of choice.matchAll(/["`]([a-z-]+)/g)) given.add(name);
  }
  const contract = section("## Attributes", "## Statuses");
  const written = [...contract.matchAll(/`(?:data-testid=)?"([a-z-]+)(?:NAME|ID)?"`/g)];
  const named = new Set(written.map(([, name = ""]) => name));
  assert.deepEqual([...given].toSorted(), [...named].toSorted());
});

test("the values of data-status are those of docs/reference/console.md, and no others", () => {
  const rows = section("## Statuses", "## Journeys").split("\n");
  const written = rows.flatMap((row) => {
    const [, names = "", values = ""] = row.split("|");
    const found = [...values.matchAll(/`([a-z_-]+)`/g)].map(([, value = ""]) => value);
    return [...names.matchAll(/`"([a-z-]+)(?:ID)?"`/g)].map(([, name = ""]) => [
      name.replace(/-$/, ""),
      found.toSorted(),
    ]);
  });
  const codes = WITH_CODE.map((name) => [name, []]);
  const given = Object.entries({ status: Object.keys(WORDS), ...STATUSES }).map(
    ([name, values]) => [name, [...values].toSorted()],
  );
  assert.deepEqual(Object.fromEntries(written), Object.fromEntries([...given, ...codes]));
});

/** An element with a status has the name twice: for programs, and for the types, which check the values. */
const WITH_STATUS = /(data-testid=[^>]*?\s)?data-status=\{?([^}]*)/g;

test("nothing has a data-status but with the name and the values of the contract", () => {
  for (const { file, text } of sources)
    for (const [whole, before = "", value = ""] of text.matchAll(WITH_STATUS)) {
      if (file.endsWith("ui/status.tsx")) continue;
      const [, what = ""] = /^said(?:Code)?\(\s*(?:isForbidden \? )?"([a-z-]+)"/.exec(value) ?? [];
      assert.notEqual(what, "", `${file}: ${whole}`);
      assert.ok(before.includes(what), `${file}: ${whole}`);
    }
});

function section(from: string, to: string): string {
  return reference.slice(reference.indexOf(from), reference.indexOf(to));
}

test("each journey of docs/reference/console.md is walked by a test of that name", () => {
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
