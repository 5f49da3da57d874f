import assert from "node:assert/strict";
import { test } from "node:test";
import { mcpToolRef } from "@switchyard/contracts/tool-names";
import { isGood, validate } from "../engine/validate.ts";
import { decide } from "../engine/evaluate.ts";
import { listNamesIn, readList } from "../schema/list-file.ts";
import { compileBundle } from "./compile-bundle.ts";
import { BundleError, parseBundleFiles, type SourceFile } from "./parse-bundle.ts";

const RULES = `version: 1
rules:
  - { id: known, effect: allow, approval: auto, what: { tools: [bank.move] }, when: [{ arg: /to, op: inFile, value: known.txt }] }
  - { id: blocked, effect: deny, what: { tools: [bank.move] }, when: [{ not: { arg: /to, op: inFile, value: known.txt } }] }
`;
const files = (list: string | null): SourceFile[] => [
  { file: "rules.yaml", text: RULES },
  ...(list === null ? [] : [{ file: "known.txt", text: list }]),
];
const compiled = (list: string) => compileBundle(parseBundleFiles(files(list)));

function effectOf(list: string, to: unknown): string {
  const principal = { user: "ann", agent: null, runId: null };
  const tool = mcpToolRef("bank", "move");
  return decide(compiled(list), { principal, tool, args: { to }, layers: null }).effect;
}

function problemsOf(list: string | null): string[] {
  try {
    parseBundleFiles(files(list));
    return [];
  } catch (error) {
    assert.ok(error instanceof BundleError);
    return error.lines;
  }
}

test("an argument is compared with the lines of a list beside the rules", () => {
  const list = "# accounts\nDE1\n\n  DE2  \r\nCafe\u0301\n";
  for (const to of ["DE1", "DE2", "Café"]) assert.equal(effectOf(list, to), "allow", to);
  for (const to of ["DE3", "de1", "# accounts", "", 1, null, ["DE1"]])
    assert.equal(effectOf(list, to), "deny", JSON.stringify(to));
});

test("the digest of the bundle depends on the entries, and not on their order or on comments", () => {
  assert.equal(compiled("b\na\n").digest, compiled("# x\na\n\nb\nb").digest);
  assert.notEqual(compiled("b\na\n").digest, compiled("a\n").digest);
  const unused = [...files("a\n"), { file: "other.txt", text: "" }];
  assert.equal(compileBundle(parseBundleFiles(unused)).digest, compiled("a\n").digest);
});

test("a list that is missing, empty or too large refuses the policy with its position", () => {
  assert.deepEqual(problemsOf(null), [
    "rules.yaml:4:71: there is no list known.txt beside the rules",
  ]);
  assert.deepEqual(problemsOf("# nothing\n"), ["known.txt:1:1: the list has no entry"]);
  const numbers = Array.from({ length: 20_001 }, (_, index) => `n${index}`).join("\n");
  assert.deepEqual(problemsOf(numbers), [
    "known.txt:20001:1: the list has more than 20,000 entries",
  ]);
  assert.deepEqual(problemsOf(`a\n${"x".repeat(4_097)}`), [
    "known.txt:2:1: has more than 4,096 characters",
  ]);
  const outside = RULES.replaceAll("known.txt", "../known.txt");
  assert.throws(
    () => parseBundleFiles([{ file: "rules.yaml", text: outside }]),
    /must be the name of a file beside the rules that ends in \.txt, without directories/,
  );
});

test("tests beside the rules are decided with the lists", () => {
  const tests = (to: string) =>
    JSON.stringify({
      tests: [
        { name: "a", given: { user: "ann", tool: "bank.move", args: { to } }, expect: "allow" },
      ],
    });
  const check = (to: string) =>
    isGood(
      validate({
        files: files("DE1\n").map(({ file, text }) => ({ name: file, text })),
        tests: [{ name: "rules.test.yaml", text: tests(to) }],
      }),
    );
  assert.deepEqual([check("DE1"), check("DE2")], [true, false]);
});

test("the lists that a text may use are those that it names", () => {
  assert.deepEqual(listNamesIn(RULES), ["known.txt"]);
  assert.deepEqual(listNamesIn("note: see notes.txt"), []);
  assert.deepEqual(listNamesIn('{ op: inFile, value: "b-1.txt" } # and /etc/a.txt.gz'), [
    "b-1.txt",
  ]);
  assert.deepEqual(readList("a\n").problem, null);
});
