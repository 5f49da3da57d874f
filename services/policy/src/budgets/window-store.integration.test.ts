import assert from "node:assert/strict";
import { after, test } from "node:test";
import { mcpToolRef } from "@switchyard/contracts/tool-names";
import { testRedis } from "@switchyard/testing/test-servers";
import { compileBundle } from "@switchyard/rules/bundle/compile-bundle";
import { parseBundle } from "@switchyard/rules/bundle/parse-bundle";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import fc from "fast-check";
import { modelOf, type ModelCall } from "../../../../libs/rules/test/window-model.ts";
import { explainCall, judgeCall } from "../calls/judge-call.ts";
import { recordOutcome } from "../calls/record-outcome.ts";
import { createBudgetStore } from "./budget-store.ts";

const server = await testRedis();
const log = createLog({ service: "test", level: "silent" });

const bundleOf = (rules: string) =>
  compileBundle(
    parseBundle({
      file: "p.yaml",
      text: `version: 1\ndefaults: { approval: auto }\nrules:\n${rules}`,
    }),
  );

const TRANSFERS = bundleOf(`  - id: transfers
    effect: allow
    what: { tools: [bank.transfer] }
    when: [{ window: { sum: /amount, per: user, within: 1h, lte: 5000 } }]
`);

async function connected() {
  const redis = await connectRedis({ url: server.url, name: "test", log });
  after(() => redis.disconnect());
  return redis;
}

/** A replica of the policy, with a connection of its own. */
async function replicaOf(bundle: typeof TRANSFERS, nowMs?: () => number) {
  const redis = await connected();
  const budgets = createBudgetStore(redis, nowMs);
  return { redis, budgets, about: { bundle, stops: { find: () => null }, budgets } };
}

function transfer(user: string, amount: number) {
  const principal = { user, agent: null, runId: null };
  return { principal, tool: mcpToolRef("bank", "transfer"), args: { amount }, layers: null };
}

test("of three concurrent transfers of 2,000 under 5,000 an hour the third is refused, always, at two replicas", async () => {
  const replicas = [await replicaOf(TRANSFERS), await replicaOf(TRANSFERS)] as const;
  for (let round = 0; round < 50; round += 1) {
    const call = transfer(`user-${round}`, 2_000);
    const judged = await Promise.all(
      [0, 1, 0].map((replica) =>
        judgeCall((replicas[replica] ?? replicas[0]).about, { kind: "tool", call }),
      ),
    );
    const effects = judged.map(({ decision }) => decision.effect).toSorted();
    assert.deepEqual(effects, ["allow", "allow", "deny"]);
  }
});

test("a call that was certainly not made leaves its window, and one that was made stays counted", async () => {
  const { about, budgets, redis } = await replicaOf(TRANSFERS);
  const judge = (amount: number) =>
    judgeCall(about, { kind: "tool", call: transfer("back", amount) });
  const first = await judge(4_000);
  const second = await judge(1_000);
  assert.equal((await judge(1)).decision.effect, "deny");
  assert.equal(await budgets.release(second.reservation ?? "", true), true);
  assert.equal((await judge(1)).decision.effect, "deny");
  assert.equal(await budgets.release(first.reservation ?? "", false), true);
  assert.equal(await budgets.release(first.reservation ?? "", false), false, "once");
  assert.equal((await judge(4_000)).decision.effect, "allow");
  const refused = await judge(1);
  assert.deepEqual([refused.decision.effect, refused.reservation], ["deny", null]);
  assert.deepEqual(await redis.keys("yard:policy:{reservation:null*"), []);
});

test("an explanation names what is used of a window and when it frees, and counts nothing", async () => {
  const { about } = await replicaOf(TRANSFERS);
  const call = transfer("reader", 3_000);
  assert.equal((await explainCall(about, call)).decision.effect, "allow");
  assert.equal((await judgeCall(about, { kind: "tool", call })).decision.effect, "allow");
  for (const _ of [1, 2]) {
    const { decision, limits, considered } = await explainCall(about, call);
    assert.equal(decision.effect, "deny");
    const window = limits.find(({ kind }) => kind === "window");
    assert.equal(window?.passes, false);
    const freesAt = /3000 before this call and 6000 with it, .* until (\S+Z)/.exec(
      window.detail,
    )?.[1];
    const leftMs = Date.parse(freesAt ?? "") - Date.now();
    assert.ok(leftMs > 3_500_000 && leftMs <= 3_601_000, window.detail);
    assert.match(considered[0]?.failed?.got ?? "", /6000 with it/);
  }
});

test("without Redis a call that a window is about is denied", async () => {
  const { about, redis } = await replicaOf(TRANSFERS);
  redis.disconnect();
  const call = transfer("ann", 1);
  const { decision } = await judgeCall(about, { kind: "tool", call });
  assert.equal(decision.effect, "deny");
  assert.match(decision.reason, /has to be counted/);
  assert.deepEqual((await explainCall(about, call)).decision, decision);
});

