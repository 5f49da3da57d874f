import assert from "node:assert/strict";
import { test } from "node:test";
import { builtinToolRef, mcpToolRef } from "@switchyard/contracts/tool-names";
import { budgetsOf } from "../budgets/compile-budgets.ts";
import { compileBundle } from "../bundle/compile-bundle.ts";
import { BundleError, parseBundle } from "../bundle/parse-bundle.ts";
import { compileToolLayers } from "../layers/tool-layers.ts";
import { decide, mayEverAllow } from "./evaluate.ts";
import { explain } from "./explain.ts";
import { lint } from "./lint.ts";
import { runPolicyTests } from "./policy-tests.ts";
import { whoCan } from "./who-can.ts";

const INPUT = builtinToolRef("input_file");
const ATTACH = builtinToolRef("attach_file");

function parsed(text: string) {
  return parseBundle({ file: "rules.yaml", text: `version: 1\n${text}` });
}
const compiled = (text: string) => compileBundle(parsed(text));

function given(mediaType: string, sizeBytes: number, rest: Record<string, unknown> = {}) {
  const { agent = "reader", user = "team-a", approval, tool = INPUT, name = "a" } = rest;
  const principal = {
    user: String(user),
    agent: String(agent),
    runId: "run-1",
    ...(approval === undefined ? {} : { approval: "always" as const }),
  };
  const args = { name, mediaType, sizeBytes };
  return { principal, tool: tool as typeof INPUT, args, layers: null };
}

const RULES = `rules:
  - id: pictures
    effect: allow
    who: { agents: [reader], users: [team-*] }
    what: { tools: [input_file] }
    when:
      - { arg: /mediaType, op: glob, value: image/* }
      - { arg: /sizeBytes, op: lte, value: 1000 }
  - { id: no-gif, effect: deny, what: { tools: [input_file] }, when: [{ arg: /mediaType, op: in, value: [image/gif] }] }
  - { id: tools, effect: allow, approval: auto, what: { tools: [docs.*] } }
`;

test("rules allow files of an input by type and size, for the agents and users that they name", () => {
  const bundle = compiled(RULES);
  const effectOf = (...facts: Parameters<typeof given>) => {
    const { effect, rule } = decide(bundle, given(...facts));
    return [effect, rule];
  };
  assert.deepEqual(effectOf("image/png", 1000), ["allow", "pictures"]);
  assert.deepEqual(effectOf("image/png", 1001), ["deny", null]);
  assert.deepEqual(effectOf("image/gif", 10), ["deny", "no-gif"]);
  assert.deepEqual(effectOf("application/pdf", 10), ["deny", null]);
  assert.deepEqual(effectOf("image/png", 10, { user: "cli" }), ["deny", null]);
  assert.deepEqual(effectOf("image/png", 10, { agent: "writer" }), ["deny", null]);
});

test("the reason of a decision about a file has its type, its size and the rule", () => {
  const bundle = compiled(RULES);
  assert.match(
    decide(bundle, given("image/gif", 10)).reason,
    /rule no-gif denies input_file of image\/gif with 10 bytes/,
  );
  assert.match(
    decide(bundle, given("image/png", 1001)).reason,
    /input_file of image\/png with 1001 bytes .* rule pictures allows it with others/,
  );
});

test("a policy whose rules name no file access allows every file, also beside rules with wildcards", () => {
  for (const rules of [
    "rules: [{ id: none, effect: deny }]\n",
    "rules: [{ id: some, effect: deny, what: { tools: ['*_file'] } }]\n",
  ]) {
    const { effect, rule } = decide(compiled(rules), given("audio/wav", 10));
    assert.deepEqual([effect, rule], ["allow", null], rules);
  }
  const bundle = compiled(RULES);
  assert.equal(decide(bundle, given("audio/wav", 10, { tool: ATTACH })).effect, "allow");
  assert.equal(mayEverAllow(bundle, given("", 0, { tool: ATTACH })), true);
});

