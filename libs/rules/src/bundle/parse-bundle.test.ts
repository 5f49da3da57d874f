import assert from "node:assert/strict";
import { test } from "node:test";
import { bundleDigest } from "../schema/bundle.ts";
import { BundleError, parseBundle, parseBundleFiles } from "./parse-bundle.ts";

const HEAD = "version: 1\nrules:\n";

function parse(text: string) {
  return parseBundle({ file: "policy.yaml", text });
}

/** The refusal's lines, as a person gets them. */
function refusal(text: string): string[] {
  try {
    parse(text);
  } catch (error) {
    assert.ok(error instanceof BundleError, String(error));
    return error.lines;
  }
  return assert.fail("the bundle was accepted");
}

test("a bundle is read as it is written", () => {
  const bundle = parse(`${HEAD}  - id: reads # why
    effect: allow
    who: { agents: [demo*], users: [cli] }
    what: { tools: [files.read_*, mcp__files__list_directory] }
    when: [{ arg: /path, op: pathWithin, value: /data, required: true }]
    note: reading is fine
`);
  assert.deepEqual(bundle, {
    version: 1,
    rules: [
      {
        id: "reads",
        effect: "allow",
        who: { agents: ["demo*"], users: ["cli"] },
        what: { tools: ["files.read_*", "mcp__files__list_directory"] },
        when: [{ arg: "/path", op: "pathWithin", value: "/data", required: true }],
        note: "reading is fine",
      },
    ],
  });
});

test("an unknown key refuses the bundle with its position and the key that was probably meant", () => {
  assert.deepEqual(refusal(`${HEAD}  - id: a\n    effect: deny\n    wat: { tools: [x] }\n`), [
    'policy.yaml:5:5: unknown key "wat" in rules[0]; did you mean "what"?',
  ]);
  assert.deepEqual(refusal(`${HEAD}  - { id: a, effect: deny }\nrule: 1\n`), [
    'policy.yaml:4:1: unknown key "rule"; did you mean "rules"?',
  ]);
  assert.deepEqual(refusal(`${HEAD}  - { id: a, effect: deny, who: { agent: [x] } }\n`), [
    'policy.yaml:3:35: unknown key "agent" in rules[0].who; did you mean "agents"?',
  ]);
  assert.deepEqual(refusal(`${HEAD}  - { id: a, effect: deny, what: { verbs: [x] } }\n`), [
    'policy.yaml:3:36: unknown key "verbs" in rules[0].what; known keys are servers, tools, labels, resources, prompts, sampling, elicitation, logging',
  ]);
});

test("an unsupported key is refused, not ignored", () => {
  const known = "known keys are id, effect, approval, approve, who, what, when, ttl, unmask, note";
  assert.deepEqual(refusal(`${HEAD}  - id: a\n    effect: allow\n    priority: 3\n`), [
    `policy.yaml:5:5: unknown key "priority" in rules[0]; ${known}`,
  ]);
});

test("every problem is reported at once, in the order of the file", () => {
  assert.deepEqual(
    refusal(`version: 2
rules:
  - effect: permit
    who: { agents: [] }
  - nope
`),
    [
      "policy.yaml:1:1: version must be 1",
      "policy.yaml:3:5: rules[0].id is missing",
      "policy.yaml:3:5: rules[0].effect must be allow or deny",
      "policy.yaml:4:12: rules[0].who.agents is empty; leave it out to mean any",
      "policy.yaml:5:5: rules[1] must be a mapping with id and effect",
    ],
  );
});

test("an id may be used once", () => {
  assert.deepEqual(refusal(`${HEAD}  - { id: a, effect: deny }\n  - { id: a, effect: allow }\n`), [
    'policy.yaml:4:7: rules[1].id "a" is already the id of rules[0]',
  ]);
});

test("lists and mappings that select nothing are refused", () => {
  for (const [selector, message] of [
    ["who: {}", "rules[0].who selects nothing; leave it out to mean everyone"],
    ["what: {}", "rules[0].what selects nothing; leave it out to mean every tool"],
    ["when: []", "rules[0].when is empty; leave it out to mean any arguments"],
  ]) {
    assert.deepEqual(refusal(`${HEAD}  - id: a\n    effect: deny\n    ${selector}\n`), [
      `policy.yaml:5:5: ${message}`,
    ]);
  }
  assert.deepEqual(refusal(`${HEAD}  - { id: a, effect: deny, what: { tools: [] } }\n`), [
    "policy.yaml:3:36: rules[0].what.tools is empty; leave it out to mean any",
  ]);
  assert.match(refusal("version: 1\nrules: []\n")[0] ?? "", /^policy\.yaml:2:1: rules is empty/);
});

