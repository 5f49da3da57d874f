import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { splitFrontmatter } from "./frontmatter.ts";

test("splits the fields from the body at the second fence [D6]", () => {
  assert.deepEqual(splitFrontmatter("---\nname: a\n---\n\n# Body\n---\nstill body\n"), {
    kind: "found",
    yaml: "name: a\n",
    linesBefore: 1,
    body: "\n# Body\n---\nstill body\n",
  });
});

test("takes a fence with spaces after it, an empty block and a missing body", () => {
  assert.deepEqual(splitFrontmatter("--- \t\n---"), {
    kind: "found",
    yaml: "",
    linesBefore: 1,
    body: "",
  });
});

test("takes a file without a fence as all body [D7]", () => {
  assert.deepEqual(splitFrontmatter("# Title\n\ntext"), {
    kind: "none",
    body: "# Title\n\ntext",
    findings: [],
  });
});

for (const first of ["---js", "---javascript", "---JavaScript", "--- name: x ---", "---json"]) {
  test(`reads a file that starts with ${first} as text, and reports it [BR4]`, () => {
    const text = `${first}\nglobalThis.polluted = true\n---\nbody`;
    const split = splitFrontmatter(text);
    assert(split.kind === "none");
    assert.equal(split.body, text);
    assert.deepEqual(
      split.findings.map(({ code, severity, line }) => ({ code, severity, line })),
      [{ code: "frontmatter_not_recognised", severity: "warning", line: 1 }],
    );
  });
}

test("does not mistake a horizontal rule for a fence with a language", () => {
  const split = splitFrontmatter("-----\ntext");
  assert(split.kind === "none");
  assert.deepEqual(split.findings, []);
});

test("rejects a block without an end, with its position [D9]", () => {
  const split = splitFrontmatter("---\nname: a\n\n# Body\n");
  assert(split.kind === "broken");
  assert.equal(split.problem.code, "unterminated_frontmatter");
  assert.match(split.problem.message, /unterminated YAML frontmatter/);
  assert.equal(split.problem.line, 1);
});

test("refuses a block above 16 KiB before anything parses it", () => {
  const split = splitFrontmatter(`---\nname: ${"é".repeat(8_192)}\n---\n`);
  assert(split.kind === "broken");
  assert.equal(split.problem.code, "frontmatter_too_large");
});

test("loses no character of a file, whatever it holds", () => {
  const line = fc.oneof(fc.constantFrom("---", "--- ", "---js", "", "a: b"), fc.string());
  fc.assert(
    fc.property(fc.array(line), (lines) => {
      const text = lines.join("\n");
      const split = splitFrontmatter(text);
      if (split.kind === "none") assert.equal(split.body, text);
      if (split.kind === "found") assert(text.includes(split.yaml) && text.endsWith(split.body));
    }),
  );
});
