import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { analyze } from "../analysis/analyze.ts";
import { fileFacts, packageOf, versionOf } from "../source/package.ts";
import { parseSkillFile } from "./skill-file.ts";

// One line for each way in which public skills fail, and for each input that was made to break a parser.

const HEAD = "name: my-skill\ndescription: d\n";
const block = (yaml: string) => `---\n${yaml}\n---\nThe body.\n`;
const keys = (count: number) => Array.from({ length: count }, (_, n) => `k${n}: v`).join("\n");

const NINE_LEVELS = Array.from("bcdefghi")
  .map((name, at) => `${name}: &${name} [${`*${"abcdefgh"[at]},`.repeat(9)}]`)
  .join("\n");

interface Case {
  readonly what: string;
  readonly file: string | Uint8Array;
  /** The code of the finding about it; null when there is none. */
  readonly code: string | null;
  /** False: the file is skipped, with an error. */
  readonly loads?: false;
}

const FAILURES: readonly Case[] = [
  {
    what: "an unquoted colon",
    file: block("description: Use this when: x"),
    code: "repaired_quotes",
  },
  {
    what: "two bracketed hints",
    file: block("argument-hint: [date] [duration]"),
    code: "repaired_quotes",
  },
  {
    what: "one-line JSON that is broken",
    file: block('metadata: {"clawdbot":{"requires":{"bins":\\["curl"]}\nname: x'),
    code: "repaired_json",
  },
  {
    what: "a conflict marker",
    file: block("<<<<<<< Updated upstream\nname: a\n=======\nname: b\n>>>>>>> x"),
    code: "merge_conflict",
    loads: false,
  },
  {
    what: "an @ in a list",
    file: block("dependencies: [@motion-canvas/core>=3.0.0]"),
    code: "repaired_quotes",
  },
  {
    what: "a value that begins with @",
    file: block("description: @Observable does it"),
    code: "repaired_quotes",
  },
  {
    what: "a value that begins with a backtick",
    file: block("description: `code` first"),
    code: "repaired_quotes",
  },
  {
    what: "a value that begins with a comma",
    file: block("description: , first"),
    code: "repaired_quotes",
  },
  { what: "a value that begins with *", file: block("allowed-tools: *"), code: "repaired_quotes" },
  { what: "an unquoted glob", file: block("paths: **/*.ts"), code: "repaired_quotes" },
  {
    what: "a continuation at the margin",
    file: block("description: goes on\nat the margin\nargument-hint: x"),
    code: "repaired_quotes",
  },
  { what: "equal keys", file: block("name: a\nname: my-skill"), code: "repaired_duplicate_key" },
  {
    what: "a list that is not closed",
    file: block("tags: [one, two\nargument-hint: x"),
    code: "repaired_json",
  },
  {
    what: "a quote that is not closed",
    file: block('name: my-skill\ndescription: "open\nx'),
    code: "repaired_quotes",
  },
  { what: "no frontmatter", file: "# Title\n\nDoes it.\n", code: null },
  {
    what: "no end of the frontmatter",
    file: "---\nname: my-skill\n",
    code: "unterminated_frontmatter",
    loads: false,
  },
  {
    what: "a heading glued to the end",
    file: "---\nname: my-skill\n---# Title\n",
    code: "repaired_delimiter",
  },
  {
    what: "a delimiter on one line",
    file: "--- name: x ---\nbody\n",
    code: "frontmatter_not_recognised",
  },
  {
    what: "a fenced frontmatter",
    file: "```yaml\nname: x\n```\nbody\n",
    code: "frontmatter_not_recognised",
  },
  {
    what: "a frontmatter below a title",
    file: `<!-- licence -->\n\n# Title\n\n${block(HEAD)}`,
    code: "frontmatter_not_recognised",
  },
  { what: "a blank line first", file: `\n \t\n${block(HEAD)}`, code: "repaired_delimiter" },
  {
    what: "the line ends of old Macs",
    file: block(HEAD).replaceAll("\n", "\r"),
    code: "repaired_line_ends",
  },
  { what: "a rule after a blank line", file: "\n---\n\n# Title\n", code: null },
  {
    what: "Markdown between two rules",
    file: "---\n\n**Name:** x\n\n---\nbody\n",
    code: "repaired_no_fields",
  },
  { what: "Windows line ends", file: block(HEAD).replaceAll("\n", "\r\n"), code: null },
  { what: "a byte order mark", file: `\uFEFF${block(HEAD)}`, code: null },
  {
    what: "bytes that are no UTF-8",
    file: Buffer.from(`${block(HEAD)}\u00FF`, "latin1"),
    code: "repaired_encoding",
  },
  {
    what: "UTF-16",
    file: Buffer.from(`\uFEFF${block(HEAD)}`, "utf16le"),
    code: "repaired_encoding",
  },
  { what: "a NUL byte", file: `${block(HEAD)}\0`, code: "binary_file", loads: false },
  {
    what: "a description that is a list",
    file: block("name: my-skill\ndescription: [a, b]"),
    code: "invalid_field",
  },
  {
    what: "a name that is a path",
    file: block("name: ../../etc\ndescription: d"),
    code: "invalid_name",
  },
  {
    what: "a name with spaces",
    file: block("name: My Skill\ndescription: d"),
    code: "name_changed",
  },
  {
    what: "a name that is not the directory's",
    file: block("name: other\ndescription: d"),
    code: "name_differs",
  },
  {
    what: "the typo user-invokable",
    file: block(`${HEAD}user-invokable: no`),
    code: "odd_spelling",
  },
  {
    what: "a flag that is none",
    file: block(`${HEAD}user-invocable: maybe`),
    code: "invalid_field",
  },
  { what: "a wallet that looks like a number", file: block(`${HEAD}wallet: 0x7962`), code: null },
  {
    what: "quoted JSON metadata with a comma too many",
    file: block(`${HEAD}metadata: '{"openclaw":{"always":true,},}'`),
    code: null,
  },
  {
    what: "a delimiter whose line ends are written out",
    file: "---\\nname: x\\n---\\nbody\n",
    code: "frontmatter_not_recognised",
  },
  {
    what: "an anchor that nothing refers to",
    file: block("name: &my my-skill\ndescription: d"),
    code: "repaired_quotes",
  },
  {
    what: "a glob that looks like an alias",
    file: block(`${HEAD}files: *.md`),
    code: "repaired_quotes",
  },
  { what: "a tab before a value", file: block("name:\tmy-skill\ndescription:\td"), code: null },
  {
    what: "a description that is empty",
    file: block("name: my-skill\ndescription:"),
    code: null,
  },
  {
    what: "a # in a value",
    file: block("name: my-skill\ndescription: for C #1 users"),
    code: "cut_by_comment",
  },
  {
    what: "a comment behind a value",
    file: block("name: my-skill # ours\ndescription: d"),
    code: null,
  },
  { what: "a version that is a number", file: block(`${HEAD}version: 1.0`), code: null },
  { what: "a date", file: block(`${HEAD}date: 2026-01-31`), code: null },
  {
    what: "a time that YAML 1.1 counts in sixties",
    file: block(`${HEAD}at: 12:30:45`),
    code: null,
  },
  { what: "an octal number", file: block(`${HEAD}mode: 0777`), code: null },
  {
    what: "fields that nobody knows",
    file: block(`${HEAD}author: A\ntags: [x, y]\nslug: s\nrisk: low`),
    code: null,
  },
  {
    what: "JSON metadata on several lines with a comma too many",
    file: block(`${HEAD}metadata:\n  {\n    "openclaw": { "always": true, },\n  }`),
    code: null,
  },
  {
    what: "JSON metadata in single quotes",
    file: block(`${HEAD}metadata: {'openclaw': {'always': true}}`),
    code: null,
  },
  {
    what: "install kinds that OpenClaw does not know",
    file: block(`${HEAD}metadata: {openclaw: {install: [{kind: pip, package: x}, {kind: shell}]}}`),
    code: null,
  },
  {
    what: "metadata under moltbot, which no other client reads",
    file: block(`${HEAD}metadata: {moltbot: {requires: {bins: [curl]}}}`),
    code: null,
  },
  {
    what: "a name above 64 characters",
    file: block(`name: ${"long-".repeat(20)}\ndescription: d`),
    code: "name_changed",
  },
  {
    what: "a description above 1,024 characters",
    file: block(`name: my-skill\ndescription: ${"long ".repeat(300)}`),
    code: null,
  },
  { what: "a body above 32 KiB", file: `${block(HEAD)}${"x\n".repeat(20_000)}`, code: "long_body" },
];

