import assert from "node:assert/strict";
import { test } from "node:test";
import { builtinToolRef, mcpToolRef } from "@switchyard/contracts/tool-names";
import { matchesTool } from "@switchyard/contracts/tool-patterns";
import fc from "fast-check";
import { Rule } from "../schema/bundle.ts";
import { compileBundle } from "../bundle/compile-bundle.ts";
import { decide, ignoresArguments, mayEverAllow, type Call } from "./evaluate.ts";
import { explain } from "./explain.ts";
import { compileToolLayers } from "../layers/tool-layers.ts";

// Small alphabets, so that rules and calls meet often.
const pattern = fc.constantFrom(
  "*",
  "mcp__*",
  "a.*",
  "a.x",
  "a.x*",
  "a.x?",
  "a.x_*",
  "a.x y",
  "a.?y",

  "b__y",
  "mcp__a__y",
  "?.x",
  "x",
  "s*",
);
const tool = fc.constantFrom(
  mcpToolRef("a", "x"),
  mcpToolRef("a", "xy"),
  mcpToolRef("a", "x y"),
  mcpToolRef("a", "y"),
  mcpToolRef("b", "x"),
  mcpToolRef("b", "y"),
  builtinToolRef("x"),
  builtinToolRef("skill"),
);
const name = fc.constantFrom("demo", "other", "cli");
const nameGlob = fc.constantFrom("demo", "*", "o*", "cli", "d?mo");
const value = fc.constantFrom<unknown>(1, 5, "1", "/d/a", "/d/../e", "a", "", null, true, [1], {});
const condition = fc.constantFrom<unknown>(
  { arg: "/p", op: "eq", value: 1 },
  { arg: "/p", op: "eq", value: 5, required: true },
  { arg: "/p", op: "in", value: ["a", 5] },
  { arg: "/p", op: "lte", value: 3 },
  { arg: "/p", op: "gte", value: 1, required: true },
  { arg: "/q", op: "prefix", value: "/d" },
  { arg: "/q", op: "glob", value: "/*" },
  { arg: "/q", op: "maxLength", value: 1 },
  { arg: "/q", op: "pathWithin", value: "/d", required: true },
  { arg: "/p/r", op: "absent" },
);
const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
const some = <T>(arbitrary: fc.Arbitrary<T>) => fc.array(arbitrary, { minLength: 1, maxLength: 3 });

const ruleBody = fc.record({
  effect: fc.constantFrom("allow", "deny"),
  agents: optional(some(nameGlob)),
  users: optional(some(nameGlob)),
  tools: optional(some(pattern)),
  when: optional(some(condition)),
});

const rulesOf = (body: typeof ruleBody, maxLength: number): fc.Arbitrary<Rule[]> =>
  fc
    .array(body, { minLength: 1, maxLength })
    .map((bodies) => bodies.map((each, index) => ruleOf(`r${index}`, each)));

const rules = rulesOf(ruleBody, 12);
/** Most bundles deny most calls; these often allow, for assertions about allowed calls. */
const lenientRules = rulesOf(
  fc.record({
    effect: fc.constantFrom("allow", "allow", "allow", "allow", "deny"),
    agents: fc.constant(undefined),
    users: optional(some(nameGlob)),
    tools: optional(some(pattern)),
    when: fc.option(some(condition), { nil: undefined, freq: 1 }),
  }),
  5,
);

const call: fc.Arbitrary<Call> = fc
  .record({
    user: name,
    agent: fc.option(name),
    tool,
    args: fc.record({ p: value, q: value }, { requiredKeys: [] }),
    layers: fc.option(fc.array(fc.array(pattern, { maxLength: 3 }), { maxLength: 2 })),
  })
  .map(({ user, agent, layers, tool: called, args }) => ({
    principal: { user, agent, runId: agent === null ? null : "run-1" },
    tool: called,
    args,
    layers: agent === null || layers === null ? null : compileToolLayers(layers),
  }));

function ruleOf(id: string, body: typeof ruleBody extends fc.Arbitrary<infer B> ? B : never): Rule {
  const { effect, agents, users, tools, when } = body;
  const who = { ...(agents && { agents }), ...(users && { users }) };
  return Rule.parse({
    id,
    effect,
    ...(Object.keys(who).length > 0 && { who }),
    ...(tools && { what: { tools } }),
    ...(when && { when }),
  });
}

function compiled(list: readonly Rule[]) {
  return compileBundle({ version: 1, rules: [...list] });
}

const runs = { numRuns: 500 };

