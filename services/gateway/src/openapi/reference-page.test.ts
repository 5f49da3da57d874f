import assert from "node:assert/strict";
import { test } from "node:test";
import { routes } from "../routes/route-table.ts";
import { openApi } from "./openapi.ts";
import { referencePage } from "./reference-page.ts";

const page = await referencePage();

test("the reference page has every operation, and each of its links leads to an anchor of it", () => {
  for (const { method, path, isAlias = false } of routes)
    assert.equal(
      page.includes(`<code>${method.toUpperCase()} ${path}</code>`),
      !isAlias,
      `${method} ${path}`,
    );
  const ids = new Set([...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id));
  const { schemas = {} } = openApi()["components"] as Record<string, Record<string, unknown>>;
  for (const name of Object.keys(schemas)) assert.ok(ids.has(name), name);
  const links = [...page.matchAll(/ href="([^"]+)"/g)].map(([, href = ""]) => href);
  for (const href of new Set(links))
    assert.ok(href === "openapi.json" || ids.has(href.slice(1)), href);
  assert.equal(ids.size, [...page.matchAll(/ id="/g)].length);
});

test("the reference page runs no script, loads nothing and shows no text as markup", () => {
  assert.doesNotMatch(
    page,
    /<script|<link|<img|<iframe| src=| on\w+=| (?:href|src)="https?:|\[object|undefined/,
  );
  const tags = new Set([...page.matchAll(/<\/?([a-z0-9]+)/g)].map(([, tag]) => tag));
  const known =
    "html head meta title style body h1 h2 h4 p a code details summary span table tr td";
  assert.deepEqual(
    new Set([...tags].filter((tag) => !known.split(" ").includes(tag ?? ""))),
    new Set(),
  );
});