test("a decision that fails half-way counts the call in no window and holds no reservation", async () => {
  const { about, redis } = await replicaOf(
    bundleOf(`  - id: both
    effect: allow
    what: { tools: [bank.transfer] }
    when:
      - { window: { count: true, per: user, within: 1h, lte: 9 } }
      - { window: { sum: /amount, per: user, within: 1h, lte: 5000 } }
`),
  );
  const call = transfer("broken", 1);
  const before = await redis.keys("yard:policy:{reservation:*");
  await judgeCall(about, { kind: "tool", call });
  const totals = await redis.keys("yard:policy:{windows}:totals:both*");
  assert.equal(totals.length, 1);
  await redis.del(totals);
  await redis.lpush(totals[0] ?? "", "of another type");
  await assert.rejects(judgeCall(about, { kind: "tool", call }), /WRONGTYPE/);
  for (const key of await redis.keys("yard:policy:{windows}:times:both*"))
    assert.equal(await redis.zcard(key), 1, key);
  assert.equal((await redis.keys("yard:policy:{reservation:*")).length, before.length + 1);
});

test("keys of a window live as long as the window", async () => {
  const { about, redis } = await replicaOf(TRANSFERS);
  await judgeCall(about, { kind: "tool", call: transfer("lives", 1) });
  const keys = await redis.keys("yard:policy:{windows}:*:lives");
  assert.equal(keys.length, 3);
  for (const key of keys) {
    const leftMs = await redis.pttl(key);
    assert.ok(leftMs > 3_500_000 && leftMs <= 3_600_000, key);
  }
});

const HISTORIES = Number(process.env["YARD_WINDOW_HISTORIES"] ?? 150);

test("random histories are decided in Redis as an independent model of the documentation decides them", async () => {
  const { rules, arbitrary, decideByModel } = modelOf();
  const clock = { now: 0 };
  const { about, redis } = await replicaOf(bundleOf(rules), () => clock.now);
  await fc.assert(
    fc.asyncProperty(arbitrary, async (history) => {
      await redis.flushall();
      const past: ModelCall[] = [];
      for (const asked of history) {
        const { principal, tool, args, atMs } = asked;
        clock.now = atMs;
        const call = { principal, tool: mcpToolRef("bank", tool), args, layers: null };
        const expected = decideByModel(past, asked);
        const { decision, reservation } = await judgeCall(about, { kind: "tool", call });
        assert.equal(decision.effect, expected, JSON.stringify({ past, asked }));
        // Some calls turn out not to be made, and leave the windows.
        const isMade = reservation === null || atMs % 3 > 0;
        if (!isMade) await about.budgets.release(reservation, false);
        if (isMade && expected !== "deny") past.push(asked);
      }
    }),
    { numRuns: HISTORIES },
  );
});

test("denied and approved calls count for the rules about them, in the same run only, and not as calls that were made", async () => {
  const bundle = bundleOf(`  - { id: reads, effect: allow, what: { tools: [bank.read] } }
  - { id: no-vault, effect: deny, what: { tools: [bank.vault] } }
  - { id: sends, effect: allow, what: { tools: [bank.send] }, when: [{ after: { tools: [bank.transfer], in: run, outcome: approved } }] }
  - { id: probing, effect: deny, what: { tools: [bank.*] }, when: [{ after: { tools: [bank.vault], in: run, within: 1h, outcome: denied } }] }
  - { id: vaulted, effect: deny, what: { tools: [bank.read] }, when: [{ after: { tools: [bank.vault], in: run } }] }
`);
  let nowMs = 1_000_000_000;
  const { about, budgets, redis } = await replicaOf(bundle, () => nowMs);
  const callOf = (tool: string, runId: string) => ({
    principal: { user: "ann", agent: "a", runId },
    tool: mcpToolRef("bank", tool),
    args: {},
    layers: null,
  });
  const judge = async (tool: string, runId: string) => {
    const { decision, isKeepable } = await judgeCall(about, {
      kind: "tool",
      call: callOf(tool, runId),
    });
    return [decision.effect, decision.rule, isKeepable];
  };
  assert.deepEqual(await judge("read", "o1"), ["allow", "reads", false]);
  assert.deepEqual(await judge("vault", "o1"), ["deny", "no-vault", false]);
  assert.deepEqual(await judge("read", "o1"), ["deny", "probing", false]);
  assert.deepEqual(await judge("read", "o2"), ["allow", "reads", false]);
  nowMs += 3_600_000;
  assert.deepEqual(await judge("read", "o1"), ["allow", "reads", false]);

  assert.deepEqual((await judge("send", "o2"))[0], "deny");
  const approved = { call: callOf("transfer", "o2"), outcome: "approved", id: "apr-1" } as const;
  await recordOutcome(budgets, bundle, approved);
  await recordOutcome(budgets, bundle, approved);
  assert.deepEqual(await judge("send", "o2"), ["allow", "sends", false]);
  assert.deepEqual((await judge("send", "o1"))[0], "deny");
  const { limits } = await explainCall(about, callOf("send", "o2"));
  assert.match(
    limits.find(({ name }) => name === "sends")?.detail ?? "",
    /^number of earlier approved calls of bank\.transfer in the run is 1, /,
  );

  redis.disconnect();
  const { decision } = await judgeCall(about, { kind: "tool", call: callOf("vault", "o3") });
  assert.equal(decision.effect, "deny");
  assert.match(decision.reason, /so the denial is not recorded for the rules about denied calls/);
});
