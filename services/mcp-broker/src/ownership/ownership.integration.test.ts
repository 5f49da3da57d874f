import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { access, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { call } from "@switchyard/bus/call";
import { connectionOf } from "@switchyard/bus/connection";
import { subjectOf } from "@switchyard/contracts/define";
import { isError, ServiceError } from "@switchyard/contracts/errors";
import { callTool, listTools } from "@switchyard/contracts/mcp-broker/mcp";
import {
  addServer,
  disconnectServer,
  getServer,
  listServers,
  removeServer,
  serverLogs,
  updateServer,
} from "@switchyard/contracts/mcp-broker/mcp-servers";
import { ensureServer } from "@switchyard/contracts/mcp-broker/mcp-ownership";
import { testDirectory } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { callMcpTool } from "@switchyard/service/call-mcp-tool";
import { brokerCluster, type ClusterBroker } from "../../test-fixtures/broker-cluster.ts";
import { fixtureServer, testWorld } from "../../test-fixtures/test-broker.ts";
import { processIdentity } from "../process/process-identity.ts";
import { testConstants } from "@switchyard/testing/test-constants";

// The server keeps the connection of a process that was stopped, which receives what was delivered to it when it continues.
const world = await testWorld({ natsConfig: "ping_interval: 600s" });
const { cli } = world;

const clusterOf = (ids: readonly string[], more: object = {}) =>
  brokerCluster({
    natsUrl: world.natsUrl,
    redisUrl: world.redisUrl,
    servers: (book) => ids.map((id) => fixtureServer(id, ["witness-server.ts", book], more)),
  });

const note = (server: string, text: string) =>
  callMcpTool(cli, { tool: "note", args: { note: text } }, { tokens: { server } });

/** Retries when no broker answers: NATS may deliver a call to a process that died a moment ago. */
async function noteOnce(server: string, text: string): ReturnType<typeof note> {
  const request = { tool: "note", args: { note: text }, callId: randomUUID() };
  for (;;) {
    try {
      return await callMcpTool(cli, request, { tokens: { server }, timeoutMs: 10_000 });
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === "timeout")) throw error;
    }
  }
}

const servers = async () => (await call(cli, listServers, {})).servers;

const ownerOf = async (server: string): Promise<string | null> =>
  (await servers()).find(({ id }) => id === server)?.owner ?? null;

const connected = (ids: readonly string[]) =>
  until(servers, (all) =>
    ids.every((id) => all.find((server) => server.id === id)?.status === "connected"),
  );

async function stop(...brokers: ClusterBroker[]): Promise<void> {
  for (const broker of brokers) broker.process.kill("SIGTERM");
  for (const broker of brokers) await broker.exited;
}

test("every server has one owner, and each broker lists all of them with their tools [A4]", async () => {
  const ids = ["one", "two", "three", "four"];
  const cluster = await clusterOf(ids);
  const [a, b] = await Promise.all([cluster.start("a"), cluster.start("b")]);
  await connected(ids);
  // Each answer may come from either broker, and one learns of the other's servers a moment later.
  const answers = await until(
    () => Promise.all(Array.from({ length: 8 }, () => call(cli, listTools, {}))),
    (lists) => lists.every(({ failures }) => failures.length === 0),
  );
  for (const { tools } of answers) assert.equal(tools.length, ids.length * 2);
  assert.ok((await servers()).every(({ owner }) => owner === "a" || owner === "b"));
  for (const id of ids) await note(id, `from-${id}`);
  const pids = new Map([
    ["a", a.pid],
    ["b", b.pid],
  ]);
  for (const { note: text, broker } of await cluster.notes())
    assert.equal(broker, pids.get((await ownerOf(text.slice("from-".length))) ?? ""));
  await stop(a, b);
});

test("kill -9 of the owner moves its servers, and a call waits through it [A21]", async () => {
  const ids = ["moved", "moved-2"];
  const cluster = await clusterOf(ids);
  const first = await cluster.start("first");
  const second = await cluster.start("second");
  await connected(ids);
  const [before] = (await note("moved", "before")).text.split(" ");
  first.process.kill("SIGKILL");
  await first.exited;
  await noteOnce("moved", "after");
  await noteOnce("moved-2", "after");
  assert.equal(await ownerOf("moved"), "second");
  const last = (await cluster.notes()).filter(({ note: text }) => text === "after");
  assert.deepEqual(
    last.map(({ broker }) => broker),
    [second.pid, second.pid],
  );
  await until(
    () => processIdentity(Number(before)),
    (identity) => identity === null,
  );
  await stop(second);
});

