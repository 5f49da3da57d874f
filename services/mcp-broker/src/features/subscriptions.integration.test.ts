import assert from "node:assert/strict";
import { test } from "node:test";
import { call } from "@switchyard/bus/call";
import { readEvents } from "@switchyard/bus/events";
import { resourceUpdated, subscribeResource } from "@switchyard/contracts/mcp-broker/mcp-features";
import { until } from "@switchyard/local-servers/until";
import { listeningServer } from "../../test-fixtures/listening-server.ts";
import { testWorld } from "../../test-fixtures/test-broker.ts";

const world = await testWorld();

test("a subscription to a server that every broker serves outlives the broker that received it", async () => {
  const server = await listeningServer();
  const servers = [{ id: "shared", url: server.url }];
  const [one, other] = await Promise.all(
    ["one", "other"].map((instance) => world.startBroker({ servers, ownership: { instance } })),
  );
  assert.ok(one !== undefined && other !== undefined);
  for (const broker of [one, other])
    await broker.until("shared", ({ status }) => status === "connected");

  const uri = "demo://counter";
  await call(world.cli, subscribeResource, { uri }, { tokens: { server: "shared" } });
  await until(server.watching, (count) => count === 2);
  // The bound of yard:{mcp:*}:subscriptions in test/attacks/tenants/redis-bounds.ts.
  const key = "yard:{mcp:shared}:subscriptions";
  const watched = { caller: "cli", expiresAt: Date.now() + 600_000 };
  const others = Array.from({ length: 199 }, (_, n) => ({ ...watched, uri: `demo://other/${n}` }));
  await world.redis.hset(
    key,
    Object.fromEntries(others.map((each) => [`cli ${each.uri}`, JSON.stringify(each)])),
  );
  const more = call(
    world.cli,
    subscribeResource,
    { uri: "demo://one-too-many" },
    { tokens: { server: "shared" } },
  );
  await assert.rejects(more, { code: "too_many_subscriptions" });
  assert.equal(await world.redis.hlen(key), 200);
  await world.redis.hdel(key, ...others.map((each) => `cli ${each.uri}`));
  await one.stop();
  await until(server.watching, (count) => count === 1);
  server.updated(uri);
  const filters = ["yard.evt.mcp.shared.resource-updated"];
  for await (const { payload } of readEvents(world.cli, { filters, from: "beginning" })) {
    assert.equal(resourceUpdated.payload.parse(payload).uri, uri);
    break;
  }
});
