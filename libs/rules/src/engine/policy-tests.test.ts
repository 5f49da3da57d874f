import assert from "node:assert/strict";
import { test } from "node:test";
import { MAX_POLICY_TESTS } from "@switchyard/contracts/policy/policy-texts";
import { compileBundle } from "../bundle/compile-bundle.ts";
import { parseBundle } from "../bundle/parse-bundle.ts";
import { runPolicyTests } from "./policy-tests.ts";
import { problemLine } from "@switchyard/service/yaml-file";

const bundle = compileBundle(
  parseBundle({
    file: "test.yaml",
    text: `version: 1
defaults: { approval: auto }
rules:
  - { id: reads, effect: allow, who: { agents: [demo] }, what: { tools: [files.read_file] } }
  - { id: echo, effect: allow, who: { users: [cli] }, what: { tools: [everything.echo] }, when: [{ arg: /message, op: maxLength, value: 3 }] }
  - { id: all-may-think, effect: allow, what: { tools: [think] } }
`,
  }),
);

function problemsOf(text: string): string[] {
  return runPolicyTests(text, bundle).problems.map((problem) => problemLine("t.yaml", problem));
}

test("tests state the principal, the tool and the arguments, and are decided like a call", () => {
  const { results } = runPolicyTests(
    `tests:
  - name: the demo reads
    given: { agent: demo, tool: mcp__files__read_file }
    expect: allow
    by: reads
  - name: short messages
    given: { user: cli, tool: everything.echo, args: { message: abc } }
    expect: allow
  - name: no long ones
    given: { user: cli, tool: everything.echo, args: { message: abcd } }
    expect: deny
  - { name: thinking, given: { tool: think }, expect: allow }
`,
    bundle,
  );
  assert.deepEqual(
    results?.map(({ name, line, passed }) => [name, line, passed]),
    [
      ["the demo reads", 2, true],
      ["short messages", 6, true],
      ["no long ones", 9, true],
      ["thinking", 12, true],
    ],
  );
});

test("a failing test reports the decision and the rule that made it", () => {
  const { results } = runPolicyTests(
    `tests:
  - { name: a, given: { agent: demo, tool: files.read_file }, expect: deny }
  - { name: b, given: { agent: demo, tool: files.read_file }, expect: allow, by: echo }
  - { name: c, given: { tool: files.read_file }, expect: allow, by: reads }
`,
    bundle,
  );
  assert.deepEqual(
    results?.map(({ message }) => message),
    [
      "expected deny, got allow by reads: rule reads allows mcp__files__read_file",
      "expected allow by echo, got allow by reads: rule reads allows mcp__files__read_file",
      "expected allow by reads, got deny: no rule allows mcp__files__read_file for user some-user",
    ],
  );
});

test("a test of a rule about the time states the time", () => {
  const office = compileBundle(
    parseBundle({
      file: "p.yaml",
      text: `version: 1
rules:
  - { id: office, effect: allow, approval: auto, what: { tools: [bank.pay] }, when: [{ at: { zone: Europe/Berlin, hours: "08:00-18:00" } }] }
`,
    }),
  );
  const { results } = runPolicyTests(
    `tests:
  - { name: day, given: { tool: bank.pay, at: "2026-11-27T08:00:00+01:00" }, expect: allow, by: office }
  - { name: night, given: { tool: bank.pay, at: "2026-11-27T19:00:00+01:00" }, expect: deny }
  - { name: no time, given: { tool: bank.pay }, expect: deny }
`,
    office,
  );
  assert.deepEqual(
    results?.map(({ passed }) => passed),
    [true, true, true],
  );
  assert.match(
    problemsOf('tests: [{ name: a, given: { tool: x, at: "10:00" }, expect: deny }]\n').join(),
    /given\.at must be a time with its offset/,
  );
});