test("a dead owner's tools are gone with its lease, when no other broker may take over", async () => {
  const ids = ["taken", "left"];
  const cluster = await clusterOf(ids);
  const first = await cluster.start("first");
  await connected(ids);
  const second = await cluster.start("second", testConstants({ mcpOwnedLimit: 1 }));
  first.process.kill("SIGKILL");
  await first.exited;
  // NATS may notice the broker's end a moment later, and deliver the first request to it.
  const { tools, failures } = await until(
    () =>
      call(cli, listTools, {}, { timeoutMs: 2_000 }).catch((error: unknown) => {
        assert.ok(error instanceof ServiceError && error.code === "timeout", String(error));
        return { tools: [], failures: [] };
      }),
    (reply) => reply.failures.length === 1 && reply.tools.length === 2,
  );
  assert.deepEqual(
    [
      ...new Set(tools.map(({ server }) => server)),
      ...failures.map(({ server }) => server),
    ].toSorted(),
    ["left", "taken"],
  );
  assert.equal(failures[0]?.error, "no broker owns the server now");
  await assert.rejects(note(failures[0]?.server ?? "", "nobody's"), (error) =>
    isError(error, ensureServer, "no_capacity"),
  );
  await stop(second);
});

test("a broker that was stopped for longer than its lease sends nothing when it continues", async () => {
  const cluster = await clusterOf(["fenced"]);
  const zombie = await cluster.start("zombie");
  const heir = await cluster.start("heir");
  await connected(["fenced"]);
  await note("fenced", "mine");
  zombie.process.kill("SIGSTOP");
  // These are delivered to the stopped process, which reads them when it continues. They are plain requests, because a caller of ours
  // stops waiting for a service that has been silent for some seconds.
  const subject = subjectOf(callTool, { caller: "cli", server: "fenced" });
  const late = Array.from({ length: 20 }, async (_, n) => {
    const body = JSON.stringify({ tool: "note", args: { note: `late-${n}` } });
    const reply = await connectionOf(cli).nc.request(subject, body, { timeout: 180_000 });
    return reply.json<{ code?: string }>().code;
  });
  await cli.flush();
  await until(
    () =>
      heir.lines.some(({ msg, server }) => msg === "mcp server connected" && server === "fenced"),
    (isConnected) => isConnected,
  );
  // The stopped process is still subscribed, so a call may go there and wait in vain.
  const heirs = () =>
    call(
      cli,
      callTool,
      { tool: "note", args: { note: "heir's" } },
      { tokens: { server: "fenced" }, timeoutMs: 2_000 },
    ).then(
      ({ text }) => text,
      () => null,
    );
  await until(heirs, (text) => text !== null);
  zombie.process.kill("SIGCONT");
  const ends = await Promise.all(late);
  // Callers that reach the stale owner get `not_owner`; the subject has two owners in it until that one has left.
  const reported = ends.filter((code) => code === "not_owner");
  assert.ok(reported.length > 0, "no call met the zombie");
  const byZombie = (await cluster.notes()).filter(({ broker }) => broker === zombie.pid);
  assert.deepEqual(
    byZombie.map(({ note: text }) => text),
    ["mine"],
  );
  await note("fenced", "again");
  assert.equal((await cluster.notes()).at(-1)?.broker, heir.pid);
  await stop(zombie, heir);
});

test("at a stop servers are handed over at once, before their leases end", async () => {
  const ids = ["handed", "busy"];
  const cluster = await clusterOf(ids);
  const first = await cluster.start("first", testConstants({ mcpLeaseMs: 600_000 }));
  const second = await cluster.start("second", testConstants({ mcpLeaseMs: 600_000 }));
  await connected(ids);
  const release = join(await testDirectory(), "release");
  const inWork = callMcpTool(
    cli,
    { tool: "wait", args: { note: "waiting", until: release } },
    { tokens: { server: "busy" } },
  );
  await until(
    () => cluster.notes(),
    (notes) => notes.some(({ note: text }) => text === "waiting"),
  );
  first.process.kill("SIGTERM");
  await until(
    () => ownerOf("handed"),
    (owner) => owner === "second",
  );
  // The call that is in work keeps its server where it is, and ends normally.
  await writeFile(release, "");
  await access(release);
  assert.ok(Number((await inWork).text) > 0);
  await first.exited;
  await note("busy", "handed over");
  assert.equal(await ownerOf("busy"), "second");
  await stop(second);
});