test("a pattern that can never match is refused", () => {
  for (const pattern of ["mcp__files", "mcp__GitHub__x", "read file", "", "x/y"]) {
    const text = `${HEAD}  - { id: a, effect: deny, what: { tools: [${JSON.stringify(pattern)}] } }\n`;
    assert.match(
      refusal(text)[0] ?? "",
      /^policy\.yaml:3:44: rules\[0\]\.what\.tools\[0\] /,
      pattern,
    );
  }
  for (const name of ["a.b", "a b", ""]) {
    const text = `${HEAD}  - { id: a, effect: deny, who: { users: [${JSON.stringify(name)}] } }\n`;
    assert.match(refusal(text)[0] ?? "", /can never match a name/, name);
  }
});

test("a condition with an unknown operator, a wrong value or no pointer is refused", () => {
  const condition = (text: string) =>
    refusal(`${HEAD}  - id: a\n    effect: deny\n    when:\n      - { ${text} }\n`);
  assert.deepEqual(condition("arg: /x, op: regex, value: a"), [
    "policy.yaml:6:20: rules[0].when[0].op must be one of eq, in, inFile, prefix, glob, matches, lt, lte, gt, gte, maxLength, pathWithin, hostIn, absent",
  ]);
  assert.match(condition("arg: /x, op: lteq, value: 1")[0] ?? "", /did you mean "lte"\?$/);
  assert.deepEqual(condition("arg: /x, value: a"), [
    "policy.yaml:6:9: rules[0].when[0].op is missing",
  ]);
  assert.deepEqual(condition('arg: /x, op: lte, value: "5"'), [
    "policy.yaml:6:29: rules[0].when[0].value must be a number",
  ]);
  assert.deepEqual(condition("arg: /x, op: eq"), [
    "policy.yaml:6:9: rules[0].when[0].value is missing; give it a value, or with than another argument",
  ]);
  assert.match(condition("arg: path, op: eq, value: 1")[0] ?? "", /6:11: .*JSON pointer such as/);
  assert.match(condition("arg: /x, op: lte, value: .nan")[0] ?? "", /must be a number/);
  assert.match(condition("arg: /x, op: lte, value: 9007199254740993")[0] ?? "", /2\^53 - 1/);
  assert.match(condition("arg: /x, op: pathWithin, value: ../a")[0] ?? "", /plain directory path/);
  assert.match(
    condition("arg: /x, op: absent, value: 1")[0] ?? "",
    /does not go with this operator/,
  );
  assert.match(condition("arg: /x, op: absent, required: true")[0] ?? "", /does not go with/);
});

test("each mistake in a condition without an operator of its own is reported at its position", () => {
  const condition = (text: string) =>
    refusal(`${HEAD}  - id: a\n    effect: deny\n    when:\n      - { ${text} }\n`)[0] ?? "";
  assert.match(
    condition("arg: /x, op: lte, value: 1, than: /y"),
    /6:39: .*does not go beside value/,
  );
  assert.match(condition("arg: /x, op: lte, than: /x"), /is the argument itself/);
  assert.match(
    condition("arg: /x, op: glob, value: a, than: /y"),
    /does not go with this operator/,
  );
  assert.match(condition("arg: /x, op: matches, value: (?=a)"), /look-around/);
  assert.match(
    condition("not: { arg: /x, op: lteq, value: 1 }"),
    /rules\[0\]\.when\[0\]\.not\.op must be .*did you mean "lte"\?/,
  );
  assert.match(
    condition("nto: { arg: /x, op: lte, value: 1 }"),
    /op is missing|did you mean "not"/,
  );
  assert.match(condition("at: { zone: Europe/Berln, hours: 08:00-18:00 }"), /6:17: .*time zone/);
  assert.match(condition("at: { zone: UTC }"), /selects every time/);
  assert.match(condition("at: { hours: 08:00-18:00 }"), /at\.zone is missing/);
  assert.match(condition("at: { zone: UTC, hour: 08:00-18:00 }"), /did you mean "hours"\?/);
  for (const hours of ["8-18", "08:00-25:00", "08:00-08:00"])
    assert.match(condition(`at: { zone: UTC, hours: "${hours}" }`), /at\.hours /, hours);
  assert.match(condition("at: { zone: UTC, days: [monday] }"), /mon-fri/);
  assert.match(condition("at: { zone: UTC, dates: [2026-02-30] }"), /must be a date/);
});

