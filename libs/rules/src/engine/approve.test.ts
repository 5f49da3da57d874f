import assert from "node:assert/strict";
import { test } from "node:test";
import { mcpToolRef } from "@switchyard/contracts/tool-names";
import { compileBundle } from "../bundle/compile-bundle.ts";
import { BundleError, parseBundle } from "../bundle/parse-bundle.ts";
import { bundleDigest } from "../schema/bundle.ts";
import { decide, termsOfCall } from "./evaluate.ts";
import { lint } from "./lint.ts";
import { runPolicyTests } from "./policy-tests.ts";
import { rulesInWords } from "./rule-words.ts";

const START = Date.parse("2026-12-24T10:00:00.000Z");
const parse = (text: string) => parseBundle({ file: "rules.yaml", text: `version: 1\n${text}` });
const problems = (text: string): string => {
  try {
    parse(text);
    return "";
  } catch (error) {
    assert.ok(error instanceof BundleError);
    return error.lines.join("\n");
  }
};
const rule = (approve: string, more = "") =>
  `rules:\n  - { id: pays, effect: allow, ${more} approve: ${approve} }\n`;

const PAYMENTS = `groups:
  - { id: finance, users: [fin-*, ann] }
rules:
  - id: pays
    effect: allow
    what: { tools: [bank.pay] }
    approve: { from: ["group:finance"], within: 4h, escalate: { after: 1h, to: [boss] } }
  - id: pays-much
    effect: allow
    what: { tools: [bank.pay] }
    when: [{ arg: /amount, op: gte, value: 1000 }]
    approve: { from: ["group:finance"], count: 2, notRequester: true, within: 2h, reason: denials, escalate: { after: 1h, to: [boss] } }
  - id: pays-abroad
    effect: allow
    approval: session
    what: { tools: [bank.pay], labels: { any: [abroad] } }
    approve: { from: [law], reason: approvals }
`;

const payment = (amount: number, labels: string[] = []) => ({
  principal: { user: "team-a", agent: null, runId: null },
  tool: mcpToolRef("bank", "pay"),
  args: { amount },
  layers: null,
  server: { labels },
});

test("approve of every allow rule that matches counts, and lists of the same people become one with the highest count", () => {
  const bundle = compileBundle(parse(PAYMENTS));
  const terms = (amount: number, labels: string[] = []) =>
    termsOfCall(bundle, { call: payment(amount, labels), named: [], now: START });
  const small = terms(10);
  assert.deepEqual(small.requirements, [
    {
      rules: ["pays"],
      from: ["group:finance"],
      users: ["fin-*", "ann"],
      count: 1,
      approved: 0,
      notRequester: false,
      escalatesAt: "2026-12-24T11:00:00.000Z",
      to: ["boss"],
      toUsers: ["boss"],
    },
  ]);
  assert.deepEqual([small.needed, small.withinMs, small.reasonFor], [1, 4 * 3_600_000, []]);
  const much = terms(5_000, ["abroad"]);
  assert.deepEqual(
    much.requirements.map(({ rules, count, notRequester }) => ({ rules, count, notRequester })),
    [
      { rules: ["pays", "pays-much"], count: 2, notRequester: true },
      { rules: ["pays-abroad"], count: 1, notRequester: false },
    ],
  );
  assert.deepEqual(
    [much.needed, much.withinMs, much.reasonFor],
    [3, 2 * 3_600_000, ["approvals", "denials"]],
  );
});

test("the decision names the rules and the people, and a rule with approve alone asks for each call", () => {
  const bundle = compileBundle(parse(PAYMENTS));
  const decision = decide(bundle, payment(5_000));
  assert.deepEqual([decision.effect, decision.tier], ["ask", "always"]);
  assert.deepEqual(decision.approveRules, ["pays", "pays-much"]);
  assert.match(decision.reason, /2 of group:finance, not the requester, within 2h/);
  assert.deepEqual(decide(bundle, payment(1)).approveRules, ["pays"]);
});

test("a rule that a provider's decision names counts where the labels of the tool's server are not known", () => {
  const bundle = compileBundle(parse(PAYMENTS));
  const call = { ...payment(1), server: undefined };
  const named = termsOfCall(bundle, { call, named: ["pays-abroad", "gone"], now: START });
  assert.deepEqual(named.requirements.flatMap(({ rules }) => rules).toSorted(), [
    "pays",
    "pays-abroad",
  ]);
});

