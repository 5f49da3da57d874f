import assert from "node:assert/strict";
import { after, test } from "node:test";
import { mcpToolRef } from "@switchyard/contracts/tool-names";
import { testRedis } from "@switchyard/testing/test-servers";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { compileBundle } from "@switchyard/rules/bundle/compile-bundle";
import { parseBundle } from "@switchyard/rules/bundle/parse-bundle";
import { explainCall, judgeCall } from "./judge-call.ts";
import { createBudgetStore } from "../budgets/budget-store.ts";

const server = await testRedis();
const log = createLog({ service: "test", level: "silent" });

const bundle = compileBundle(
  parseBundle({
    file: "policy.yaml",
    text: `version: 1
rules: [{ id: all, effect: allow, approval: auto }]
budgets:
  - { id: calls, for: { users: [often, rare] }, per: user, calls: 2, window: 1h }
  - { id: repeats, for: { users: [same] }, per: user, repeats: 2, window: 1h }
  - { id: places, for: { users: [wide] }, per: user, concurrency: 2 }
  - { id: first, for: { users: [both] }, per: user, calls: 2, concurrency: 2, window: 1h }
  - { id: second, for: { users: [both] }, per: user, calls: 2, window: 1h }
labels: [{ tools: [files.read], are: [sensitive] }]
`,
  }),
);

async function circumstances() {
  const redis = await connectRedis({ url: server.url, name: "test", log });
  after(() => redis.disconnect());
  return {
    redis,
    about: { bundle, stops: { find: () => null }, budgets: createBudgetStore(redis) },
  };
}

const callOf = (user: string, args: Record<string, unknown> = {}) => ({
  principal: { user, agent: null, runId: null },
  tool: mcpToolRef("files", "read"),
  args,
  layers: null,
});

const ISO = String.raw`\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z`;

test("an explanation equals the decision that would be made, with every limit used up", async () => {
  const { about } = await circumstances();
  for (const user of ["often", "same", "wide"]) {
    const call = callOf(user, { path: "a" });
    for (const effect of ["allow", "allow", "deny", "deny"] as const) {
      assert.equal((await explainCall(about, call)).decision.effect, effect, user);
      assert.equal((await judgeCall(about, { kind: "tool", call })).decision.effect, effect, user);
    }
  }
  const other = await explainCall(about, callOf("same", { path: "b" }));
  assert.equal(other.decision.effect, "allow", "another call was not made yet");
  assert.match(other.limits.at(-1)?.detail ?? "", /this very call 0 of 2 times/);
});

test("a refusal by a budget names the limit, its window and the end of the window", async () => {
  const { about } = await circumstances();
  const soon = new RegExp(
    `budget calls is used up: this user has at most 2 calls in 1h, until ${ISO}$`,
  );
  const call = callOf("rare");
  const used = async () => (await explainCall(about, call)).limits[0]?.detail ?? "";
  assert.equal(await used(), "per user: 0 of 2 calls made in 1h");
  for (const effect of ["allow", "allow", "deny"]) {
    const { decision } = await judgeCall(about, { kind: "tool", call });
    assert.equal(decision.effect, effect);
    // The end of the window is stated as soon as there is one.
    assert.match(await used(), new RegExp(`^per user: [12] of 2 calls made in 1h, until ${ISO}$`));
    if (effect === "deny") assert.match(decision.reason, soon);
  }
  const { decision, limits } = await explainCall(about, call);
  assert.match(
    decision.reason,
    new RegExp(`budget calls is used up: per user: 2 of 2 calls made in 1h, until ${ISO}$`),
  );
  assert.equal(limits[0]?.passes, false);
  const [, end = ""] = new RegExp(`until (${ISO})`).exec(decision.reason) ?? [];
  const leftMs = Date.parse(end) - Date.now();
  assert.ok(leftMs > 3_500_000 && leftMs <= 3_601_000, end);
});

test("a call that cannot be counted is denied, and so it is explained", async () => {
  const { redis, about } = await circumstances();
  redis.disconnect();
  const call = callOf("often");
  const { decision } = await judgeCall(about, { kind: "tool", call });
  assert.equal(decision.effect, "deny");
  assert.match(decision.reason, /Redis cannot be reached: .* has to be counted/);
  assert.deepEqual((await explainCall(about, call)).decision, decision);
  assert.equal((await explainCall(about, callOf("nobody"))).decision.effect, "allow");
});

test("a call whose decision fails half-way is counted by no budget and holds no slot", async () => {
  const { redis, about } = await circumstances();
  const run = { ...callOf("both"), principal: { user: "both", agent: "a", runId: "run-1" } };
  const budget = (name: string) => `yard:policy:{budget:${name}:user:both}`;
  const flow = "yard:policy:{flow:run-1}";
  const second = `${budget("second")}:calls`;
  const reservations = () => redis.keys("yard:policy:{reservation:*");
  const before = await reservations();
  // A value of another type makes one command of the decision fail, and all others work.
  for (const broken of [flow, second]) {
    await redis.lpush(broken, "of another type");
    await assert.rejects(judgeCall(about, { kind: "tool", call: run }), /WRONGTYPE/, broken);
    await redis.del(broken);
    assert.equal(Number((await redis.get(`${budget("first")}:calls`)) ?? 0), 0, broken);
    assert.equal(await redis.zcard(`${budget("first")}:places`), 0, broken);
    assert.equal((await reservations()).length, before.length, broken);
  }
  assert.equal((await judgeCall(about, { kind: "tool", call: run })).decision.effect, "allow");
});