test("a test states the earlier calls, which leave a window by their age", () => {
  const limits = compileBundle(
    parseBundle({
      file: "p.yaml",
      text: `version: 1
defaults: { approval: auto }
rules:
  - { id: reads, effect: allow, what: { tools: [bank.read] } }
  - { id: transfers, effect: allow, what: { tools: [bank.transfer] }, when: [{ window: { sum: /amount, per: user, within: 1h, lte: 5000 } }] }
  - { id: more, effect: allow, approval: always, what: { tools: [bank.transfer] }, when: [{ window: { sum: /amount, per: user, within: 1h, gt: 5000 } }] }
  - { id: tainted, effect: deny, what: { tools: [bank.transfer] }, when: [{ after: { tools: [bank.read], in: run } }] }
`,
    }),
  );
  const { results } = runPolicyTests(
    `tests:
  - { name: first, given: { user: ann, tool: bank.transfer, args: { amount: 5000 } }, expect: allow, by: transfers }
  - name: beyond
    given:
      user: ann
      tool: bank.transfer
      args: { amount: 2000 }
      earlier:
        - { ago: 59m, tool: bank.transfer, args: { amount: 3001 } }
    expect: ask-always
  - name: an hour ago, and another user's
    given:
      user: ann
      tool: bank.transfer
      args: { amount: 2000 }
      earlier:
        - { ago: 1h, tool: bank.transfer, args: { amount: 3001 } }
        - { ago: 1m, user: bob, tool: bank.transfer, args: { amount: 3001 } }
    expect: allow
  - name: after a read in the run
    given: { agent: a, tool: bank.transfer, args: { amount: 1 }, earlier: [{ ago: 2d, tool: bank.read }] }
    expect: deny
    by: tainted
  - name: after a read in another run
    given: { agent: a, tool: bank.transfer, args: { amount: 1 }, earlier: [{ ago: 2d, run: r2, tool: bank.read }] }
    expect: allow
`,
    limits,
  );
  assert.deepEqual(
    results?.map(({ message }) => message),
    [null, null, null, null, null],
  );
  assert.match(
    problemsOf(
      "tests: [{ name: a, given: { tool: x, earlier: [{ tool: y, agoo: 1h }] }, expect: deny }]\n",
    ).join(),
    /unknown key "agoo" in tests\[0\]\.given\.earlier\[0\]; did you mean "ago"\?/,
  );
});

test("every mistake is reported with its position", () => {
  assert.deepEqual(
    problemsOf(`tests:
  - name: a
    given: { agnet: demo, tool: "files.*" }
    expect: maybe
  - { given: { tool: x, args: [] }, expect: allow, by: 3 }
`),
    [
      't.yaml:3:14: unknown key "agnet" in tests[0].given; did you mean "agent"?',
      "t.yaml:3:27: tests[0].given.tool must be one tool, as mcp__server__tool, server.tool, or the name of a built-in tool",
      "t.yaml:4:5: tests[0].expect must be allow, deny, ask-session or ask-always",
      "t.yaml:5:5: tests[1].name is missing",
      "t.yaml:5:25: tests[1].given.args must be a mapping",
      "t.yaml:5:52: tests[1].by must be the id of a rule",
    ],
  );
  assert.deepEqual(problemsOf("rules: []\n"), [
    "t.yaml:1:1: tests is missing",
    't.yaml:1:1: unknown key "rules"; known keys are tests',
  ]);
  assert.deepEqual(problemsOf("tests: []\n"), [
    "t.yaml:1:1: tests is empty; a policy without tests has no such file",
  ]);
  assert.match(problemsOf("tests: [\n").join(), /^t\.yaml:\d+:\d+: /);
  assert.match(problemsOf("tests: &a []\n").join(), /anchor &a is not allowed/);
});

test("the number of tests is limited", () => {
  const line = "  - { name: n, given: { tool: think }, expect: allow }\n";
  assert.deepEqual(problemsOf(`tests:\n${line.repeat(MAX_POLICY_TESTS + 1)}`), [
    `t.yaml:1:1: tests has more than ${MAX_POLICY_TESTS} tests`,
  ]);
});

test("earlier calls of a test may have been denied or approved", () => {
  const rules = compileBundle(
    parseBundle({
      file: "test.yaml",
      text: `version: 1
rules:
  - { id: pays, effect: allow, approval: auto, what: { tools: [bank.pay] }, when: [{ neverAfter: { tools: [bank.vault], in: session, outcome: denied } }] }
  - { id: more, effect: allow, approval: auto, what: { tools: [bank.more] }, when: [{ after: { tools: [bank.pay], in: session, within: 1h, outcome: approved } }] }
`,
    }),
  );
  const decided = (tool: string, earlier: object[], expect: string) => ({
    name: `${tool} ${JSON.stringify(earlier)}`,
    given: { user: "ann", session: "s1", tool, earlier },
    expect,
  });
  const tests = [
    decided("bank.pay", [], "allow"),
    decided("bank.pay", [{ ago: "1m", tool: "bank.vault", outcome: "denied" }], "deny"),
    decided("bank.pay", [{ ago: "1m", tool: "bank.vault" }], "allow"),
    decided(
      "bank.pay",
      [{ ago: "1m", tool: "bank.vault", outcome: "denied", session: "s2" }],
      "allow",
    ),
    decided("bank.more", [{ ago: "1m", tool: "bank.pay" }], "deny"),
    decided("bank.more", [{ ago: "1m", tool: "bank.pay", outcome: "approved" }], "allow"),
    decided("bank.more", [{ ago: "2h", tool: "bank.pay", outcome: "approved" }], "deny"),
  ];
  const { results } = runPolicyTests(JSON.stringify({ tests }), rules);
  assert.deepEqual(
    results?.filter(({ passed }) => !passed),
    [],
  );
});
