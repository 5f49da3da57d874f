import assert from "node:assert/strict";
import { test } from "node:test";
import { mcpToolRef } from "@switchyard/contracts/tool-names";
import fc from "fast-check";
import { WindowMemory } from "../budgets/window-memory.ts";
import { compileBundle } from "../bundle/compile-bundle.ts";
import { parseBundle } from "../bundle/parse-bundle.ts";
import { modelOf, type ModelCall } from "../../test/window-model.ts";
import { decide, type Call } from "./evaluate.ts";
import { isKeepable } from "./keepable.ts";
import { planWindows } from "./plan-windows.ts";

const bundleOf = (rules: string) =>
  compileBundle(
    parseBundle({
      file: "p.yaml",
      text: `version: 1\ndefaults: { approval: auto }\nrules:\n${rules}`,
    }),
  );

const MINUTE = 60_000;

/** Decides as the policy service does, with a memory in place of Redis. */
function decider(bundle: ReturnType<typeof bundleOf>) {
  const memory = new WindowMemory();
  let calls = 0;
  return {
    memory,
    judge: (call: Call, nowMs: number) => {
      const plan = planWindows(bundle, call);
      if (plan === null) return decide(bundle, call);
      const best = decide(bundle, plan.atBest);
      if (best.effect === "deny") return best;
      calls += 1;
      return decide(bundle, plan.withReadings(memory.take(plan, `c${calls}`, nowMs).readings));
    },
  };
}

function callOf(tool: string, args: Record<string, unknown> = {}, more: object = {}): Call {
  return {
    principal: { user: "ann", agent: "a", runId: "r1", ...more },
    tool: mcpToolRef("bank", tool),
    args,
    layers: null,
  };
}

const SUM = `  - id: transfers
    effect: allow
    what: { tools: [bank.transfer] }
    when: [{ window: { sum: /amount, per: user, within: 1h, lte: 5000 } }]
`;

test("a sum within a window includes the call itself and the calls in flight, and frees as calls leave it", () => {
  const { judge, memory } = decider(bundleOf(SUM));
  const transfer = (amount: unknown, nowMs: number) =>
    judge(callOf("transfer", { amount }), nowMs).effect;
  assert.equal(transfer(2_000, 0), "allow");
  assert.equal(transfer(2_000, MINUTE), "allow");
  assert.equal(transfer(2_000, MINUTE), "deny");
  assert.equal(transfer(1_000, MINUTE), "allow", "a call that was refused is not counted");
  assert.equal(transfer(1, 60 * MINUTE - 1), "deny");
  assert.equal(transfer(2_000, 60 * MINUTE), "allow", "the first call is an hour old");
  memory.giveBack("c6");
  assert.equal(transfer(2_000, 60 * MINUTE), "allow", "the call before was not made");
});

test("an amount that cannot be added never helps the caller", () => {
  const { judge } = decider(
    bundleOf(`${SUM}  - id: too-much
    effect: deny
    what: { tools: [bank.order] }
    when: [{ window: { sum: /amount, per: user, within: 1h, gt: 5000 } }]
  - { id: orders, effect: allow, what: { tools: [bank.order] } }
`),
  );
  for (const amount of ["2000", null, -1, 1e12, 0.00001, [1], Number.NaN]) {
    assert.equal(judge(callOf("transfer", { amount }), 0).effect, "deny", String(amount));
    assert.equal(judge(callOf("order", { amount }), 0).rule, "too-much", String(amount));
  }
  assert.equal(judge(callOf("transfer"), 0).effect, "deny", "a missing amount");
  assert.equal(judge(callOf("order"), 0).effect, "allow", "as for a condition on an argument");
});

test("amounts with decimal places are added exactly", () => {
  const { judge } = decider(bundleOf(SUM.replace("5000", "0.3")));
  assert.equal(judge(callOf("transfer", { amount: 0.1 }), 0).effect, "allow");
  assert.equal(judge(callOf("transfer", { amount: 0.2 }), 0).effect, "allow");
  assert.equal(judge(callOf("transfer", { amount: 0.0001 }), 0).effect, "deny");
});

test("a rule about earlier calls may ask: the call beyond the limit needs a person", () => {
  const { judge } = decider(
    bundleOf(`  - { id: few, effect: allow, what: { tools: [bank.transfer] }, when: [{ window: { count: true, per: agent, within: 1h, lte: 2 } }] }
  - { id: more, effect: allow, approval: always, what: { tools: [bank.transfer] }, when: [{ window: { count: true, per: agent, within: 1h, gt: 2 } }] }
`),
  );
  const answers = [1, 2, 3, 4].map(() => judge(callOf("transfer"), 0));
  assert.deepEqual(
    answers.map(({ effect, rule }) => `${effect} ${rule}`),
    ["allow few", "allow few", "ask more", "ask more"],
  );
});

