import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Principal } from "@switchyard/contracts/policy/policy";
import { MAX_STOPS, type Stop, type StopScope } from "@switchyard/contracts/policy/policy-budgets";
import { mcpToolRef } from "@switchyard/contracts/tool-names";
import { testRedis } from "@switchyard/testing/test-servers";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { createStopList, KNOWN_FOR_MS } from "./stop-list.ts";

const server = await testRedis();
const log = createLog({ service: "test", level: "silent" });
const redis = await connectRedis({ url: server.url, name: "test", log });
after(() => redis.disconnect());

const tool = mcpToolRef("files", "read_file");
const child: Principal = {
  user: "team-a",
  agent: "demo",
  runId: "run-child",
  context: {
    root: "run-root",
    parent: "run-parent",
    depth: 4,
    between: ["run-grandparent", "run-below-root"],
  },
};

function stopOf(scope: StopScope): Stop {
  return { scope, reason: "test", by: "admin", at: "2026-01-01T00:00:00.000Z" };
}

test("a stop is about its scope and, for a run, about all runs below it", async () => {
  const list = createStopList(redis);
  const scopes: StopScope[] = [
    { kind: "all" },
    { kind: "user", name: "team-a" },
    { kind: "agent", name: "demo" },
    { kind: "run", name: "run-child" },
    { kind: "run", name: "run-parent" },
    { kind: "run", name: "run-grandparent" },
    { kind: "run", name: "run-below-root" },
    { kind: "run", name: "run-root" },
    { kind: "server", name: "files" },
  ];
  for (const scope of scopes) {
    await list.add(stopOf(scope));
    assert.deepEqual(list.find({ principal: child, tool })?.scope, scope);
    assert.equal(await list.remove(scope), true);
    assert.equal(list.find({ principal: child, tool }), null);
  }
  for (const name of ["run-other", "team-a"]) await list.add(stopOf({ kind: "run", name }));
  await list.add(stopOf({ kind: "agent", name: "team-a" }));
  assert.equal(list.find({ principal: child, tool }), null);
});

test("a stale copy is renewed before a decision uses it", async () => {
  let now = 0;
  const list = createStopList(redis, () => now);
  await list.refresh();
  await createStopList(redis).add(stopOf({ kind: "user", name: "team-a" }));
  now = KNOWN_FOR_MS;
  assert.equal(list.isCurrent(), true);
  assert.equal(list.ofRun(child), null);
  now = KNOWN_FOR_MS + 1;
  assert.equal(await list.isCurrent(), true);
  assert.equal(list.ofRun(child)?.scope.kind, "user");
});

test("without Redis an old copy is not current, so that no call passes", async () => {
  const gone = await connectRedis({ url: server.url, name: "gone", log });
  let now = 0;
  const list = createStopList(gone, () => now);
  await list.refresh();
  gone.disconnect();
  assert.equal(list.isCurrent(), true);
  now = KNOWN_FOR_MS + 1;
  assert.equal(await list.isCurrent(), false);
});

test("the number of stops is limited, and an existing one can always be repeated", async () => {
  const list = createStopList(redis);
  await redis.del("yard:policy:{stops}");
  const names = Array.from({ length: MAX_STOPS }, (_, index) => `run-${index}`);
  const stops = names.map((name) => [`run:${name}`, JSON.stringify(stopOf({ kind: "run", name }))]);
  await redis.hset("yard:policy:{stops}", Object.fromEntries(stops));
  assert.equal(await list.add(stopOf({ kind: "all" })), null);
  assert.equal(list.find({ principal: child, tool }), null);
  const again = stopOf({ kind: "run", name: "run-0" });
  assert.deepEqual(await list.add(again), again);
});

test("a stop is stored and lifted while Redis is above its maxmemory", async () => {
  const list = createStopList(redis);
  await redis.del("yard:policy:{stops}");
  await redis.config("SET", "maxmemory", "1");
  try {
    await assert.rejects(redis.set("yard:policy:{x}", "x"), /OOM/);
    await list.add(stopOf({ kind: "all" }));
    assert.equal(list.find({ principal: child, tool })?.scope.kind, "all");
    assert.equal(await list.remove({ kind: "all" }), true);
  } finally {
    await redis.config("SET", "maxmemory", "0");
  }
});