test("approve, groups, people and deputies with mistakes refuse the bundle with their position", () => {
  assert.match(problems(rule("{}")), /rules\[0\]\.approve requires nothing/);
  assert.match(problems(rule("{ count: 0 }")), /approve\.count must be at least 1/);
  assert.match(
    problems(rule("{ form: [a] }")),
    /"form" in rules\[0\]\.approve; did you mean "from"/,
  );
  assert.match(problems(rule('{ from: ["group:sec"] }')), /"group:sec" is not defined in groups/);
  assert.match(problems(rule('{ from: ["a b"] }')), /must be the name of a user/);
  assert.match(problems(rule("{ count: 2 }", "approval: auto,")), /not with approval: auto/);
  assert.match(problems(rule("{ count: 2 }").replace("allow", "deny")), /approve goes only with/);
  assert.match(
    problems(rule("{ from: [a], within: 1h, escalate: { after: 1h, to: [b] } }")),
    /escalate\.after must be shorter than within/,
  );
  assert.match(
    problems(rule("{ escalate: { after: 1h, too: [b] } }")),
    /"too" in rules\[0\]\.approve\.escalate; did you mean "to"/,
  );
  assert.match(problems(rule("{ escalate: { after: 1h, to: [b] } }")), /goes only with from/);
  const allow = "rules: [{ id: all, effect: allow }]\n";
  assert.match(
    problems(`people: [{ id: a, users: [x] }, { id: b, users: [x] }]\n${allow}`),
    /people\[1\] has the user x, whom people a has already/,
  );
  const deputy = (more: string) =>
    problems(`deputies: [{ id: d, for: ann, by: [ben], ${more} }]\n${allow}`);
  assert.match(deputy("since: tomorrow"), /must be a day such as 2026-12-24/);
  assert.match(deputy("since: 2026-12-24, until: 2026-12-23"), /is before since/);
  assert.match(
    problems(`deputies: [{ id: d, for: ann, by: [ann] }]\n${allow}`),
    /names the user of for/,
  );
});

test("the digest of the bundle changes with the people of an approval and not with their order", () => {
  const people = (entries: string) =>
    bundleDigest(parse(`groups: [${entries}]\n${rule("{ count: 2 }")}`));
  const [one, other] = ["{ id: a, users: [x] }", "{ id: b, users: [y] }"];
  assert.equal(people(`${one}, ${other}`), people(`${other}, ${one}`));
  assert.notEqual(people(one), people(one.replace("x", "z")));
});

test("lint finds a rule whose calls can never be approved, and no rule that a glob may serve", () => {
  const found = (text: string) =>
    lint(parse(text)).map(({ kind, message }) => `${kind} ${message}`);
  assert.match(found(rule("{ from: [ann], count: 2 }")).join(), /^unapprovable .* only ann$/);
  const twice = `people: [{ id: ann, users: [ann-laptop] }]\n`;
  assert.match(
    found(`${twice}${rule("{ from: [ann, ann-laptop], count: 2 }")}`).join(),
    /it wants 2 people, and its lists name only ann/,
  );
  assert.match(
    found(rule("{ from: [ann], notRequester: true }", "who: { users: [ann] },")).join(),
    /name no person/,
  );
  for (const fine of [
    "{ from: [ann, ben], count: 2 }",
    "{ from: [ann], count: 2, escalate: { after: 1h, to: [ben] } }",
    "{ from: [fin-*], count: 2 }",
    "{ count: 2 }",
  ])
    assert.deepEqual(found(rule(fine)), []);
});

test("a rule with approve is neither a duplicate of one without nor shadowed by a stricter tier", () => {
  const rules = `rules:
  - { id: a, effect: allow, approval: session, approve: { count: 2 } }
  - { id: b, effect: allow, approval: session }
  - { id: c, effect: allow, approval: always, what: { tools: [bank.*] } }
`;
  assert.deepEqual(lint(parse(rules)), []);
});

test("rules state in words who has to approve", () => {
  const { rules } = rulesInWords(compileBundle(parse(PAYMENTS)), { limit: 10 });
  assert.equal(rules[0]?.approve, "1 of group:finance, within 4h, after 1h also boss");
  assert.equal(rules[1]?.approve, "1 of law, approvals with a reason");
});

test("a policy test states whose approve counts", () => {
  const bundle = compileBundle(parse(PAYMENTS));
  const given = "given: { tool: bank.pay, args: { amount: 5000 } }, expect: ask-always";
  const result = (approve: string) =>
    runPolicyTests(`tests:\n  - { name: a, ${given}, approve: ${approve} }\n`, bundle).results?.[0]
      ?.message;
  assert.equal(result("[pays-much, pays]"), null);
  assert.match(
    result("[pays]") ?? "",
    /^expected ask-always with approve of pays, got ask-always with approve of pays, pays-much by/,
  );
  assert.match(result("[]") ?? "", /with approve of no rule/);
});