const HOSTILE: readonly Case[] = [
  {
    what: "an alias bomb",
    file: block(`${HEAD}a: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]`),
    code: "repaired_quotes",
  },
  {
    what: "an alias bomb of nine levels",
    file: block(`${HEAD}a: &a [${"x,".repeat(9)}]\n${NINE_LEVELS}`),
    code: "repaired_quotes",
  },
  {
    what: "4 KB of keys",
    file: block(keys(127)),
    code: null,
  },
  {
    what: "5,000 open brackets",
    file: block(`${HEAD}a: ${"[".repeat(5_000)}`),
    code: "repaired_known_fields",
  },
  { what: "13,000 keys", file: block(keys(13_000)), code: "frontmatter_too_large", loads: false },
  {
    what: "16 KB of keys",
    file: block(keys(1_500)),
    code: "frontmatter_too_complex",
    loads: false,
  },
  {
    what: "a key __proto__",
    file: block(`${HEAD}__proto__: {x: y}`),
    code: "forbidden_key",
    loads: false,
  },
  {
    what: "a key constructor",
    file: block(`${HEAD}constructor: x`),
    code: "forbidden_key",
    loads: false,
  },
  {
    what: "an anchor that holds itself",
    file: block(`${HEAD}a: &a [*a]`),
    code: "repaired_quotes",
  },
  {
    what: "a tag for a function",
    file: block(`${HEAD}a: !!js/function "x"`),
    code: "repaired_quotes",
  },
  {
    what: "a tag for bytes",
    file: block(`${HEAD}a: !!binary aGk=`),
    code: "repaired_quotes",
  },
  {
    what: "a merge key",
    file: block(`${HEAD}base: &b {x: y}\n<<: *b`),
    code: "repaired_quotes",
  },
  {
    what: "JavaScript for a frontmatter",
    file: "---js\n({name: 1})\n---\nbody\n",
    code: "frontmatter_not_recognised",
  },
  {
    what: "JavaScript in another spelling",
    file: "---JavaScript\n1\n---\nbody\n",
    code: "frontmatter_not_recognised",
  },
  {
    what: "more than 256 KB",
    file: `${block(HEAD)}${"x".repeat(260 * 1024)}`,
    code: "file_too_large",
    loads: false,
  },
];

