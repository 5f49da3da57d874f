import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { planCatalogue } from "./plan-catalogue.ts";
import { BUILT_IN_ROOT, type Entry } from "./definition.ts";

function entry(file: string, name: string, digest = "1", root = "/a"): Entry {
  return { root, file, summary: { name, digest, description: "" } };
}

const roots = ["/a", "/b"];
const everywhere = () => true;

test("writes new or changed entries, and announces only new content", () => {
  const same = entry("same", "same");
  const plan = planCatalogue({
    current: [same, entry("old", "changed"), entry("old-place", "moved"), entry("gone", "gone")],
    found: [same, entry("old", "changed", "2"), entry("new-place", "moved"), entry("new", "new")],
    isInScope: everywhere,
    roots,
  });
  assert.deepEqual(plan.set.map(({ summary }) => summary.name).toSorted(), [
    "changed",
    "moved",
    "new",
  ]);
  assert.deepEqual(plan.announce.map(({ summary }) => summary.name).toSorted(), ["changed", "new"]);
  assert.deepEqual(plan.remove, ["gone"]);
  assert.deepEqual(plan.hidden, []);
});

test("assigns the name to the first of two by root and then by path [D3, D60]", () => {
  const first = entry("z/SKILL.md", "x", "1", "/a");
  const second = entry("a/SKILL.md", "x", "2", "/b");
  const third = entry("b/SKILL.md", "x", "3", "/b");
  const plan = planCatalogue({
    current: [],
    found: [third, second, first],
    isInScope: everywhere,
    roots,
  });
  assert.deepEqual(plan.set, [first]);
  assert.deepEqual(plan.hidden, [
    { entry: second, by: first },
    { entry: third, by: first },
  ]);
});

test("puts a project's agent before the built-in one, and the built-in back when it is gone [D15]", () => {
  const builtIn = entry("coder", "coder", "b", BUILT_IN_ROOT);
  const own = entry("agents/coder.md", "coder", "p");
  const over = planCatalogue({
    current: [builtIn],
    found: [own, builtIn],
    isInScope: everywhere,
    roots,
  });
  assert.deepEqual(over.announce, [own]);
  assert.deepEqual(over.hidden, [{ entry: builtIn, by: own }]);
  const back = planCatalogue({ current: [own], found: [builtIn], isInScope: everywhere, roots });
  assert.deepEqual(back.announce, [builtIn]);
  assert.deepEqual(back.remove, []);
});

test("keeps entries from sources that the import did not read", () => {
  const elsewhere = entry("other/SKILL.md", "kept");
  const plan = planCatalogue({
    current: [elsewhere, entry("dir/SKILL.md", "gone")],
    found: [],
    isInScope: ({ file }) => file.startsWith("dir/"),
    roots,
  });
  assert.deepEqual(plan, { set: [], remove: ["gone"], announce: [], hidden: [] });
});

test("keeps the entry of the earlier root when a part of the disk is imported", () => {
  const kept = entry("a/SKILL.md", "x", "1");
  const late = entry("dir/SKILL.md", "x", "2");
  const inDirectory = ({ file }: { file: string }) => file.startsWith("dir/");
  const plan = planCatalogue({ current: [kept], found: [late], isInScope: inDirectory, roots });
  assert.deepEqual(plan.set, []);
  assert.deepEqual(plan.hidden, [{ entry: late, by: kept }]);
});

test("a second import changes nothing, whatever was found in whatever order", () => {
  const found = fc.uniqueArray(
    fc.record({
      root: fc.constantFrom("/a", "/b", BUILT_IN_ROOT),
      file: fc.string({ minLength: 1 }),
      summary: fc.record({
        name: fc.constantFrom("x", "y", "z"),
        digest: fc.constantFrom("1", "2"),
        description: fc.constant(""),
      }),
    }),
    { selector: ({ root, file }) => `${root}/${file}` },
  );
  fc.assert(
    fc.property(found, (entries) => {
      const first = planCatalogue({ current: [], found: entries, isInScope: everywhere, roots });
      const again = planCatalogue({
        current: first.set,
        found: entries.toReversed(),
        isInScope: everywhere,
        roots,
      });
      assert.deepEqual({ ...again, hidden: [] }, { set: [], remove: [], announce: [], hidden: [] });
      assert.equal(first.set.length + first.hidden.length, entries.length);
    }),
  );
});
