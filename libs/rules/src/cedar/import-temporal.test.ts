import assert from "node:assert/strict";
import { test } from "node:test";
import { isGood, validate } from "../engine/validate.ts";
import { importCedar, rulesText } from "./import-cedar.ts";

/*
 * The use cases of AWS's "Authoring temporal policies" (Amazon Bedrock AgentCore developer guide, August 2026) with the decisions that the
 * guide states for them, and forms of the language guide of Dogwood. Names of tools are ours.
 */
const HERE = 'Bank::Gateway::"main"';
const MOVE = 'Bank::Action::"Funds___move"';
const LOOK = 'Bank::Action::"Funds___look"';
const LOG = 'Bank::Action::"Funds___log"';
const scope = (effect: string, action: string) =>
  `${effect} (principal, action == ${action}, resource == ${HERE})`;
const OPEN = [MOVE, LOOK, LOG].map((action) => `${scope("permit", action)};`).join("\n");
const at = "eventResource: resource";

interface Decided {
  readonly tool: string;
  readonly expect: "allow" | "deny";
  /** Earlier calls of the session as `minutes ago: tool: amount`. */
  readonly earlier?: readonly (readonly [ago: string, tool: string, amount?: number])[];
  readonly amount?: number;
  readonly session?: string;
}

/** Imports the policies and decides calls by the rules, with the clock and the history of each. */
function assertDecisions(text: string, calls: readonly Decided[]): void {
  const rules = rulesText(importCedar(text, { resource: HERE }), "bank.dw");
  const tests = calls.map(({ tool, expect, earlier = [], amount = 1, session = "s1" }, index) => ({
    name: `call ${index}`,
    given: {
      user: "ann",
      agent: "cashier",
      session,
      tool: `funds.${tool}`,
      args: { amount },
      earlier: earlier.map(([ago, before, sum = 1]) => ({
        ago,
        tool: `funds.${before}`,
        args: { amount: sum },
      })),
    },
    expect,
  }));
  const validation = validate({
    files: [{ name: "bank.yaml", text: rules }],
    tests: [{ name: "bank.test.yaml", text: JSON.stringify({ tests }) }],
  });
  const failed = validation.results.filter(({ passed }) => !passed).map(({ message }) => message);
  assert.deepEqual([validation.problems, failed, isGood(validation)], [[], [], true], rules);
}

function kinds(text: string): string[] {
  return importCedar(text, { resource: HERE }).notes.map(({ kind }) => kind);
}

test("tool sequencing: a tool is allowed after a request of another one", () => {
  const policy = `${scope("permit", LOOK)} when temporal { formerly within 5m ${MOVE}::request{ ${at} } };\n${scope("permit", MOVE)};`;
  assert.deepEqual(kinds(policy), []);
  assertDecisions(policy, [
    { tool: "look", expect: "deny" },
    { tool: "look", expect: "allow", earlier: [["4m", "move"]] },
    { tool: "look", expect: "deny", earlier: [["6m", "move"]] },
    { tool: "look", expect: "deny", earlier: [["4m", "look"]] },
  ]);
});

test("rate limiting: the fourth call in five minutes is denied", () => {
  const written = `exists (n: Long). (count for (t: Timepoint). where (formerly within 5m (${MOVE}::request{ ${at} } && tp(t)))) == n && n > 3`;
  for (const condition of [
    written,
    `bind(n, count_within(5m, ${MOVE}::request{ ${at} }), n > 3)`,
    `count_within(5m, ${MOVE}::request{ ${at} }) > 3`,
    `3 < count_within(5m, ${MOVE}::request{})`,
  ]) {
    const policy = `${OPEN}\n${scope("forbid", MOVE)} when temporal { ${condition} };`;
    assert.deepEqual(kinds(policy), []);
    assertDecisions(policy, [
      {
        tool: "move",
        expect: "allow",
        earlier: [
          ["1m", "move"],
          ["2m", "move"],
        ],
      },
      {
        tool: "move",
        expect: "deny",
        earlier: [
          ["1m", "move"],
          ["2m", "move"],
          ["3m", "move"],
        ],
      },
      {
        tool: "move",
        expect: "allow",
        earlier: [
          ["1m", "move"],
          ["2m", "move"],
          ["6m", "move"],
        ],
      },
      {
        tool: "look",
        expect: "allow",
        earlier: [
          ["1m", "move"],
          ["2m", "move"],
          ["3m", "move"],
        ],
      },
    ]);
  }
});