test("a window counts the different values of an argument", () => {
  const { judge } = decider(
    bundleOf(`  - { id: few, effect: allow, what: { tools: [bank.transfer] }, when: [{ window: { distinct: /to, per: run, within: 1d, lte: 2 } }] }
`),
  );
  const to = (value: unknown) => judge(callOf("transfer", { to: value }), 0).effect;
  assert.deepEqual(["a", "b", "a", "caf\u00e9", "b", 1].map(to), [
    "allow",
    "allow",
    "allow",
    "deny",
    "allow",
    "deny",
  ]);
});

test("a rule holds after, or never after, a call of another tool in the run, the session or the family", () => {
  const bundle =
    bundleOf(`  - { id: reads, effect: allow, what: { tools: [bank.read, bank.check] } }
  - { id: checked, effect: allow, what: { tools: [bank.transfer] }, when: [{ after: { tools: [bank.check], in: run } }] }
  - { id: tainted, effect: deny, what: { tools: [bank.transfer] }, when: [{ after: { tools: [bank.read], in: family } }] }
  - { id: clean, effect: allow, what: { tools: [bank.send] }, when: [{ neverAfter: { tools: [bank.read], in: session } }] }
`);
  const { judge } = decider(bundle);
  const effect = (tool: string, more?: object) => judge(callOf(tool, {}, more), 0).effect;
  assert.equal(effect("transfer"), "deny");
  assert.equal(effect("check"), "allow");
  assert.equal(effect("transfer"), "allow");
  assert.equal(effect("transfer", { runId: "r2" }), "deny", "another run has not checked");
  const child = { runId: "r3", agent: "b", context: { root: "r1", session: "s1" } };
  assert.equal(effect("send", child), "allow");
  assert.equal(effect("read", child), "allow");
  assert.equal(judge(callOf("transfer"), 0).rule, "tainted", "a run of the family has read");
  assert.equal(effect("send", child), "deny");
  assert.equal(effect("send", { context: { session: "s2" } }), "allow");
  assert.equal(effect("send"), "deny", "a call of no session cannot show that nothing was read");
});

test("a decision that is counted, or depends on a count, is not kept by a provider", () => {
  const bundle = bundleOf(`  - { id: all, effect: allow }
  - { id: tainted, effect: deny, what: { tools: [bank.transfer] }, when: [{ after: { tools: [bank.read], in: run } }] }
`);
  for (const [tool, expected] of [
    ["read", false],
    ["transfer", false],
    ["list", true],
  ] as const) {
    const call = callOf(tool);
    assert.equal(isKeepable(bundle, call, decide(bundle, call)), expected, tool);
  }
});

test("without its history a rule about earlier calls never helps the caller", () => {
  const bundle = bundleOf(`${SUM}  - { id: orders, effect: allow, what: { tools: [bank.order] } }
  - { id: many, effect: deny, what: { tools: [bank.order] }, when: [{ window: { count: true, per: user, within: 1h, gt: 9 } }] }
`);
  assert.equal(decide(bundle, callOf("transfer", { amount: 1 })).effect, "deny");
  assert.equal(decide(bundle, callOf("order")).effect, "deny");
});

const HISTORIES = Number(process.env["YARD_WINDOW_HISTORIES"] ?? 10_000);

test("random histories are decided as an independent model of the documentation decides them", () => {
  const { rules, arbitrary, decideByModel } = modelOf();
  const bundle = bundleOf(rules);
  const effects = new Map<string, number>();
  fc.assert(
    fc.property(arbitrary, (history) => {
      const { judge } = decider(bundle);
      const past: ModelCall[] = [];
      for (const asked of history) {
        const expected = decideByModel(past, asked);
        const { principal, tool, args, atMs } = asked;
        const call = { principal, tool: mcpToolRef("bank", tool), args, layers: null };
        const { effect } = judge(call, atMs);
        assert.equal(effect, expected, JSON.stringify({ past, asked }));
        effects.set(effect, (effects.get(effect) ?? 0) + 1);
        if (effect !== "deny") past.push(asked);
      }
    }),
    { numRuns: HISTORIES },
  );
  for (const effect of ["allow", "ask", "deny"])
    assert.ok((effects.get(effect) ?? 0) > 1_000, effect);
});
