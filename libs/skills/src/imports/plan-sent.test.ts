import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ImportCounts } from "@switchyard/contracts/skill-importer/skill-store";
import { analyzerHere } from "../analysis/analyze.ts";
import { agentPackage, fileFacts, packageOf, versionOf } from "../source/package.ts";
import { IMPORTED_ROOT } from "../catalogue/definition.ts";
import { countsOf, planSent } from "./plan-sent.ts";
import { readDefinition } from "./read-definition.ts";

const origin = {
  root: IMPORTED_ROOT,
  scope: "imported",
  needsTrust: false,
} as const;
const reading = { analyzer: analyzerHere, now: () => new Date(0), scans: false };
const empty = { listed: [], imported: [], size: 0 };
const nothing = { skill: empty, agent: empty, withheld: [], trust: [] };

const text = fc.oneof(
  fc.constantFrom(
    "---\nname: a\n---\nText.",
    "---\nname: b\ndescription: c: d\n---\nText.",
    "---\nname: c\n",
    "---\n- x: [\n---\n",
    "Only a body.",
    "",
  ),
  fc.string({ maxLength: 60 }),
);
const path = fc.oneof(
  fc.constantFrom("SKILL.md", "skill.md", "references/a.md", "../x", "/x", "A.md", "a.md"),
  fc.string({ maxLength: 12 }),
);
const sent = fc.record({
  directory: fc.constantFrom("one", "two", "three", "..", "a b", "ä"),
  files: fc.array(fc.tuple(path, text), { maxLength: 4 }),
});

function bytesOf(files: [string, string][]): [string, Uint8Array][] {
  return files.map(([name, content]) => [name, Buffer.from(content)]);
}

test("every skill is loaded or skipped, for a reason, and the counts add up", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(sent, { maxLength: 8 }),
      fc.integer({ min: 0, max: 4 }),
      async (skills, maxNames) => {
        const packages = skills.map(({ directory, files }) => packageOf(directory, bytesOf(files)));
        const read = await Promise.all(packages.map((pkg) => readDefinition(pkg, origin, reading)));
        const limits = { roots: [], maxNames };
        const { outcomes, change } = planSent("skill", { current: nothing, limits }, read);
        const counts = ImportCounts.parse(countsOf(outcomes));
        const set = change.imported?.skill?.set ?? [];
        assert.equal(counts.found, skills.length);
        assert.equal(counts.found, counts.loaded + counts.skipped);
        assert(counts.repaired <= counts.loaded);
        const reasons = Object.values(counts.reasons).reduce((sum, many) => sum + many, 0);
        assert.equal(reasons, counts.skipped);
        assert(!("unknown" in counts.reasons), "a skipped skill says why");
        assert.equal(set.length, counts.loaded);
        assert(set.length <= maxNames);
        const names = set.map(({ summary }) => summary.name);
        assert.equal(new Set(names).size, names.length);
      },
    ),
    { numRuns: 300 },
  );
});

test("a definition that waits for trust counts towards the limit, and its next version does not count again", async () => {
  for (const kind of ["skill", "agent"] as const) {
    const read = async (name: string) => {
      const bytes = Buffer.from(`---\nname: ${name}\n---\nText.`);
      const pkg =
        kind === "skill"
          ? packageOf(name, [["SKILL.md", bytes]])
          : agentPackage(`agents/${name}.md`, bytes);
      return readDefinition(pkg, origin, reading);
    };
    const [one, two] = [await read("one"), await read("two")];
    assert.ok(one.definition !== null);
    const waiting = { kind, reason: "blocked" as const, entry: one.definition.entry };
    const current = { ...nothing, [kind]: { ...empty, size: 1 }, withheld: [waiting] };
    const limits = { roots: [], maxNames: 1 };
    const { outcomes } = planSent(kind, { current, limits }, [one, two]);
    assert.deepEqual(
      outcomes.map(({ definition, diagnostics }) => [definition?.name, diagnostics[0]?.code]),
      [
        ["one", undefined],
        [undefined, "catalogue_full"],
      ],
    );
  }
});

test("a version depends on the files and not on their order", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(path, text), { maxLength: 5 }), (files) => {
      const versionFor = (given: [string, string][]) =>
        versionOf(fileFacts(packageOf("d", bytesOf(given)).files));
      const unique = [...new Map(files).entries()].filter(([name]) => /^[a-z/.]+$/.test(name));
      assert.equal(versionFor(unique), versionFor(unique.toReversed()));
      const changed = unique.map(([name, content]): [string, string] => [name, `${content}!`]);
      const isAnyKept = packageOf("d", bytesOf(unique)).files.size > 0;
      if (isAnyKept) assert.notEqual(versionFor(unique), versionFor(changed));
    }),
  );
});
