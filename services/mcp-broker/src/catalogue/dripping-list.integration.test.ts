import assert from "node:assert/strict";
import { test } from "node:test";
import { call } from "@switchyard/bus/call";
import { refreshTools } from "@switchyard/contracts/mcp-broker/mcp-pins";
import { fixtureServer, testWorld } from "../../test-fixtures/test-broker.ts";

const world = await testWorld();

test("a list whose pages come one by one is given up after connectTimeoutMs, and the one before stays", async () => {
  const broker = await world.startBroker({
    servers: [fixtureServer("drips", ["parrot-server.ts", "drips"], { connectTimeoutMs: 5_000 })],
  });
  await broker.until("drips", ({ status }) => status === "connected");
  const options = { tokens: { server: "drips" }, timeoutMs: 60_000 };
  // A thousand pages would take longer than this waits.
  await assert.rejects(call(world.cli, refreshTools, {}, options), { code: "refresh_failed" });
  assert.equal(broker.info("drips").status, "connected");
  assert.equal(broker.info("drips").toolCount, 1);
});
