/* oxlint-disable oxc/no-map-spread, unicorn/prefer-set-has -- small values in a test, read better so */
import assert from "node:assert/strict";
import { test } from "node:test";
import { mcpToolRef } from "@switchyard/contracts/tool-names";
import fc from "fast-check";
import {
  askCedar,
  LISTS,
  loadCedar,
  PATTERNS,
  type OracleAnswer,
} from "../../test/cedar-oracle.ts";
import { compileBundle, type CompiledBundle } from "../bundle/compile-bundle.ts";
import { OPERATORS, type ArgumentCondition } from "../schema/condition-schema.ts";
import { Rule } from "../schema/bundle.ts";
import { decide, type Call } from "./evaluate.ts";

/** Decisions that are compared: a few in each run of the tests, all of them where time is no matter. */
const DECISIONS = Number(process.env["YARD_CEDAR_DECISIONS"] ?? 3_000);
const CALLS_A_BUNDLE = 60;

const one = <T>(...values: readonly T[]) => fc.constantFrom(...values);
const some = <T>(...values: readonly T[]) =>
  fc.uniqueArray(one(...values), { minLength: 1, maxLength: 2 });

const text = one("a", "ab", "b", "a/b", "é", "", "a1", "~/a", "a b");
const path = one(
  "/a",
  "/a/b",
  "/a/../b",
  "/ab",
  "a/./b",
  "../a",
  "/",
  "a//b",
  "/a/b/..",
  ".",
  "~/a",
);
const host = one(
  "http://a.b/x",
  "https://b.a.b",
  "a.b",
  "http://a.b@b",
  "b",
  "https://a.b:1/",
  "a b",
);
const number = one(-1, 0, 0.5, 1, 2, 3);
const scalar = fc.oneof(text, number, fc.boolean(), fc.constant(null));
const glob = one("a*", "*b", "a?", "*", "?", "a/*", "*é*", "a");
const textArg = one("/x", "/x", "/x", "/o/x");

const condition: fc.Arbitrary<ArgumentCondition> = fc
  .record({ op: one(...OPERATORS), arg: textArg, required: one(undefined, undefined, true) })
  .chain(({ op, arg, required }): fc.Arbitrary<ArgumentCondition> => {
    const base = { arg, ...(required && { required }) };
    switch (op) {
      case "eq":
        return scalar.map((value) => ({ ...base, op, value }));
      case "in":
        return fc
          .array(scalar, { minLength: 1, maxLength: 3 })
          .map((value) => ({ ...base, op, value }));
      case "inFile":
        return fc.constant({ ...base, op, value: "list.txt" });
      case "prefix":
        return one("a", "a/", "é").map((value) => ({ ...base, op, value }));
      case "glob":
        return glob.map((value) => ({ ...base, op, value }));
      case "matches":
        return one(...PATTERNS).map((value) => ({ ...base, op, value }));
      case "lt":
      case "lte":
      case "gt":
      case "gte":
        return number.map((value) => ({ ...base, op, value }));
      case "maxLength":
        return one(0, 1, 2, 3).map((value) => ({ ...base, op, value }));
      case "pathWithin":
        return one("/a", "/", "a", ".", "/a/b").map((value) => ({ ...base, op, value }));
      case "hostIn":
        return some("a.b", "*.a.b", "b").map((value) => ({ ...base, op, value }));
      case "absent":
        return fc.constant({ arg, op });
      default:
        return op satisfies never;
    }
  });

const selectors = (model: Readonly<Record<string, fc.Arbitrary<unknown>>>) =>
  fc.record(model, { requiredKeys: [] }).filter((found) => Object.keys(found).length > 0);

const who = selectors({
  agents: some("a*", "b", "*"),
  users: some("a", "b*", "*"),
  roles: some("eng", "ops"),
  channels: some("slack", "slack:*"),
  groups: some("core", "c*"),
});
const what = fc.record(
  {
    servers: fc.uniqueArray(one("a", "b", "*"), { minLength: 1, maxLength: 2 }),
    tools: some("read*", "write", "*", "r?ad"),
    labels: selectors({ any: some("egress", "safe"), not: some("egress", "secret") }),
  },
  { requiredKeys: ["servers"] },
);

/** Mostly rules that match, or nearly all decisions would be the same denial. */
const rule = fc.record({
  effect: one("allow", "allow", "allow", "deny"),
  approval: one(undefined, "auto", "auto", "auto", "session", "always"),
  who: fc.option(who, { nil: undefined, freq: 1 }),
  what: fc.option(what, { nil: undefined, freq: 2 }),
  when: fc.option(fc.array(condition, { minLength: 1, maxLength: 2 }), { nil: undefined, freq: 2 }),
});

