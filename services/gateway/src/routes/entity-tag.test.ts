import assert from "node:assert/strict";
import { test } from "node:test";
import { entityTag, isKnown, versionAt, versionIn } from "./entity-tag.ts";

const VERSION = `sha256:${"a".repeat(64)}`;

test("an ETag changes with the answer, and If-Match finds its version again", () => {
  const tag = entityTag("one", VERSION);
  assert.notEqual(entityTag("two", VERSION), tag);
  for (const text of [tag, entityTag("two", VERSION), `"${VERSION}"`, ` ${tag} `])
    assert.equal(versionIn(text), VERSION);
  assert.equal(versionIn(entityTag("one", "7")), "7");
  for (const text of ["", "7", '"', '""', `W/${tag}`, `${tag}, ${tag}`, '"a b"'])
    assert.equal(versionIn(text), null, text);
});

test("If-None-Match is a list, weak ones included, or a star", () => {
  const tag = entityTag("one", null);
  for (const known of [tag, `W/${tag}`, `"x", ${tag}`, "*"]) assert.ok(isKnown(tag, known), known);
  for (const known of ["", '"x"', tag.replaceAll('"', "")]) assert.ok(!isKnown(tag, known), known);
});

test("a version is a text or a number at its path", () => {
  assert.equal(versionAt({ versions: [{ version: 3 }] }, "versions.0.version"), "3");
  assert.equal(versionAt({ skill: { version: VERSION } }, "skill.version"), VERSION);
  for (const reply of [{}, { skill: null }, { skill: { version: null } }, null])
    assert.equal(versionAt(reply, "skill.version"), null);
});