test("each mistake in a condition on earlier calls is reported at its position", () => {
  const condition = (text: string, what = "what: { tools: [bank.pay] }") =>
    refusal(
      `${HEAD}  - id: a\n    effect: deny\n    ${what}\n    when:\n      - { ${text} }\n`,
    )[0] ?? "";
  const window = (text: string) => condition(`window: { ${text} }`);
  assert.match(
    window("sum: /a, per: user, within: 1h"),
    /7:11: .*needs one limit: lt, lte, gt or gte/,
  );
  assert.match(window("sum: /a, per: user, within: 1h, gt: 1, lt: 3"), /needs one limit/);
  assert.match(window("per: user, within: 1h, gt: 1"), /needs one of count: true, sum/);
  assert.match(window("count: true, sum: /a, per: user, within: 1h, gt: 1"), /needs one of count/);
  assert.match(window("summ: /a, per: user, within: 1h, gt: 1"), /did you mean "sum"\?/);
  assert.match(
    window("sum: a, per: user, within: 1h, gt: 1"),
    /window\.sum must be a JSON pointer/,
  );
  assert.match(
    window("sum: /a, per: team, within: 1h, gt: 1"),
    /per must be one of user, agent, run/,
  );
  assert.match(window("sum: /a, per: user, within: 31d, gt: 1"), /at most 30d/);
  assert.match(window("sum: /a, per: user, within: 59s, gt: 1"), /at least 1m/);
  assert.match(window("sum: /a, per: user, within: 1h, gt: 0.00001"), /four decimal places/);
  assert.match(window("count: true, per: user, within: 1h, gt: 10000"), /a budget counts more/);
  assert.match(window("count: true, per: user, within: 1h, gt: 1.5"), /whole number/);
  assert.match(condition("after: { tools: [a.b], inn: run, in: run }"), /did you mean "in"\?/);
  assert.match(condition("after: { in: run }"), /after\.tools is missing/);
  assert.match(
    condition("neverAfter: { tools: [a.b], in: team }"),
    /must be run, session or family/,
  );
  assert.match(condition("not: { window: { count: true } }"), /unknown key "window"|op is missing/);
  const sound = "window: { count: true, per: user, within: 1h, gt: 1 }";
  assert.match(
    condition(sound, "who: { users: [a] }"),
    /what has to select tools, and nothing else/,
  );
  assert.match(condition(sound, 'what: { tools: [a.b], prompts: ["a.b"] }'), /nothing else/);
});

test("a policy has a limited number of conditions on earlier calls", () => {
  const rule = (n: number) =>
    `  - { id: r${n}, effect: deny, what: { tools: [a.b] }, when: [{ after: { tools: [a.c], in: run } }] }\n`;
  const rules = (count: number) =>
    `${HEAD}${Array.from({ length: count }, (_, n) => rule(n)).join("")}`;
  assert.equal(parseBundle({ file: "policy.yaml", text: rules(100) }).rules.length, 100);
  assert.deepEqual(refusal(rules(101)), [
    "policy.yaml:103:62: the policy has more than 100 conditions on earlier calls",
  ]);
});

test("YAML that hides a rule's meaning is refused: aliases, anchors, tags, directives, second documents", () => {
  assert.deepEqual(
    refusal(`version: 1
rules:
  - &all { id: a, effect: deny }
  - *all
  - { id: !!str b, effect: deny }
`),
    [
      "policy.yaml:3:10: anchor &all is not allowed",
      "policy.yaml:4:5: alias *all is not allowed; write it out",
      "policy.yaml:5:17: tag !!str is not allowed",
    ],
  );
  assert.match(refusal(`%YAML 1.1\n---\n${HEAD}`)[0] ?? "", /directives such as %YAML/);
  assert.match(
    refusal(`${HEAD}  - { id: a, effect: deny }\n---\nversion: 1\n`)[0] ?? "",
    /^policy\.yaml:4:1: the file holds a second document/,
  );
});

test("broken YAML and repeated keys are refused with their position", () => {
  assert.deepEqual(refusal(`${HEAD}  - { id: a, effect: deny, effect: allow }\n`), [
    "policy.yaml:3:28: Map keys must be unique",
  ]);
  assert.match(refusal(`${HEAD}\t- id: a\n`)[0] ?? "", /^policy\.yaml:3:1: Tabs are not allowed/);
});

