import assert from "node:assert/strict";
import { test } from "node:test";
import { MAX_CONSIDERED_RULES } from "@switchyard/contracts/policy/policy-explain";
import { mcpToolRef } from "@switchyard/contracts/tool-names";
import { compileBundle } from "../bundle/compile-bundle.ts";
import { explain } from "./explain.ts";
import { parseBundle } from "../bundle/parse-bundle.ts";

const RULES = `
  - id: reports
    effect: allow
    who: { agents: [reporter-*], users: [team-a] }
    what: { tools: [files.read_*] }
    when:
      - { arg: /path, op: pathWithin, value: reports }
      - { arg: /count, op: lte, value: 10 }
  - { id: admins, effect: allow, who: { users: [admin] } }
  - id: no-secrets
    effect: deny
    what: { tools: [files.*] }
    when: [{ arg: /path, op: glob, value: "*secret*", required: true }]
`;

function ask(args: Record<string, unknown>, who: { user?: string; agent?: string } = {}) {
  return explain(bundleOf(RULES), {
    principal: { user: who.user ?? "team-a", agent: who.agent ?? "reporter-1", runId: null },
    tool: mcpToolRef("files", "read_file"),
    args,
    layers: null,
  });
}

function bundleOf(rules: string) {
  return compileBundle(
    parseBundle({
      file: "test.yaml",
      text: `version: 1\ndefaults: { approval: auto }\nrules:\n${rules}`,
    }),
  );
}

test("an allowance names its rule, and why the others did not match", () => {
  const { decision, considered, omitted, nearest } = ask({ path: "reports/a", count: 3 });
  assert.equal(decision.rule, "reports");
  assert.deepEqual({ omitted, nearest }, { omitted: 0, nearest: null });
  assert.deepEqual(considered, [
    { rule: "reports", effect: "allow", match: true, failed: null, tier: "auto" },
    {
      rule: "no-secrets",
      effect: "deny",
      match: false,
      failed: { part: "when[0]", expected: '/path glob "*secret*"', got: '"reports/a"' },
    },
    {
      rule: "admins",
      effect: "allow",
      match: false,
      failed: { part: "who.users", expected: "admin", got: "team-a" },
      tier: "auto",
    },
  ]);
});

test("a denial names the allow rule that needs the fewest changes, and all of them [complaint-5]", () => {
  const { decision, nearest } = ask({ path: "reports/a", count: "many" }, { user: "team-b" });
  assert.deepEqual([decision.effect, decision.rule], ["deny", null]);
  assert.deepEqual(nearest, {
    rule: "admins",
    failed: [{ part: "who.users", expected: "admin", got: "team-b" }],
  });
  const other = ask({ path: "etc", count: 11 });
  assert.deepEqual(other.nearest?.rule, "admins");
  assert.deepEqual(ask({ path: "reports/a" }).nearest, {
    rule: "reports",
    failed: [{ part: "when[1]", expected: "/count lte 10", got: "missing" }],
  });
});

test("a denial by a deny rule that overrides an allow rule has no nearest", () => {
  const { decision, considered, nearest } = ask({ path: "reports/secret", count: 1 });
  assert.equal(decision.rule, "no-secrets");
  assert.equal(nearest, null);
  assert.deepEqual(
    considered.filter(({ match }) => match).map(({ rule }) => rule),
    ["no-secrets", "reports"],
  );
});

test("an explanation of a direct call states that it has no agent", () => {
  const bundle = bundleOf("  - { id: runs, effect: allow, who: { agents: ['*'] } }\n");
  const principal = { user: "cli", agent: null, runId: null };
  const tool = mcpToolRef("files", "read_file");
  const { nearest } = explain(bundle, { principal, tool, args: {}, layers: null });
  assert.deepEqual(nearest?.failed, [{ part: "who.agents", expected: "*", got: "no agent" }]);
});

test("a long argument is cut, and rules beyond the limit are counted", () => {
  const got = ask({ path: "x".repeat(5_000), count: 1 }).considered.find(
    ({ failed }) => failed?.part === "when[0]",
  )?.failed?.got;
  assert.equal(got?.length, 300);

  const rules = Array.from({ length: MAX_CONSIDERED_RULES + 20 }, (_, index) => index)
    .map((index) => `  - { id: r${index}, effect: allow, what: { tools: [files.t${index}] } }\n`)
    .concat("  - { id: zz, effect: allow, what: { tools: [files.read_file] } }\n");
  const principal = { user: "cli", agent: null, runId: null };
  const tool = mcpToolRef("files", "read_file");
  const many = explain(bundleOf(rules.join("")), { principal, tool, args: {}, layers: null });
  assert.equal(many.considered.length, MAX_CONSIDERED_RULES);
  assert.equal(many.omitted, 21);
  assert.equal(many.considered[0]?.rule, "zz", "what matches is never left out first");
});
