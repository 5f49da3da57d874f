import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ImportCounts, type ImportedSkill } from "@switchyard/contracts/skill-store";
import { judgesHere } from "../judge/judge-job.ts";
import type { JudgeJob } from "../judge/judge-skill.ts";
import { packageOf, versionOf, fileFacts } from "../source/skill-package.ts";
import { readPackage } from "../source/read-package.ts";
import { IMPORTED_ROOT } from "../store/definition.ts";
import { countsOf, planUpload } from "./plan-upload.ts";

const place = {
  root: IMPORTED_ROOT,
  scope: "imported",
  baseDirectory: "skill://x",
  fallbackName: "skill",
  needsTrust: false,
  scans: false,
  judge: (job: Omit<JudgeJob, "now">) => judgesHere.skill({ ...job, now: new Date(0) }),
} as const;
const nothing = { skills: [], imported: [], withheld: [], trust: [], size: 0 };

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
      async (skills, maxSkills) => {
        const packages = skills.map(({ directory, files }) => packageOf(directory, bytesOf(files)));
        const read = await Promise.all(packages.map((pkg) => readPackage(pkg, place)));
        const { outcomes, imported } = planUpload(nothing, read, { roots: [], maxSkills });
        const shown = outcomes.map(({ read: one, entry, change, withheld, diagnostics }) => {
          const outcome: ImportedSkill["outcome"] =
            entry === null ? "skipped" : entry.summary.repaired === true ? "repaired" : "loaded";
          return {
            file: one.file,
            name: entry?.summary.name ?? null,
            description: "",
            version: null,
            outcome,
            change,
            withheld,
            dependenciesMet: null,
            dependencyWarnings: [],
            diagnostics: [...diagnostics, ...one.diagnostics],
          };
        });
        const counts = ImportCounts.parse(countsOf(shown));
        assert.equal(counts.found, skills.length);
        assert.equal(counts.found, counts.loaded + counts.skipped);
        assert(counts.repaired <= counts.loaded);
        const reasons = Object.values(counts.reasons).reduce((sum, many) => sum + many, 0);
        assert.equal(reasons, counts.skipped);
        assert(!("unknown" in counts.reasons), "a skipped skill says why");
        assert.equal(imported.set.length, counts.loaded);
        assert(imported.set.length <= maxSkills);
        const names = imported.set.map(({ summary }) => summary.name);
        assert.equal(new Set(names).size, names.length);
      },
    ),
    { numRuns: 300 },
  );
});

test("what waits for somebody's trust counts towards the limit, and its next version does not count again", async () => {
  const read = async (name: string) =>
    readPackage(packageOf(name, bytesOf([["SKILL.md", `---\nname: ${name}\n---\nText.`]])), place);
  const [one, two] = [await read("one"), await read("two")];
  assert.ok(one.found !== null);
  const waiting = { kind: "skill" as const, reason: "blocked" as const, entry: one.found.entry };
  const full = { ...nothing, withheld: [waiting], size: 1 };
  const { outcomes } = planUpload(full, [one, two], { roots: [], maxSkills: 1 });
  assert.deepEqual(
    outcomes.map(({ entry, diagnostics }) => [entry?.summary.name, diagnostics[0]?.code]),
    [
      ["one", undefined],
      [undefined, "catalogue_full"],
    ],
  );
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
