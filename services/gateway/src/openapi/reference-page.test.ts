import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { routes } from "../routes/route-table.ts";
import { openApi } from "./openapi.ts";
import { REFERENCE_POLICY, referencePage } from "./reference-page.ts";

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

test("the reference page runs its own script alone, loads nothing and shows no text as markup", () => {
  const scripts = [...page.matchAll(/<script>([^]*?)<\/script>/g)].map(([, text = ""]) => text);
  const digests = scripts.map((text) => createHash("sha256").update(text).digest("base64"));
  assert.equal(digests.length, 1);
  assert.ok(REFERENCE_POLICY.includes(`script-src 'sha256-${digests.join()}'`));
  const [style = ""] = [...page.matchAll(/<style>([^]*?)<\/style>/g)].map(([, text = ""]) => text);
  const digest = createHash("sha256").update(style).digest("base64");
  assert.ok(REFERENCE_POLICY.includes(`style-src 'sha256-${digest}'`));
  assert.doesNotMatch(REFERENCE_POLICY, /unsafe|https?:|\*/);
  const markup = page.replaceAll(/<(script|style)>[^]*?<\/\1>/g, "");
  assert.doesNotMatch(
    markup,
    /<script|<link|<img|<iframe| on\w+=| (?:href|src)="https?:|\[object|undefined/,
  );
  const tags = new Set([...markup.matchAll(/<\/?([a-z0-9]+)/g)].map(([, tag]) => tag));
  const known =
    "html head meta title body h1 h2 h4 p a pre code details summary span table tr td label input textarea button";
  assert.deepEqual(
    new Set([...tags].filter((tag) => !known.split(" ").includes(tag ?? ""))),
    new Set(),
  );
});

test("the reference page has the example of every body, and a form for every operation", () => {
  assert.ok(page.includes("&quot;input&quot;: &quot;What is in this repository?&quot;"));
  assert.equal(
    [...page.matchAll(/class="send"/g)].length,
    [...page.matchAll(/data-path=/g)].length,
  );
});
