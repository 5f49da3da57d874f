import { connectRedis } from "@switchyard/service/redis";
import { createLog } from "@switchyard/service/log";
import { testRedisCluster } from "@switchyard/testing/test-redis-group";
import { testRedis } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { openParkedRuns } from "./parked-runs.ts";
import { sweep } from "../waits/sweeper.ts";

const server = await testRedis();
const log = createLog({ service: "test", level: "silent" });
const redis = await connectRedis({ url: server.url, name: "test", log });
after(() => {
  redis.disconnect();
});
const parked = openParkedRuns(redis);
const nothing = () => Promise.resolve();
const found = { findMissedDecisions: nothing, findLifted: nothing };

test("a run that is released again while it is being woken is checked at its new time", async () => {
  await suspended("again", 1_000);
  const wake = async (runId: string): Promise<boolean> => {
    await parked.lookAgain(runId, 3_000);
    return true;
  };
  await sweep({ parked, wake, ...found, now: () => 2_000 });
  assert.deepEqual(await dueAt(3_000), ["again"]);
  // Another sweep that had read it before is not aware of that time either.
  await parked.postpone([{ runId: "again", atMs: 60_000 }], 2_000);
  assert.deepEqual(await dueAt(3_000), ["again"]);
  await parked.forget(["again"]);
});

test("a wake-up that cannot be sent is sent again soon", async () => {
  await suspended("unsent", 1_000);
  const wake = () => Promise.resolve(false);
  assert.deepEqual(await sweep({ parked, wake, ...found, now: () => 2_000 }), {
    woken: 0,
  });
  assert.deepEqual(await dueAt(3_000), ["unsent"]);
});

test("in a cluster, the check of a run that its primary lost is set again, and one that was set since stays", async () => {
  const cluster = await testRedisCluster();
  const own = await connectRedis({ url: cluster.url, name: "test", log });
  after(() => own.disconnect());
  const list = openParkedRuns(own, { repeatMs: 200 });
  for (const name of ["forgotten", "later"]) await list.lookAgain(name, 1_000);
  await own.del("yard:runs:parked");
  await own.zadd("yard:runs:parked", 5_000, "later");
  await until(() => own.zscore("yard:runs:parked", "forgotten"));
  assert.deepEqual(
    (await list.due(9_000, 10)).map(({ runId }) => runId),
    ["forgotten", "later"],
  );
  assert.equal(await own.zscore("yard:runs:parked", "later"), "5000");
});

async function suspended(runId: string, lookMs: number): Promise<void> {
  await redis.hset(`yard:run:{${runId}}:state`, { status: "running", heldUntil: 0, restsUntil: 0 });
  await parked.lookAgain(runId, lookMs);
}

async function dueAt(nowMs: number): Promise<string[]> {
  return (await parked.due(nowMs, 10)).map(({ runId }) => runId);
}