test("tool lists of agents, layers, approvals and budgets are about calls, and not about files", () => {
  const bundle = compiled(`defaults: { approval: always }
layers: [{ id: few, for: { agents: [reader] }, allow: [docs.*] }]
budgets: [{ id: none, for: { agents: [reader] }, per: run, calls: 1 }]
${RULES}`);
  const layers = compileToolLayers([["docs.read"]]);
  const call = { ...given("image/png", 10, { approval: "always" }), layers };
  assert.deepEqual(decide(bundle, call).tier, "auto");
  assert.deepEqual(budgetsOf(bundle.budgets, call), []);
  const tool = mcpToolRef("docs", "read");
  assert.equal(budgetsOf(bundle.budgets, { ...call, tool }).length, 1);
});

test("who-can lists who may give a file: everybody without a rule, else those of the rules, without layers and rules that ask", () => {
  const reachOf = (rules: string, tool = INPUT) => {
    const { reach, deniedBy } = whoCan(compiled(rules), tool, undefined);
    const rows = reach.map(({ rule, tier, users, agents, conditional, except }) => [
      rule,
      tier,
      users,
      agents,
      conditional,
      except,
    ]);
    return { rows, deniedBy };
  };
  const layered = `defaults: { approval: always }
layers: [{ id: few, for: { agents: [reader] }, allow: [docs.*] }]
${RULES}`;
  const pictures = ["pictures", "auto", ["team-*"], ["reader"], true, ["no-gif"]];
  assert.deepEqual(reachOf(layered).rows, [pictures]);
  assert.deepEqual(reachOf(layered, ATTACH).rows, [["(no rule)", "auto", null, null, false, []]]);
  const asking = `${RULES}  - { id: asks, effect: allow, approval: session, who: { agents: [reader] }, what: { tools: [input_file] } }
  - { id: writers, effect: allow, who: { agents: [writer] }, what: { tools: [input_file] } }
`;
  assert.deepEqual(reachOf(asking).rows, [
    ["writers", "auto", null, ["writer"], false, ["asks", "no-gif"]],
  ]);
  const closed = "rules: [{ id: no, effect: deny, what: { tools: [attach_file] } }]\n";
  assert.deepEqual(reachOf(closed, ATTACH), { rows: [], deniedBy: ["no"] });
});

test("an allow rule that wants an approval of a file asks, and a tool of a server with the name is a tool", () => {
  const bundle = compiled(
    "rules: [{ id: a, effect: allow, approval: session, what: { tools: [input_file] } }]\n",
  );
  assert.equal(decide(bundle, given("image/png", 10)).effect, "ask");
  const tool = mcpToolRef("docs", "input_file");
  assert.equal(decide(bundle, given("image/png", 10, { tool })).effect, "deny");
});

test("a file is explained and tested as a call is, and the file names are known to the linter", () => {
  const bundle = compiled(RULES);
  const explained = explain(bundle, given("image/png", 2000));
  assert.deepEqual(explained.nearest, {
    rule: "pictures",
    failed: [{ part: "when[1]", expected: "/sizeBytes lte 1000", got: "2000" }],
  });
  assert.deepEqual(explained.limits, []);
  const tests = `tests:
  - name: a picture
    given: { user: team-a, agent: reader, tool: input_file, args: { mediaType: image/png, sizeBytes: 10 } }
    expect: allow
    by: pictures
  - name: a sound
    given: { user: team-a, agent: reader, tool: input_file, args: { mediaType: audio/wav, sizeBytes: 10 } }
    expect: deny
`;
  const { results } = runPolicyTests(tests, bundle);
  assert.deepEqual(
    results?.map(({ passed }) => passed),
    [true, true],
  );
  assert.deepEqual(lint(parsed(RULES)), []);
});

test("a condition on what a file does not have refuses the bundle, and names what it has", () => {
  const when = "when: [{ arg: /type, op: eq, value: image/png }]";
  assert.throws(
    () => parsed(`rules:\n  - { id: a, effect: deny, what: { tools: [input_file] }, ${when} }\n`),
    (error) =>
      error instanceof BundleError &&
      /3:.*rules\[0\]\.when\[0\]\.arg .*\/mediaType/.test(error.lines.join("\n")),
  );
  // Beside other tools the argument may be one of theirs.
  parsed(
    `rules:\n  - { id: a, effect: deny, what: { tools: [input_file, read_file] }, ${when} }\n`,
  );
});
