import assert from "node:assert/strict";
import { test } from "node:test";
import { argumentsDiff, callSentence } from "../src/pages/call-sentence.ts";
import { linesOfRule, ruleFor, withRule } from "../src/pages/rule-text.ts";

const call = (server: string | null, tool: string, agent: string | null = "payments") => ({
  principal: { user: "ann", agent, runId: null },
  tool: { name: server === null ? tool : `mcp__${server}__${tool}`, server, tool },
});
const json = JSON.stringify;

test("a call is a sentence: who, a verb of the tool's name, what it acts on, and the change", () => {
  const edit = { path: "invoices/ledger.md", edits: [{ oldText: "open", newText: "paid" }] };
  assert.deepEqual(callSentence(call("files", "edit_file"), json(edit), null), {
    who: "payments",
    verb: "change",
    object: "invoices/ledger.md",
    tool: "files › edit_file",
    change: "open → paid",
  });
  const cases = [
    [call("files", "get_file_info"), { path: "notes.md" }, "read", "notes.md"],
    [call(null, "bash", null), { command: "ls" }, "run", "ls"],
    [call("shop", "deleteOrder"), { id: "7" }, "delete", "7"],
    [call("shop", "frobnicate"), { id: "7" }, "call", "7"],
    [call("shop", "read"), { deep: { path: "x" } }, "call", null],
  ] as const;
  for (const [one, args, verb, object] of cases) {
    const sentence = callSentence(one, json(args), []);
    assert.deepEqual([sentence.verb, sentence.object, sentence.change], [verb, object, null]);
  }
  assert.equal(callSentence(call(null, "bash", null), "{", null).who, "ann", "cut arguments");
});

test("the change since the last approved call is named when it is one short value", () => {
  const changes = [{ pointer: "/status", before: "open", after: "paid" }];
  const sentence = callSentence(call("shop", "update"), json({ id: "7" }), changes);
  assert.equal(sentence.change, "open → paid");
  const twice = [...changes, { pointer: "/id", before: "6", after: "7" }];
  assert.equal(callSentence(call("shop", "update"), json({ id: "7" }), twice).change, null);
});

test("texts that a call replaces are a patch, and so are texts that differ from the last approved call", () => {
  const edit = { path: "a.md", old_string: "one\ntwo\n", new_string: "one\nthree\n" };
  assert.match(argumentsDiff(json(edit), null) ?? "", /--- a\.md[\s\S]*-two\n\+three/);
  const changes = [{ pointer: "/content", before: json("a\nb\n"), after: json("a\nc\n") }];
  assert.match(argumentsDiff(json({ path: "a.md" }), changes) ?? "", /-b\n\+c/);
  assert.equal(argumentsDiff(json({ path: "a.md" }), []), null);
  assert.equal(argumentsDiff("not JSON", null), null);
});

test("a rule is made from a call and put into the list of rules as it is indented there", () => {
  const rule = ruleFor(call("files", "get_file_info"), json({ path: 'a "b".md' }));
  const text = "version: 1\nrules:\n  # first\n  - id: other\n    effect: deny\nmore: []\n";
  const added = withRule(text, rule);
  assert.equal(
    added,
    `version: 1
rules:
  - id: payments-get-file-info
    effect: allow
    approval: auto
    who: { agents: [payments] }
    what: { tools: ["files.get_file_info"] }
    when: [{ arg: /path, op: eq, value: "a \\"b\\".md" }]
  # first
  - id: other
    effect: deny
more: []
`,
  );
  assert.match(ruleFor(call(null, "bash", null), "{}"), /who: \{ users: \[ann\] \}/);
  assert.equal(withRule("rules: []\n", rule), null, "a list in one line is left alone");
});

test("the lines of a rule are found by its id, in either form of YAML", () => {
  const text =
    "rules:\n  - id: one\n    effect: deny\n\n  - { id: two, effect: deny }\nrights: []\n";
  assert.deepEqual(linesOfRule(text, "one"), { from: 1, to: 4 });
  assert.deepEqual(linesOfRule(text, "two"), { from: 4, to: 5 });
  assert.equal(linesOfRule(text, "on"), null);
});
