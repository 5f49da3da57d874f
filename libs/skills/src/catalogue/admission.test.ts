import assert from "node:assert/strict";
import { test } from "node:test";
import { admit, admitAll } from "./admission.ts";
import { IMPORTED_ROOT, type TrustRecord } from "./definition.ts";

const found = {
  root: "/project",
  file: "skills/a/SKILL.md",
  summary: { name: "a", description: "", digest: "sha256:1", version: "v1" },
  needsTrust: true,
};
const trust: TrustRecord = {
  kind: "skill",
  name: "a",
  version: "v1",
  root: "/project",
  file: "skills/a/SKILL.md",
  blocked: false,
  by: "admin",
  at: "2026-01-01T00:00:00.000Z",
  reason: "read it",
};

test("a definition of an automatically found project is listed when a user trusts this version at this path", () => {
  assert.equal(admit("skill", found, []), "untrusted");
  assert.equal(admit("skill", found, [trust]), null);
  for (const other of [
    { ...trust, kind: "agent" as const },
    { ...trust, name: "b" },
    { ...trust, root: "/elsewhere" },
    { ...trust, file: "other/a/SKILL.md" },
  ])
    assert.equal(admit("skill", found, [other]), "untrusted", JSON.stringify(other));
});

test("another version of a trusted definition waits again, and its reason is that it changed", () => {
  const changed = { ...found, summary: { ...found.summary, version: "v2" } };
  assert.equal(admit("skill", changed, [trust]), "changed");
  assert.equal(admit("skill", changed, [trust, { ...trust, version: "v2" }]), null);
});

test("a definition that the scanner blocks needs a trust that accepted the block, for this very version", () => {
  const named = { ...found, needsTrust: false };
  const blocked = { ...named, blocked: true };
  assert.equal(admit("skill", named, []), null);
  assert.equal(admit("skill", blocked, []), "blocked");
  assert.equal(admit("skill", blocked, [trust]), "blocked");
  assert.equal(admit("skill", blocked, [{ ...trust, version: "v0", blocked: true }]), "blocked");
  assert.equal(admit("skill", blocked, [{ ...trust, blocked: true }]), null);
});

test("a definition that clients sent is the same one wherever its file was", () => {
  const sent = { ...found, root: IMPORTED_ROOT, blocked: true };
  const record = { ...trust, root: IMPORTED_ROOT, file: "elsewhere/SKILL.md", blocked: true };
  assert.equal(admit("skill", sent, [record]), null);
});

test("all that was found is listed or withheld", () => {
  const other = { ...found, summary: { ...found.summary, name: "b" } };
  assert.deepEqual(admitAll("skill", [found, other], [trust]), {
    admitted: [found],
    withheld: [{ kind: "skill", entry: other, reason: "untrusted" }],
  });
});
