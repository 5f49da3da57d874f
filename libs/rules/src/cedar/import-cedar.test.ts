import assert from "node:assert/strict";
import { test } from "node:test";
import { importCedar, rulesText, type ImportNote } from "./import-cedar.ts";

const GATEWAY = 'Bank::Gateway::"main"';

function notesOf(
  text: string,
  resource: string | undefined = GATEWAY,
): [ImportNote["kind"], string][] {
  return importCedar(text, { resource }).notes.map(({ kind, reason }) => [kind, reason]);
}

function rulesOf(text: string): unknown[] {
  return importCedar(text, { resource: GATEWAY }).rules.map((rule) =>
    Object.fromEntries(Object.entries(rule).filter(([key]) => key !== "id")),
  );
}

test("scope, arguments and callers become selectors and conditions", () => {
  const text = `
@id("Refunds by Ann")
permit (principal == Bank::OAuthUser::"ann", action == Bank::Action::"Refunds___refund", resource == ${GATEWAY})
when { context.input.amount < 500 && context.input.currency == "EUR" && context.input has reason };
forbid (principal, action in [Action::"files.read", Action::"files.list"], resource)
unless { ["/a", "/b"].contains(context.input.path) || context.input.note like "a*b" };`;
  const { rules, notes } = importCedar(text, { resource: GATEWAY });
  assert.deepEqual(notes, []);
  assert.deepEqual(rules, [
    {
      id: "refunds-by-ann",
      effect: "allow",
      approval: "auto",
      who: { users: ["ann"] },
      what: { tools: ["refunds.refund"] },
      when: [
        { arg: "/amount", op: "lt", value: 500 },
        { arg: "/currency", op: "eq", value: "EUR" },
        { not: { arg: "/reason", op: "absent" } },
      ],
    },
    {
      id: "line-5",
      effect: "deny",
      what: { tools: ["files.read", "files.list"] },
      when: [
        { not: { arg: "/path", op: "in", value: ["/a", "/b"] } },
        { not: { arg: "/note", op: "glob", value: "a*b" } },
      ],
    },
  ]);
});

test("the second side of an or allows only where the first one is false", () => {
  const permit = 'permit (principal, action == Action::"b.m", resource)';
  const when = (text: string) =>
    rulesOf(`${permit} when { ${text} };`).map((rule) => (rule as { when: unknown }).when);
  assert.deepEqual(when("context.input.a > 1 || context.input.b == 2"), [
    [{ arg: "/a", op: "gt", value: 1 }],
    [{ not: { arg: "/a", op: "gt", value: 1 } }, { arg: "/b", op: "eq", value: 2 }],
  ]);
});

test("a permit that no rule expresses is left out, with its line and the reason", () => {
  const permit = 'permit (principal, action == Action::"b.m", resource)';
  assert.deepEqual(notesOf(`${permit} when { ip("10.0.0.1").isLoopback() };`), [
    ["left-out", "the call of isLoopback is not in the subset"],
  ]);
  assert.deepEqual(notesOf('permit (principal != User::"a", action, resource);'), [
    ["failed", "expected ,, got !="],
  ]);
  assert.deepEqual(notesOf(`${permit} unless { principal in Role::"guest" };`), [
    ["left-out", "rules do not select by what principal is not"],
  ]);
  assert.deepEqual(
    notesOf(`permit (principal, action == Action::"b.m", resource == ${GATEWAY});`, ""),
    [["left-out", "it is about no call here"]],
  );
  const [note] = importCedar(`\n\n${permit} when { context.input.a + 1 == 2 };`).notes;
  assert.deepEqual([note?.line, note?.policy, note?.kind], [3, "line-3", "left-out"]);
});

test("a forbid denies more without a part that no rule expresses, and fails when it would deny every call", () => {
  const forbid = 'forbid (principal, action == Action::"b.m", resource)';
  assert.deepEqual(notesOf(`${forbid} unless { principal in Role::"admin" };`), [
    [
      "stricter",
      "it denies without the condition on principal: rules do not select by what principal is not",
    ],
  ]);
  assert.deepEqual(rulesOf(`${forbid} unless { principal in Role::"admin" };`), [
    { effect: "deny", what: { tools: ["b.m"] } },
  ]);
  const [[kind] = []] = notesOf(
    'forbid (principal, action, resource) unless { principal in Role::"admin" };',
  );
  assert.equal(kind, "failed");
  // The group could contain any tool.
  assert.equal(
    notesOf('forbid (principal, action in Action::"writes", resource);')[0]?.[0],
    "failed",
  );
});

test("a resource is left aside only when it stands for the installation", () => {
  const permit = (resource: string) => `permit (principal, action == Action::"b.m", ${resource});`;
  assert.equal(rulesOf(permit(`resource == ${GATEWAY}`)).length, 1);
  assert.equal(rulesOf(permit('resource == Bank::Gateway::"other"')).length, 0);
  assert.equal(importCedar(permit(`resource == ${GATEWAY}`)).rules.length, 0);
  const forbid = 'forbid (principal, action == Action::"b.m", resource == Bank::Gateway::"x");';
  assert.deepEqual(importCedar(forbid).rules, [
    { id: "line-1", effect: "deny", what: { tools: ["b.m"] } },
  ]);
});

test("patterns with a question mark or a literal asterisk keep their meaning", () => {
  const text = String.raw`forbid (principal, action == Action::"b.m", resource) when { context.input.q like "a?\*b*" };`;
  assert.deepEqual(rulesOf(text), [
    {
      effect: "deny",
      what: { tools: ["b.m"] },
      when: [{ arg: "/q", op: "matches", value: String.raw`(?s)a\x{3f}\x{2a}b.*` }],
    },
  ]);
});

test("syntax errors and macros are reported with their line, and no rule is written", () => {
  for (const [text, line, reason] of [
    ["permit (principal, action, resource)", 1, "expected unless, got the end of the file"],
    ["permit (principal, action, resource);\nallow;", 2, "expected forbid, got allow"],
    [
      "\ndef temporal x() { true };",
      2,
      "macros (def) are not read; write the condition out in the policies",
    ],
    ["permit (principal, action, resource) when { 1 # 2 };", 1, 'unexpected character "#"'],
  ] as const) {
    const { rules, notes } = importCedar(text);
    assert.deepEqual([rules, notes], [[], [{ line, policy: "", kind: "failed", reason }]]);
  }
});

test("the file begins with what is different", () => {
  const imported = importCedar(
    'permit (principal, action == Action::"b.m", resource) when { context.x == 1 };',
  );
  assert.equal(
    rulesText(imported, "a.cedar"),
    `# Imported from a.cedar: 1 policies, 0 rules.
# Different from the policies:
#   line 1, line-1: left-out: the comparison context.x == 1 is not in the subset
version: 1
rules:
`,
  );
});