const value = fc.oneof(text, path, host, scalar, fc.constant([1, 2]), fc.constant({ x: "a" }));
const args = fc.record(
  { x: value, o: fc.oneof(value, fc.record({ x: value }, { requiredKeys: [] })) },
  { requiredKeys: [] },
);
const call: fc.Arbitrary<Call> = fc
  .record({
    user: one("a", "b", "bc"),
    agent: one("a", "ab", "b", null),
    roles: fc.uniqueArray(one("eng", "ops", "qa"), { maxLength: 2 }),
    channel: one("slack", "slack:a", "mail", undefined),
    group: one("core", "club", undefined),
    server: one("a", "b"),
    tool: one("read", "reads", "write", "road"),
    labels: fc.uniqueArray(one("egress", "safe", "secret"), { maxLength: 2 }),
    args,
  })
  .map(({ user, agent, roles, channel, group, server, tool, labels, args: given }) => ({
    principal: {
      user,
      agent,
      runId: null,
      roles,
      context: { ...(channel && { channel }), ...(group && { group }) },
    },
    tool: mcpToolRef(server, tool),
    layers: null,
    server: { labels },
    args: given,
  }));

const round = fc.tuple(
  fc.array(rule, { minLength: 1, maxLength: 6 }),
  fc.array(call, { minLength: CALLS_A_BUNDLE, maxLength: CALLS_A_BUNDLE }),
);

type Decider = (bundle: CompiledBundle, call: Call) => OracleAnswer;

const engine: Decider = (bundle, asked) => {
  const { effect, tier = "always" } = decide(bundle, asked);
  return effect === "deny" ? "deny" : tier;
};

/** Compares until a decision differs. Returns how many decisions of each kind there were. */
function compare(decider: Decider, decisions: number, seed: number) {
  const counts: Record<OracleAnswer, number> = { deny: 0, always: 0, session: 0, auto: 0 };
  const operators = new Set<string>();
  const differing = fc.check(
    fc.property(round, ([drawn, calls]) => {
      const rules = drawn.map(({ approval, effect, ...rest }, index) =>
        Rule.parse({
          id: `r${index}`,
          effect,
          ...(effect === "allow" && approval !== undefined && { approval }),
          ...Object.fromEntries(Object.entries(rest).filter(([, part]) => part !== undefined)),
        }),
      );
      for (const tried of rules.flatMap(({ when = [] }) => when))
        if ("op" in tried) operators.add(tried.op);
      const bundle = compileBundle({ version: 1, rules, lists: LISTS });
      loadCedar(rules);
      for (const asked of calls) {
        const expected = askCedar(asked);
        counts[expected] += 1;
        assert.equal(decider(bundle, asked), expected, JSON.stringify({ rules, asked }));
      }
    }),
    { numRuns: Math.ceil(decisions / CALLS_A_BUNDLE), seed, endOnFailure: true },
  );
  return { differing, counts, operators };
}

test("the engine decides as Cedar does, with every operator and every kind of approval", () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  const { differing, counts, operators } = compare(engine, DECISIONS, seed);
  assert.equal(differing.failed, false, `seed ${seed}: ${String(differing.errorInstance)}`);
  assert.deepEqual([...operators].toSorted(), [...OPERATORS].toSorted());
  // About one decision in ten is `always`, but the rules of a seed can be such that few are.
  for (const [answer, count] of Object.entries(counts))
    assert.ok(count > 0, `seed ${seed}: ${answer} was never decided`);
});

test("the comparison finds an engine in which the first matching rule decides", () => {
  const firstMatch: Decider = (bundle, asked) => {
    const first = bundle.rules.find(
      ({ id }) => engine({ ...bundle, ...only(bundle, id) }, asked) !== "deny",
    );
    const denying = bundle.rules.find(({ id, effect }) => {
      const alone = decide({ ...bundle, ...only(bundle, id) }, asked);
      return effect === "deny" && alone.rule === id;
    });
    if (first === undefined || (denying !== undefined && denying.id < first.id)) return "deny";
    return engine({ ...bundle, ...only(bundle, first.id) }, asked);
  };
  assert.match(differenceOf(firstMatch), DIFFERENCE);
});

test("the comparison finds an engine in which the weakest approval counts", () => {
  const weakest: Decider = (bundle, asked) => {
    if (engine(bundle, asked) === "deny") return "deny";
    const answers = bundle.rules
      .filter(({ effect }) => effect === "allow")
      .map(({ id }) => engine({ ...bundle, ...only(bundle, id) }, asked));
    return (
      (["auto", "session", "always"] as const).find((tier) => answers.includes(tier)) ?? "deny"
    );
  };
  assert.match(differenceOf(weakest), DIFFERENCE);
});

/** The bundle with one of its rules. */
function only(bundle: CompiledBundle, id: string): Pick<CompiledBundle, "allow" | "deny"> {
  const keep = (index: CompiledBundle["allow"]): CompiledBundle["allow"] => {
    const entries = [...index.exact.values(), ...index.byPrefix.values(), index.anywhere].flat();
    return {
      exact: new Map(),
      byPrefix: new Map(),
      prefixLengths: new Map(),
      anywhere: entries.filter((entry) => entry.rule.id === id),
    };
  };
  return { allow: keep(bundle.allow), deny: keep(bundle.deny) };
}

/** A decision that differs, and no other failure. */
const DIFFERENCE = /AssertionError/;

function differenceOf(decider: Decider): string {
  const { failed, errorInstance } = compare(decider, 12_000, 1).differing;
  assert.equal(failed, true);
  return errorInstance instanceof Error ? errorInstance.name : String(errorInstance);
}