test("the order of the rules does not affect a decision", () => {
  const shuffled = rules.chain((list) =>
    fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })),
  );
  fc.assert(
    fc.property(shuffled, call, ([list, other], asked) => {
      assert.deepEqual(decide(compiled(other), asked), decide(compiled(list), asked));
    }),
    runs,
  );
});

test("a decision that ignores the arguments is the same for any others", () => {
  const mixed = fc.oneof(rules, lenientRules);
  let ignoring = 0;
  fc.assert(
    fc.property(mixed, call, call, (list, asked, other) => {
      const bundle = compiled(list);
      if (!ignoresArguments(bundle, asked)) return;
      ignoring += 1;
      const again = decide(bundle, { ...asked, args: other.args });
      assert.deepEqual(again, decide(bundle, asked));
    }),
    runs,
  );
  assert.ok(ignoring > 50, `${ignoring} decisions ignored the arguments`);
});

test("one more deny rule never turns a denial into an allowance", () => {
  fc.assert(
    fc.property(rules, ruleBody, call, (list, extra, asked) => {
      fc.pre(decide(compiled(list), asked).effect === "deny");
      const more = [...list, ruleOf("extra", { ...extra, effect: "deny" })];
      assert.equal(decide(compiled(more), asked).effect, "deny");
    }),
    runs,
  );
});

test("one more allow rule never turns an allowance into a denial", () => {
  fc.assert(
    fc.property(lenientRules, ruleBody, call, (list, extra, asked) => {
      fc.pre(decide(compiled(list), asked).effect === "allow");
      const more = [...list, ruleOf("extra", { ...extra, effect: "allow" })];
      assert.equal(decide(compiled(more), asked).effect, "allow");
    }),
    runs,
  );
});

test("a deny rule for the tool denies it, whatever else the bundle contains", () => {
  fc.assert(
    fc.property(rules, call, (list, asked) => {
      const more = [...list, Rule.parse({ id: "extra", effect: "deny" })];
      assert.equal(decide(compiled(more), asked).effect, "deny");
      assert.equal(mayEverAllow(compiled(more), asked), false);
    }),
    runs,
  );
});

test("without an allow rule everything is denied", () => {
  fc.assert(
    fc.property(rules, call, (list, asked) => {
      const denies = list.map((rule) => ({ ...rule, effect: "deny" as const }));
      assert.equal(decide(compiled(denies), asked).effect, "deny");
    }),
    runs,
  );
});

test("whatever is allowed is listed", () => {
  fc.assert(
    fc.property(lenientRules, call, (list, asked) => {
      fc.pre(decide(compiled(list), asked).effect === "allow");
      assert.equal(mayEverAllow(compiled(list), asked), true);
    }),
    runs,
  );
});

test("an explanation contains the decision, and the matching rules account for it", () => {
  fc.assert(
    fc.property(rules, call, (list, given) => {
      const asked = { ...given, layers: null };
      const { decision, considered, nearest } = explain(compiled(list), asked);
      assert.deepEqual(decision, decide(compiled(list), asked));
      const first = (effect: Rule["effect"]) =>
        considered
          .filter((rule) => rule.match && rule.effect === effect)
          .map(({ rule }) => rule)
          .toSorted()[0];
      assert.equal(decision.rule, first("deny") ?? first("allow") ?? null);
      assert.equal(considered.length, list.length);
      if (nearest !== null) assert.equal(first("allow"), undefined);
    }),
    runs,
  );
});

test("a run token only narrows", () => {
  fc.assert(
    fc.property(lenientRules, call, (list, asked) => {
      fc.pre(decide(compiled(list), asked).effect === "allow");
      assert.equal(decide(compiled(list), { ...asked, layers: null }).effect, "allow");
    }),
    runs,
  );
});

test("the index finds the same rules as a scan of every pattern of every rule", () => {
  fc.assert(
    fc.property(rules, call, (list, asked) => {
      const unconditional = list.map(({ id, effect, what }) => Rule.parse({ id, effect, what }));
      const first = (effect: Rule["effect"]) =>
        unconditional
          .filter((rule) => rule.effect === effect && selectsTool(rule, asked))
          .map(({ id }) => id)
          .toSorted()[0];
      const { rule } = decide(compiled(unconditional), { ...asked, layers: null });
      assert.equal(rule, first("deny") ?? first("allow") ?? null);
    }),
    runs,
  );
});

function selectsTool({ what }: Rule, asked: Call): boolean {
  return what?.tools?.some((text) => matchesTool(text, asked.tool)) ?? true;
}