test("a file that is too large, empty or nested too deeply is refused", () => {
  assert.deepEqual(refusal(`# ${"x".repeat(1024 * 1024)}`), [
    "policy.yaml:1:1: the file is larger than 1048576 bytes",
  ]);
  assert.match(refusal("")[0] ?? "", /^policy\.yaml:1:1: the bundle must be a mapping/);
  assert.match(refusal("[".repeat(20_000))[0] ?? "", /nested too deeply$/);
});

test("at most fifty problems are listed", () => {
  assert.equal(refusal(`${HEAD}${"  - 5\n".repeat(80)}`).length, 50);
});

const RULE_A = "  - { id: a, effect: deny, note: no }\n";
const RULE_B = "  - id: b # comment\n    what:\n      tools: [x]\n    effect: allow\n";

test("comments, layout and the order of rules and keys do not change the digest", () => {
  const digest = bundleDigest(parse(HEAD + RULE_A + RULE_B));
  assert.match(digest, /^sha256:[0-9a-f]{64}$/);
  const rewritten = `# other\n${HEAD}  - { effect: allow, what: { tools: [ "x" ] }, id: b }\n${RULE_A}`;
  assert.equal(bundleDigest(parse(rewritten)), digest);
});

test("any change of content changes the digest", () => {
  const digests = [RULE_A, RULE_B, RULE_A + RULE_B, RULE_A.replace("note: no", "note: not")].map(
    (rules) => bundleDigest(parse(HEAD + rules)),
  );
  assert.equal(new Set(digests).size, digests.length);
});

test("an approval is valid only in an allow rule, and a time only with an approval for a session", () => {
  assert.deepEqual(refusal(`${HEAD}  - { id: a, effect: deny, approval: always }\n`), [
    "policy.yaml:3:28: rules[0].approval goes only with effect: allow; a denied call cannot be approved",
  ]);
  assert.deepEqual(refusal(`${HEAD}  - { id: a, effect: allow, approval: always, ttl: 30m }\n`), [
    "policy.yaml:3:47: rules[0].ttl goes only with approval: session; it says for how long an approval stays good",
  ]);
  assert.deepEqual(refusal(`${HEAD}  - { id: a, effect: allow, approval: session, ttl: 31d }\n`), [
    "policy.yaml:3:48: rules[0].ttl must be at most 30d",
  ]);
  const [rule] = parse(`${HEAD}  - { id: a, effect: allow, approval: session, ttl: 90s }\n`).rules;
  assert.equal(rule?.ttl, 90_000);
});

test("an id that two files of a bundle have is refused with both positions, in any order of the files", () => {
  const a = { file: "a.yaml", text: `${HEAD}  - { id: x, effect: allow }\n` };
  const b = { file: "b.yaml", text: `# b\n${HEAD}  - { id: x, effect: deny }\n` };
  const expected = ['b.yaml:4:7: rules[0].id "x" is already the id of rules[0] of a.yaml:3'];
  for (const files of [
    [a, b],
    [b, a],
  ]) {
    assert.throws(
      () => parseBundleFiles(files),
      (error) => {
        assert.ok(error instanceof BundleError);
        assert.deepEqual(error.lines, expected);
        return true;
      },
    );
  }
});

test("files of a bundle may each have some sections, and only one of them the defaults", () => {
  const rules = { file: "rules.yaml", text: `${HEAD}  - { id: x, effect: allow }\n` };
  const layers = {
    file: "layers.yaml",
    text: "version: 1\ndefaults: { approval: session }\nlayers: [{ id: safe, profile: minimal }]\n",
  };
  const bundle = parseBundleFiles([rules, layers]);
  assert.equal(bundle.defaults?.approval, "session");
  assert.deepEqual(bundle.layers, [{ id: "safe", profile: "minimal" }]);
  assert.equal(bundleDigest(bundle), bundleDigest(parseBundleFiles([layers, rules])));

  const again = { file: "z.yaml", text: "version: 1\ndefaults: { ttl: 1h }\n" };
  assert.throws(() => parseBundleFiles([rules, layers, again]), {
    message:
      /z\.yaml:2:1: defaults is already defined in layers\.yaml:2; a bundle may define it only once/,
  });
  assert.throws(() => parseBundleFiles([layers]), {
    message: /layers\.yaml:1:1: rules is missing/,
  });
  const odd = { file: "odd.yaml", text: "version: 1\nlayers: [{ id: l, profile: nosuch }]\n" };
  assert.throws(() => parseBundleFiles([rules, odd]), {
    message:
      /odd\.yaml:2:19: layers\[0\]\.profile "nosuch" is not defined; there are minimal, coding, messaging, full/,
  });
});