test("cumulative budget: the transfer that reaches the sum is denied", () => {
  const written = `exists (total: Long). (sum amt for (amt: Long), (t: Timepoint). where (formerly within 5m (${MOVE}::request{ ${at}, input.amount: amt } && tp(t)))) == total && total >= 3000`;
  for (const clause of [
    `when temporal { ${written} }`,
    `when temporal { bind(total, sum_within(amt, 5m, ${MOVE}::request{ ${at}, input.amount: amt }), total >= 3000) }`,
    `unless temporal { sum_within(amt, 5m, ${MOVE}::request{ ${at}, input.amount: amt }) < 3000 }`,
  ]) {
    const policy = `${OPEN}\n${scope("forbid", MOVE)} ${clause};`;
    assert.deepEqual(kinds(policy), []);
    assertDecisions(policy, [
      { tool: "move", amount: 1_000, expect: "allow", earlier: [["1m", "move", 1_000]] },
      {
        tool: "move",
        amount: 1_000,
        expect: "deny",
        earlier: [
          ["1m", "move", 1_000],
          ["2m", "move", 1_000],
        ],
      },
      {
        tool: "move",
        amount: 999,
        expect: "allow",
        earlier: [
          ["1m", "move", 1_000],
          ["2m", "move", 1_000],
        ],
      },
    ]);
  }
});

test("cool-down: a tool is denied for a minute after its last call, also after one that failed", () => {
  const policy = `${OPEN}\n${scope("forbid", MOVE)} when temporal { formerly within 1m ${MOVE}::response{ ${at} } };`;
  assert.deepEqual(kinds(policy), ["stricter"]);
  assertDecisions(policy, [
    { tool: "move", expect: "allow" },
    { tool: "move", expect: "deny", earlier: [["30s", "move"]] },
    { tool: "move", expect: "allow", earlier: [["2m", "move"]] },
  ]);
});

test("permits that need a finished call, its output or an order of calls are left out", () => {
  const conditions = {
    "output-to-input integrity": `formerly within 1h ${LOOK}::response{ ${at}, output.account: context.input.to }`,
    "data freshness": `formerly within 5m ${MOVE}::response{ ${at} }`,
    "one-time-use approval": `!${MOVE}::response{ ${at} } since within 1h ${LOOK}::response{ ${at} }`,
    "continuous precondition": `!${LOG}::response{ ${at} } since within 5m ${LOOK}::response{ ${at} }`,
    "the event before": `previous within 1h ${LOOK}::request{ ${at} }`,
    "the same user": `formerly within 1h ${LOOK}::request{ eventPrincipal: principal }`,
  };
  for (const [name, condition] of Object.entries(conditions)) {
    const imported = importCedar(`${scope("permit", LOG)} when temporal { ${condition} };`, {
      resource: HERE,
    });
    assert.deepEqual(
      [imported.rules, imported.notes.map(({ kind }) => kind)],
      [[], ["left-out"]],
      name,
    );
  }
});

test("forbids with such conditions deny more", () => {
  const policy = `${OPEN}\n${scope("forbid", MOVE)} unless temporal { formerly within 1h ${LOOK}::response{ ${at}, output.account: context.input.to } };`;
  assert.deepEqual(kinds(policy), ["stricter"]);
  assertDecisions(policy, [
    { tool: "move", expect: "deny", earlier: [["1m", "look"]] },
    { tool: "look", expect: "allow" },
  ]);
});

test("a limit on different values is a window, and a forbid holds also for a call without a session", () => {
  const policy = `${scope("forbid", MOVE)} when temporal { count_distinct_within(to, 1h, ${MOVE}::request{ input.to: to }) > 2 };`;
  assert.deepEqual(importCedar(policy, { resource: HERE }).rules, [
    {
      id: "line-1",
      effect: "deny",
      what: { tools: ["funds.move"] },
      when: [
        {
          window: {
            distinct: "/to",
            of: ["funds.move"],
            per: "session",
            within: "1h",
            required: true,
            gt: 2,
          },
        },
      ],
    },
  ]);
});

test("events that are the call itself, errors and long windows are no conditions of rules", () => {
  for (const condition of [
    `formerly within 1m ${MOVE}::request{ ${at} }`,
    `formerly within 1m ${LOOK}::error{ ${at} }`,
    `formerly within 40d ${LOOK}::request{ ${at} }`,
    `count_within(1h, ${LOOK}::request{}) == 3`,
    `exists (u: String). formerly within 1h ${LOOK}::request{ input.user: u }`,
  ]) {
    assert.deepEqual(
      kinds(`${scope("permit", MOVE)} when temporal { ${condition} };`),
      ["left-out"],
      condition,
    );
    assert.deepEqual(
      kinds(`${scope("forbid", MOVE)} when temporal { ${condition} };`),
      ["stricter"],
      condition,
    );
  }
});