for (const { what, file, code, loads } of [...FAILURES, ...HOSTILE]) {
  test(`${loads === false ? "skips" : "loads"} a file with ${what}${code === null ? "" : `, and says ${code}`}`, () => {
    const { skill, findings } = parseSkillFile(Buffer.from(file), "my-skill");
    assert.equal(skill === null, loads === false, JSON.stringify(findings));
    assert.equal(
      findings.some(({ severity }) => severity === "error"),
      loads === false,
    );
    const codes = findings.map((finding) => finding.code);
    if (code === null)
      assert.ok(
        findings.every(({ severity }) => severity === "info"),
        codes.join(),
      );
    else assert.ok(codes.includes(code), codes.join());
  });
}

test("the same files have the same digests and the same verdict, in any order and as often as they are read", () => {
  const name = fc.stringMatching(/^[a-z]{1,8}\.(?:md|sh)$/);
  const text = fc.oneof(fc.string(), fc.constantFrom(...FAILURES.map(({ file }) => String(file))));
  fc.assert(
    fc.property(text, fc.dictionary(name, text, { maxKeys: 4 }), (own, others) => {
      const sent = [["SKILL.md", own] as const, ...Object.entries(others)].map(
        ([path, content]) => [path, Buffer.from(content)] as const,
      );
      const [one, other] = [sent, sent.toReversed()].map((files) => {
        const pkg = packageOf("my-skill", files);
        const version = versionOf(fileFacts(pkg.files));
        const { kind, directoryName } = pkg;
        const job = { kind, directoryName, mainFile: "SKILL.md", files: pkg.files };
        return { version, analysis: analyze({ ...job, version, now: new Date(0) }) };
      });
      assert.deepEqual(one, other);
    }),
  );
});
