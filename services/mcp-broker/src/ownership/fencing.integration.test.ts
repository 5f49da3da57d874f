import assert from "node:assert/strict";
import { after, test } from "node:test";
import { call } from "@switchyard/bus/call";
import { isError, ServiceError } from "@switchyard/contracts/errors";
import { callTool, listTools } from "@switchyard/contracts/mcp-broker/mcp";
import { listServers } from "@switchyard/contracts/mcp-broker/mcp-servers";
import { ensureServer } from "@switchyard/contracts/mcp-broker/mcp-ownership";
import { testDirectory, testRedis } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { createLog } from "@switchyard/service/log";
import { callMcpTool } from "@switchyard/service/call-mcp-tool";
import { connectRedis } from "@switchyard/service/redis";
import {
  brokerCluster,
  type BrokerCluster,
  type ClusterBroker,
} from "../../test-fixtures/broker-cluster.ts";
import { fixtureServer, testWorld } from "../../test-fixtures/test-broker.ts";
import { testConstants } from "@switchyard/testing/test-constants";

const world = await testWorld();
const { cli } = world;
const dataDir = await testDirectory();
// This file has its own Redis, so that its tests can kill it.
const first = await testRedis({ dataDir, appendfsync: "always" });
const port = Number(new URL(first.url).port);
const log = createLog({ service: "test", level: "silent" });
const redis = await connectRedis({ url: first.url, name: "test", log });
after(() => redis.disconnect());

let server = first;

async function killRedis(): Promise<void> {
  server.kill("SIGKILL");
  await server.exited;
}

async function startRedis(): Promise<void> {
  server = await testRedis({ dataDir, port, appendfsync: "always" });
  await until(
    () => redis.status,
    (status) => status === "ready",
  );
}

const clusterOf = (id: string) =>
  brokerCluster({
    natsUrl: world.natsUrl,
    redisUrl: first.url,
    servers: (book) => [fixtureServer(id, ["witness-server.ts", book])],
  });

const connected = (id: string) =>
  until(
    async () => (await call(cli, listServers, {})).servers,
    (all) => all.some((each) => each.id === id && each.status === "connected"),
  );

async function stop(...brokers: ClusterBroker[]): Promise<void> {
  for (const { process } of brokers) process.kill("SIGTERM");
  for (const { exited } of brokers) await exited;
}

/** Calls the server repeatedly, each time with a short timeout, until the returned `end` is called. */
function hammer(id: string): { answered: () => number; end: () => Promise<void> } {
  const over = new AbortController();
  let answered = 0;
  const callOnce = async (note: string): Promise<void> => {
    try {
      await call(
        cli,
        callTool,
        { tool: "note", args: { note } },
        { tokens: { server: id }, timeoutMs: 1_000 },
      );
      answered += 1;
    } catch {
      // The call was refused or reached no broker; the next call locates the owner anew.
    }
  };
  const worker = async (name: number): Promise<void> => {
    for (let n = 0; !over.signal.aborted; n += 1) await callOnce(`${name}-${n}`);
  };
  const workers = [1, 2, 3].map(worker);
  // A test that fails before it ends the calls must not keep the process alive.
  after(() => over.abort());
  return {
    answered: () => answered,
    async end() {
      over.abort();
      await Promise.all(workers);
    },
  };
}

/**
 * The server may change hands only with a new epoch: two brokers that both consider themselves the owner would write by turns,
 * and so change hands more often than that.
 */
async function assertOneOwnerAtATime(cluster: BrokerCluster, id: string): Promise<void> {
  const brokers = (await cluster.notes()).map(({ broker }) => broker);
  const changes = brokers.filter((broker, index) => index > 0 && broker !== brokers[index - 1]);
  const epochs = Number(await redis.get(`yard:{mcp:${id}}:epoch`));
  assert.ok(brokers.length > 0);
  assert.ok(changes.length <= epochs - 1, `${changes.length} changes in ${epochs} epochs`);
}

test("brokers that are killed, stopped and resumed never own a server at the same time", async () => {
  const cluster = await clusterOf("contested");
  const alive = new Map<string, ClusterBroker>();
  for (const name of ["x", "y", "z"]) alive.set(name, await cluster.start(name));
  await connected("contested");
  const hammering = hammer("contested");
  const ownerOf = async () => {
    const owner = await redis.hget("yard:{mcp:contested}:lease", "owner");
    return owner?.split(":")[0] ?? null;
  };
  const moved = async (from: string) => {
    await until(ownerOf, (owner) => owner !== null && owner !== from);
    const notes = (await cluster.notes()).length;
    // On a busy machine the server may move once more before its new owner has sent a note.
    return until(async () => {
      const later = (await cluster.notes()).slice(notes);
      const sender = [...alive.values()].find(({ pid }) => pid === later.at(-1)?.broker);
      return sender === undefined || sender.name === from ? null : sender.name;
    });
  };
  const stopped = await ownerOf().then((name) => alive.get(name ?? ""));
  assert.ok(stopped);
  stopped.process.kill("SIGSTOP");
  const second = await moved(stopped.name);
  alive.get(second)?.process.kill("SIGKILL");
  // The first one wakes while no broker has the server yet, with calls from before waiting.
  stopped.process.kill("SIGCONT");
  await moved(second);
  alive.delete(second);
  await until(hammering.answered, (count) => count > 0);
  await hammering.end();
  await assertOneOwnerAtATime(cluster, "contested");
  await stop(...alive.values());
});

test("without Redis an owner stops serving before its lease can end, and continues when Redis is back", async () => {
  const cluster = await clusterOf("leased");
  const brokers = [await cluster.start("a"), await cluster.start("b")];
  await connected("leased");
  const hammering = hammer("leased");
  await until(
    () => cluster.notes(),
    (notes) => notes.length > 3,
  );
  await killRedis();
  const probe = () =>
    callMcpTool(
      cli,
      { tool: "note", args: { note: "probe" } },
      { tokens: { server: "leased" } },
    ).then(
      () => null,
      (error: unknown) => error,
    );
  // A call that is under way when the lease ends has an unknown outcome; the calls after it are refused.
  await until(
    probe,
    (error) =>
      isError(error, ensureServer, "lease_unavailable") ||
      (error instanceof ServiceError && error.code === "not_owner"),
  );
  const lists = () => call(cli, listTools, {});
  await until(lists, ({ tools }) => tools.length === 0);
  await startRedis();
  await connected("leased");
  assert.equal(await until(probe, (error) => error === null), null);
  await until(hammering.answered, (count) => count > 0);
  await hammering.end();
  await assertOneOwnerAtATime(cluster, "leased");
  await stop(...brokers);
});

test("a Redis that restarts within the lease changes no owner and no connection", async () => {
  const cluster = await clusterOf("steady");
  const lease = testConstants({ mcpLeaseMs: 20_000 });
  const brokers = [await cluster.start("a", lease), await cluster.start("b", lease)];
  await connected("steady");
  const note = async () =>
    (
      await callMcpTool(
        cli,
        { tool: "note", args: { note: "steady" } },
        { tokens: { server: "steady" } },
      )
    ).text;
  const pid = await note();
  await killRedis();
  assert.equal(await note(), pid);
  await startRedis();
  // Every broker has checked the leases since.
  await until(
    async () => (await call(cli, listTools, {})).tools.length,
    (count) => count === 2,
  );
  assert.equal(await note(), pid);
  assert.equal(await redis.get("yard:{mcp:steady}:epoch"), "1");
  await stop(...brokers);
});
