import assert from "node:assert/strict";
import { after, test } from "node:test";
import { testRedis } from "@switchyard/testing/test-servers";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import fc from "fast-check";
import { startedEntry } from "../../test-fixtures/journals.ts";
import { startOf } from "../core/replay.ts";
import type { RunState } from "../core/run-state.ts";
import { openTeamLedger, type TeamLedger, type TeamLimit } from "./team-ledger.ts";

const server = await testRedis();
const log = createLog({ service: "test", level: "silent" });
const clients = await Promise.all(
  [1, 2].map(() => connectRedis({ url: server.url, name: "test", log })),
);
after(() => {
  for (const client of clients) client.disconnect();
});
const [redis] = clients;
assert.ok(redis !== undefined);

const limits = new Map<string, TeamLimit>();
const NOW = Date.parse("2026-05-05T10:30:00.000Z");
let now = NOW;
const book = { limitOf: (team: string) => Promise.resolve(limits.get(team) ?? null) };
// Two runners with a connection each.
const [one, two] = clients.map((client) => openTeamLedger(client, { book, now: () => now }));
assert.ok(one !== undefined && two !== undefined);

function run(team: string, runId: string, tokens = 0, costUsd = 0): RunState {
  const state = startOf(startedEntry({ runId, requester: team }));
  return { ...state, usage: { inputTokens: tokens, outputTokens: 0 }, knownCostUsd: costUsd };
}
const hold = (runId: string, epoch = 1) => ({ runId, epoch: String(epoch) });
const need = (tokens: number, costUsd = 0) => ({ tokens, costUsd });

async function spent(team: string, window = "2026-05-05"): Promise<number> {
  return Number(await redis?.hget(`yard:team:{${team}}:spend:${window}`, "tokens"));
}
async function held(team: string): Promise<number> {
  return Number((await redis?.hget(`yard:team:{${team}}:amounts`, "tokens")) ?? 0);
}

test("limits all runs of a team on all runners together", async () => {
  limits.set("team-a", { per: "day", tokens: 1_000 });
  assert.equal((await one.hold(run("team-a", "a1"), hold("a1"), need(600))).outcome, "held");
  assert.equal((await two.hold(run("team-a", "a2"), hold("a2"), need(600))).outcome, "busy");
  assert.equal((await two.hold(run("team-b", "b1"), hold("b1"), need(600))).outcome, "held");
  await one.count(run("team-a", "a1", 300), hold("a1"));
  assert.equal((await two.hold(run("team-a", "a2"), hold("a2"), need(600))).outcome, "held");
  await two.count(run("team-a", "a2", 700), hold("a2"));
  assert.deepEqual(await one.hold(run("team-a", "a1", 300), hold("a1"), need(1)), {
    outcome: "exceeded",
    reached: { limit: "tokens", value: 1_000, team: { name: "team-a", per: "day" } },
    until: "2026-05-06T00:00:00.000Z",
  });
  now += 86_400_000;
  assert.equal((await one.hold(run("team-a", "a1", 300), hold("a1"), need(1))).outcome, "held");
  now = NOW;
});

test("counts money to the billionth", async () => {
  limits.set("rich", { per: "hour", costUsd: 0.3 });
  for (const [index, used] of [0.1, 0.2].entries()) {
    const state = run("rich", "r1", 0, index === 0 ? 0 : 0.1);
    assert.equal((await one.hold(state, hold("r1"), need(0, 0.1))).outcome, "held");
    await one.count(run("rich", "r1", 0, used), hold("r1"));
  }
  const last = await one.hold(run("rich", "r1", 0, 0.2), hold("r1"), need(0, 0.1));
  assert.equal(last.outcome, "held");
  await one.count(run("rich", "r1", 0, 0.3), hold("r1"));
  const refused = await one.hold(run("rich", "r1", 0, 0.3), hold("r1"), need(0, 0.000_001));
  assert.equal(refused.outcome === "exceeded" && refused.reached.limit, "costUsd");
});

test("a run that is taken over has one reservation, and its former holder releases nothing", async () => {
  limits.set("taken", { per: "day", tokens: 1_000 });
  await one.hold(run("taken", "t1"), hold("t1", 1), need(600));
  await two.hold(run("taken", "t1"), hold("t1", 2), need(500));
  assert.equal(await held("taken"), 500);
  assert.equal((await one.hold(run("taken", "t1"), hold("t1", 1), need(1))).outcome, "busy");
  await one.count(run("taken", "t1"), hold("t1", 1));
  assert.equal(await held("taken"), 500);
  await two.count(run("taken", "t1", 400), hold("t1", 2));
  assert.equal(await held("taken"), 0);
});

test("forgets what a run held that no runner took over", async () => {
  limits.set("lost", { per: "day", tokens: 1_000 });
  await one.hold(run("lost", "l1"), hold("l1"), need(900));
  assert.equal((await two.hold(run("lost", "l2"), hold("l2"), need(900))).outcome, "busy");
  await redis.zadd("yard:team:{lost}:held", 1, "l1"); // half an hour later
  assert.equal((await two.hold(run("lost", "l2"), hold("l2"), need(900))).outcome, "held");
  assert.equal(await held("lost"), 900);
});

test("counts each token once, whether reports are repeated, late or missing, and reserves no more than the limit", async () => {
  const act = fc.record({
    by: fc.constantFrom(one, two),
    run: fc.integer({ min: 0, max: 2 }),
    tokens: fc.nat(400),
    // A crash: the call was made and no runner counted it.
    isCounted: fc.boolean(),
    isRepeated: fc.boolean(),
  });
  let families = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(act, { maxLength: 20 }), async (acts) => {
      families += 1;
      const team = `family-${families}`;
      const limit = 2_000;
      limits.set(team, { per: "day", tokens: limit });
      const used = [0, 0, 0];
      for (const { by, run: index, tokens, isCounted, isRepeated } of acts) {
        const runId = `f${families}-${index}`;
        const state = (): RunState => run(team, runId, used[index] ?? 0);
        const answer = await by.hold(state(), hold(runId), need(tokens));
        assert.ok((await spent(team)) + (await held(team)) <= limit + 400 * used.length);
        if (answer.outcome !== "held") continue;
        used[index] = (used[index] ?? 0) + tokens;
        if (!isCounted) continue;
        await by.count(state(), hold(runId));
        if (isRepeated) await by.count(state(), hold(runId));
      }
      await endAll(one, team, used);
      assert.equal(
        await spent(team),
        used.reduce((sum, each) => sum + each, 0),
      );
      assert.equal(await held(team), 0);
    }),
    { numRuns: 40 },
  );

  async function endAll(ledger: TeamLedger, team: string, used: readonly number[]): Promise<void> {
    for (const [index, tokens] of used.entries()) {
      const runId = `f${families}-${index}`;
      await ledger.count(run(team, runId, tokens), hold(runId));
    }
  }
});
