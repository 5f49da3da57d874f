import assert from "node:assert/strict";
import { test } from "node:test";
import type { SkillSummary } from "@switchyard/contracts/skill-importer/skills";
import fc from "fast-check";
import { createIndexCache, indexSkills } from "./match-skills.ts";

function summary(name: string, description: string, triggers?: string[]): SkillSummary {
  return {
    name,
    description,
    digest: `sha256:${"c".repeat(64)}`,
    path: name,
    userInvocable: true,
    modelInvocable: true,
    allowedTools: null,
    argumentHint: null,
    diagnostics: [],
    ...(triggers === undefined ? {} : { triggers }),
  };
}

const skills = [
  summary("summarise-files", "Summarises text files truthfully, with line counts."),
  summary("pdf", "Extracts tables and text from PDF documents."),
  summary("deploy", "Ships a service to the cluster.", ["release", "roll out"]),
  summary("translate", "把文本翻译成英文。"),
];
const names = (text: string): string[] =>
  indexSkills(skills)
    .match(text)
    .map(({ skill }) => skill.name);

test("finds the skill that fits a text, the best first [D10]", () => {
  assert.deepEqual(names("Please summarise the files in this folder"), ["summarise-files"]);
  assert.deepEqual(names("tables in a PDF, as text"), ["pdf", "summarise-files"]);
});

test("matches triggers too, and the beginnings of words", () => {
  assert.deepEqual(names("prepare the release"), ["deploy"]);
  assert.deepEqual(names("extract a table"), ["pdf"]);
  const [match] = indexSkills(skills).match("extract the table, please");
  assert.deepEqual(match?.terms, ["extract", "table"]);
});

test("finds words in scripts that put no space between them", () => {
  assert.deepEqual(names("翻译"), ["translate"]);
});

test("finds no skill by words that every text has, nor by an empty text", () => {
  assert.deepEqual(names("what is it and how do I use this skill?"), []);
  assert.deepEqual(names("  "), []);
});

test("sorts equals by name, whatever their order, and respects the limit", () => {
  const twins = ["c", "a", "b"].map((letter) => summary(`twin-${letter}`, "Counts sheep."));
  const match = (given: SkillSummary[], limit?: number) =>
    indexSkills(given)
      .match("sheep", limit)
      .map(({ skill }) => skill.name);
  assert.deepEqual(match(twins), ["twin-a", "twin-b", "twin-c"]);
  assert.deepEqual(match(twins.toReversed(), 2), ["twin-a", "twin-b"]);
});

test("answers any text, and the same text with the same answer", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 400 }), (text) => {
      assert.deepEqual(
        indexSkills(skills).match(text),
        indexSkills(skills.toReversed()).match(text),
      );
    }),
    { numRuns: 50 },
  );
});

test("indexes a catalogue once, until it changes", () => {
  const indexOf = createIndexCache();
  const first = indexOf(skills);
  assert.equal(indexOf([...skills]), first);
  assert.notEqual(indexOf(skills.slice(1)), first);
});