test("the change of a server reaches its owner through any broker, and then all of them", async () => {
  const cluster = await clusterOf(["changed"], { env: { SOME: "thing" } });
  const brokers = await Promise.all([cluster.start("a"), cluster.start("b"), cluster.start("c")]);
  await connected(["changed"]);
  // Enough requests that each of the three brokers answers some.
  for (let round = 0; round < 12; round += 1) {
    const { server } = await call(cli, updateServer, {
      server: "changed",
      changes: { name: `round ${round}` },
    });
    assert.equal(server.name, `round ${round}`);
    assert.deepEqual((await call(cli, serverLogs, { server: "changed" })).lines, []);
  }
  await until(
    () => Promise.all(Array.from({ length: 9 }, () => call(cli, getServer, { server: "changed" }))),
    (replies) => replies.every(({ server }) => server.name === "round 11"),
  );
  const added = fixtureServer("added", ["witness-server.ts", cluster.bookFile]);
  await call(cli, addServer, { server: { ...added } });
  await connected(["added"]);
  await until(
    () => Promise.all(Array.from({ length: 9 }, servers)),
    (lists) => lists.every((list) => list.some(({ id }) => id === "added")),
  );
  assert.equal(
    (await call(cli, disconnectServer, { server: "added" })).server?.status,
    "disconnected",
  );
  await call(cli, removeServer, { server: "added" });
  await until(
    () => Promise.all(Array.from({ length: 9 }, servers)),
    (lists) => lists.every((list) => list.every(({ id }) => id !== "added")),
  );
  await call(cli, removeServer, { server: "changed" });
  await stop(...brokers);
});

test("mcp.ensure connects servers that connect on demand, and reports why it cannot [A6, A18, E5]", async () => {
  const cluster = await brokerCluster({
    natsUrl: world.natsUrl,
    redisUrl: world.redisUrl,
    servers: (book) => [
      fixtureServer("lazy", ["witness-server.ts", book], { autoConnect: false }),
      fixtureServer("off", ["witness-server.ts", book], { enabled: false }),
    ],
  });
  const brokers = await Promise.all([cluster.start("a"), cluster.start("b")]);
  const status = async (id: string) => (await servers()).find((server) => server.id === id)?.status;
  await until(
    () => ownerOf("lazy"),
    (owner) => owner !== null,
  );
  assert.equal(await status("lazy"), "disconnected");
  assert.deepEqual(await call(cli, ensureServer, { server: "lazy" }), { server: "lazy" });
  await until(
    () => status("lazy"),
    (now) => now === "connected",
  );
  await assert.rejects(call(cli, ensureServer, { server: "off" }), (error) =>
    isError(error, ensureServer, "server_disabled"),
  );
  await assert.rejects(call(cli, ensureServer, { server: "nowhere" }), (error) =>
    isError(error, ensureServer, "unknown_server"),
  );
  await assert.rejects(
    note("nowhere", "x"),
    (error) => error instanceof ServiceError && error.code === "unknown_server",
  );
  await stop(...brokers);
});

test("servers move to a broker that joins, one at a time, and then stay", async () => {
  const ids = ["m1", "m2", "m3", "m4"];
  const cluster = await clusterOf(ids);
  const env = testConstants({ mcpRebalanceMs: 400 });
  const first = await cluster.start("first", env);
  await connected(ids);
  const release = join(await testDirectory(), "release");
  const busy = callMcpTool(
    cli,
    { tool: "wait", args: { note: "busy", until: release } },
    { tokens: { server: "m1" } },
  );
  await until(
    () => cluster.notes(),
    (notes) => notes.length === 1,
  );
  const second = await cluster.start("second", env);
  const owners = async () => (await servers()).map(({ owner }) => owner ?? "nobody");
  const count = (all: string[], name: string) => all.filter((owner) => owner === name).length;
  await until(owners, (all) => count(all, "first") === 2 && count(all, "second") === 2);
  await connected(ids);
  // A server that works on a call is not moved.
  assert.equal(await ownerOf("m1"), "first");
  await writeFile(release, "");
  await busy;
  const moves = (broker: ClusterBroker) =>
    broker.lines.filter(({ msg }) => msg === "mcp server connected").length;
  assert.equal(moves(second), 2);
  const before = moves(first);
  // Several intervals later everything is where it was.
  for (const id of ids) for (let n = 0; n < 3; n += 1) await note(id, "still");
  await until(
    () => world.redis.pttl("yard:{mcp}:move"),
    (left) => left < 0,
  );
  assert.equal(moves(first), before);
  assert.equal(moves(second), 2);
  await stop(first, second);
});
