import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { fillTemplate, fillValue, TemplateError } from "./pointer-template.ts";

const MARKDOWN =
  "\n# Title #\n\ntext with words\n\n## Part *one*\n```sh\n# not a heading\n```\n### Deep\n#hashtag\n";

const document = {
  input: { path: "a.txt", count: 3, nested: { list: ["x", "y"] } },
  results: {
    readme: { text: MARKDOWN, isError: false },
    write: { text: "denied", isError: true },
    "0": { text: "  padded  ", isError: false },
  },
};

test("inserts what the pointers find, and leaves other braces alone", () => {
  const cases: [string, string][] = [
    ["read {{/input/path}}!", "read a.txt!"],
    ["{{ /input/count }}", "3"],
    ["{{/input/nested}}", '{"list":["x","y"]}'],
    ["{{/input/nested/list/1}}{{/input/path}}", "ya.txt"],
    ["{{/results/write/isError}}", "true"],
    ["{{name}} {{ }} {{ { /input/path }}", "{{name}} {{ }} {{ { /input/path }}"],
    ["{{ {{/input/path}}", "{{ a.txt"],
    ["open {{/input/path", "open {{/input/path"],
    ["", ""],
  ];
  for (const [template, filled] of cases) {
    assert.equal(fillTemplate(template, document, "plan answer"), filled, template);
  }
});

test("passes values through filters from left to right", () => {
  const cases: [string, string][] = [
    ["{{/results/readme/text | firstLine}}", "# Title #"],
    ["{{/results/readme/text | lineCount}}", "11"],
    ["{{/results/readme/text | wordCount}}", "18"],
    ["{{/results/readme/text | headings}}", "- Title\n  - Part *one*\n    - Deep"],
    ["{{/results/readme/text | headings | lines 2}}", "- Title\n  - Part *one*"],
    ["{{/results/0/text|trim}}", "padded"],
    ["{{/results/write/text | json}}", '"denied"'],
    ["{{/input | json}}", JSON.stringify(document.input)],
  ];
  for (const [template, filled] of cases) {
    assert.equal(fillTemplate(template, document, "plan answer"), filled, template);
  }
});

test("names the place, the pointer and what is there when a pointer finds nothing", () => {
  assert.throws(
    () => fillTemplate("{{/results/listing/text}}", document, "plan step 2"),
    new TemplateError(
      'plan step 2: pointer /results/listing/text finds nothing at "listing"; there is 0, readme, write',
    ),
  );
});

test("refuses a filter that does not exist", () => {
  for (const filter of ["shout", "lines", "lines x", "lines 1 2", "trim 3", "constructor", ""]) {
    assert.throws(
      () => fillTemplate(`{{/input/path | ${filter}}}`, document, "plan answer"),
      (error) => error instanceof TemplateError && error.message.includes(`no filter "${filter}"`),
      filter,
    );
  }
});

test("replaces $from anywhere in arguments, and only where it stands alone", () => {
  const filled = fillValue(
    {
      path: { $from: "/input/path" },
      list: [{ $from: "/results/write/isError" }, { $from: 1 }],
      both: { $from: "/input/path", more: 1 },
      plain: "{{/input/path}}",
    },
    document,
    "plan step 1",
  );
  assert.deepEqual(filled, {
    path: "a.txt",
    list: [true, { $from: 1 }],
    both: { $from: "/input/path", more: 1 },
    plain: "{{/input/path}}",
  });
});

test("never reads inserted text as a template", () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (text, around) => {
      const plain = around.replaceAll("{", "(");
      const hostile = { input: `{{/secret}}${text}`, results: {} };
      const filled = fillTemplate(`${plain}{{/input}}${plain}`, hostile, "plan answer");
      assert.equal(filled, `${plain}{{/secret}}${text}${plain}`);
    }),
  );
});

test("returns templates without pointers and values without $from unchanged", () => {
  fc.assert(
    fc.property(fc.string(), fc.jsonValue(), (text, value) => {
      fc.pre(!/\{\{\s*\//.test(text) && !JSON.stringify(value).includes("$from"));
      assert.equal(fillTemplate(text, document, "plan answer"), text);
      assert.equal(JSON.stringify(fillValue(value, document, "plan")), JSON.stringify(value));
    }),
  );
});
