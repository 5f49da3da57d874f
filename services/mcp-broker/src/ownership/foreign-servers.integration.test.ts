import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { call } from "@switchyard/bus/call";
import { isError } from "@switchyard/contracts/errors";
import { listTools } from "@switchyard/contracts/mcp-broker/mcp";
import { getServer, listServers, serverLogs } from "@switchyard/contracts/mcp-broker/mcp-servers";
import { ensureServer } from "@switchyard/contracts/mcp-broker/mcp-ownership";
import { testDirectory } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { callMcpTool } from "@switchyard/service/call-mcp-tool";
import { brokerCluster } from "../../test-fixtures/broker-cluster.ts";
import { fixtureServer, testWorld } from "../../test-fixtures/test-broker.ts";

const world = await testWorld();
const { cli } = world;
const ROUNDS = 40;

/** So many requests that each of the three brokers answers some, but for one time in a million. */
const often = <T>(ask: () => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: ROUNDS }, ask));

test("a server that only one broker's file names is listed, shown and called through every broker [A4, A37, A38]", async () => {
  const cluster = await brokerCluster({
    natsUrl: world.natsUrl,
    redisUrl: world.redisUrl,
    servers: () => [],
  });
  const file = join(await testDirectory(), "mcp-servers.json");
  const own = fixtureServer("own", ["witness-server.ts", cluster.bookFile], {
    env: { API_KEY: "literal-secret-1234" },
  });
  await writeFile(file, JSON.stringify({ servers: [own] }));
  // Each begins after the other, so that one learns of the server from a notification and one from its start.
  const before = await cluster.start("before");
  const owner = await cluster.start("owner", { YARD_MCP_SERVERS_FILE: file });
  const afterwards = await cluster.start("afterwards");
  const lists = await until(
    () => often(() => call(cli, listTools, {})),
    (all) => all.every(({ tools }) => tools.length === 2),
  );
  for (const { failures } of lists) assert.deepEqual(failures, []);
  for (const { tools } of await often(() => call(cli, listTools, { server: "own" })))
    assert.equal(tools.length, 2);
  for (const { servers } of await often(() => call(cli, listServers, {})))
    assert.deepEqual(
      servers.map(({ id, owner: name, status }) => [id, name, status]),
      [["own", "owner", "connected"]],
    );
  for (const { server, declaration } of await often(() =>
    call(cli, getServer, { server: "own" }),
  )) {
    assert.equal(server.id, "own");
    assert.deepEqual(declaration["env"], { API_KEY: "[redacted]" });
  }
  for (const { lines } of await often(() => call(cli, serverLogs, { server: "own" })))
    assert.deepEqual(lines, []);
  await often(() => call(cli, ensureServer, { server: "own" }));
  const note = { tool: "note", args: { note: "here" } };
  await callMcpTool(cli, note, { tokens: { server: "own" } });
  assert.equal((await cluster.notes()).at(-1)?.broker, owner.pid);

  // It disappears everywhere with its broker: no other broker could connect it.
  owner.process.kill("SIGTERM");
  await owner.exited;
  await until(
    () => often(() => call(cli, listServers, {})),
    (all) => all.every(({ servers }) => servers.length === 0),
  );
  await assert.rejects(call(cli, listTools, { server: "own" }), (error) =>
    isError(error, listTools, "unknown_server"),
  );
  for (const { process } of [before, afterwards]) process.kill("SIGTERM");
  for (const { exited } of [before, afterwards]) await exited;
});
