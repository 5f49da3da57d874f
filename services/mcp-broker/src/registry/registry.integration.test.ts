import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { call, client } from "@switchyard/bus/call";
import { connectBus } from "@switchyard/bus/connect";
import { readEvents } from "@switchyard/bus/events";
import { isError, ServiceError } from "@switchyard/contracts/errors";
import { callTool } from "@switchyard/contracts/mcp-broker/mcp";
import * as mcp from "@switchyard/contracts/mcp-broker/mcp-servers";
import { testDirectory } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import {
  fixture,
  fixtureServer,
  testWorld,
  type TestBroker,
  type TestBrokerOptions,
} from "../../test-fixtures/test-broker.ts";
import { processIdentity } from "../process/process-identity.ts";

const world = await testWorld();
const { getServer, addServer, updateServer, removeServer, enableServer, resetServer } = mcp;
const { connectServer, disconnectServer, serverLogs, listServers } = mcp;
const api = client(world.cli, {
  getServer,
  addServer,
  updateServer,
  removeServer,
  enableServer,
  resetServer,
  connectServer,
  disconnectServer,
  serverLogs,
  listServers,
});

/** Between calls that continue beside other work, which is what takes the time. */
const PAUSE_MS = 20;
const REGISTRY = "yard:{mcp}:servers";
const real = (id: string, more: object = {}) => fixtureServer(id, ["fixture-server.ts"], more);
const declared = (id: string, more: object = {}) => ({ ...real(id, more) });

/** Starts only one broker at a time: any of them would answer for the registry. */
async function withBroker(
  options: TestBrokerOptions,
  work: (broker: TestBroker) => Promise<void>,
): Promise<void> {
  const broker = await world.startBroker(options);
  try {
    await work(broker);
  } finally {
    await broker.stop();
    await world.redis.del(REGISTRY);
  }
}

const editFile = (broker: TestBroker, servers: readonly object[]) =>
  writeFile(broker.serversFile, JSON.stringify({ servers }));
const isConnected = ({ status }: mcp.ServerInfo): boolean => status === "connected";
const idsOf = async () => (await api.listServers({})).servers.map(({ id }) => id);

async function pidsOf(broker: TestBroker, server: string): Promise<number[]> {
  return (await broker.call(server, { tool: "fork", args: {} })).text.split(" ").map(Number);
}

async function allGone(pids: readonly number[]): Promise<void> {
  await until(
    () => Promise.all(pids.map((pid) => processIdentity(pid))),
    (identities) => identities.every((identity) => identity === null),
  );
}

/** The messages that were published on subjects below `yard.evt.mcp`, oldest first, when there are so many. */
function eventsOn(subjects: string, count: number) {
  return until(
    async () => {
      const filters = [`yard.evt.mcp.${subjects}`];
      const options = { filters, from: "beginning", stopAtEnd: true } as const;
      const found = [];
      for await (const event of readEvents(world.cli, options)) found.push(event);
      return found;
    },
    (found) => found.length >= count,
  );
}

/** Kinds of the events of one server, oldest first, when there are so many. */
async function events(server: string, count: number): Promise<string[]> {
  return (await eventsOn(`${server}.*`, count)).map(
    ({ subject }) => subject.split(".").at(-1) ?? "",
  );
}

test("reports that a change over the bus overrides the file, logs ignored edits and returns to the file on reset [A30]", async () => {
  await withBroker({ servers: [real("both"), real("away")] }, async (broker) => {
    await broker.until("both", isConnected);
    const changed = await api.updateServer({ server: "both", changes: { name: "Ours" } });
    assert.equal(changed.server.overridesFile, true);
    await editFile(broker, [real("both", { name: "Theirs" }), real("away")]);
    await until(broker.logText, (text) => text.includes("edit of the server file ignored"));
    assert.equal(broker.info("both").name, "Ours");
    const { server } = await api.resetServer({ server: "both" });
    assert.deepEqual(
      [server.name, server.origin, server.overridesFile],
      ["Theirs", "file", undefined],
    );
    await editFile(broker, [real("both", { name: "Newer" }), real("away")]);
    await broker.until("both", ({ name }) => name === "Newer");

    await api.removeServer({ server: "away" });
    assert.equal((await api.resetServer({ server: "away" })).server.origin, "file");
    await broker.until("away", isConnected);
    const { server: added } = await api.addServer({ server: declared("added") });
    assert.equal(added.overridesFile, undefined);
    await assert.rejects(api.resetServer({ server: "added" }), (error) =>
      isError(error, resetServer, "not_in_file"),
    );
    await assert.rejects(api.resetServer({ server: "nobody" }), (error) =>
      isError(error, resetServer, "unknown_server"),
    );
  });
});

test("an edit of the file adds, changes and removes servers while calls to another continue [A29, A30]", async () => {
  await withBroker({ servers: [real("steady")] }, async (broker) => {
    const [pid] = await pidsOf(broker, "steady");
    const editing = { isOver: false };
    const calling = (async () => {
      let calls = 0;
      while (!editing.isOver) {
        const { text } = await broker.call("steady", { tool: "echo", args: { message: "still" } });
        assert.equal(text, "still");
        calls += 1;
        await delay(PAUSE_MS);
      }
      return calls;
    })();

    await editFile(broker, [real("steady"), real("edited")]);
    await until(idsOf, (ids) => ids.includes("edited"));
    await broker.until("edited", isConnected);
    const pids = await pidsOf(broker, "edited");
    const edited = real("edited", { name: "Another", env: { A: "1" } });
    await editFile(broker, [real("steady"), edited]);
    await broker.until("edited", (info) => info.name === "Another" && isConnected(info));
    await allGone(pids);
    await editFile(broker, [real("steady")]);
    await until(idsOf, (ids) => !ids.includes("edited"));
    await assert.rejects(
      broker.call("edited", { tool: "echo", args: {} }),
      (error) => error instanceof ServiceError && error.code === "no_responders",
    );

    editing.isOver = true;
    assert.ok((await calling) > 0);
    assert.equal((await pidsOf(broker, "steady"))[0], pid);
    const kinds = await events("edited", 7);
    assert.deepEqual(
      kinds.filter((kind) => ["added", "updated", "removed"].includes(kind)),
      ["added", "updated", "removed"],
    );
  });
});

test("a bad edit keeps the last good servers and is reported without any content of the file", async () => {
  await withBroker({ servers: [real("kept")] }, async (broker) => {
    const [pid] = await pidsOf(broker, "kept");
    await writeFile(broker.serversFile, '{"servers": [{"env": {"A": hunter2}}]}');
    assert.deepEqual(await events("config", 1), ["refused"]);
    assert.match(broker.logText(), /edited server file refused/);
    assert.ok(!broker.logText().includes("hunter2"));
    assert.equal((await pidsOf(broker, "kept"))[0], pid);
    await editFile(broker, [real("kept"), real("after")]);
    await until(idsOf, (ids) => ids.includes("after"));
    assert.equal((await pidsOf(broker, "kept"))[0], pid);
  });
});

test("a change over the bus wins over the file, also after a restart [A30, A34, X12, A28, C10]", async () => {
  const first = [real("both"), real("gone")];
  await withBroker({ servers: first }, async (broker) => {
    const { server } = await api.updateServer({ server: "both", changes: { name: "By hand" } });
    assert.deepEqual([server.origin, server.name], ["api", "By hand"]);
    await api.removeServer({ server: "gone" });
    await editFile(broker, [real("both", { name: "By file" }), real("gone"), real("mark")]);
    await until(idsOf, (ids) => ids.includes("mark"));
    assert.equal(broker.info("both").name, "By hand");
    assert.ok(!(await idsOf()).includes("gone"));
    await broker.stop();

    const next = await world.startBroker({ servers: first });
    assert.equal(next.info("both").name, "By hand");
    assert.ok(!(await idsOf()).includes("gone"));
    // A server that the file stops naming and then names again is a new declaration.
    await editFile(next, [real("mark")]);
    await until(idsOf, (ids) => ids.includes("mark"));
    await editFile(next, [real("gone")]);
    await until(idsOf, (ids) => ids.includes("gone") && !ids.includes("mark"));
    assert.deepEqual((await idsOf()).toSorted(), ["both", "gone"]);
    await next.stop();
  });
});

test("adds, checks and changes servers, and publishes what was added [A32, A34, A40, C20, CR8, AR13]", async () => {
  await withBroker({ servers: [] }, async (broker) => {
    await api.addServer({ server: declared("made") });
    await broker.until("made", isConnected);
    assert.equal((await broker.call("made", { tool: "echo", args: { message: "hi" } })).text, "hi");
    const added = await eventsOn("made.added", 1);
    const payloads = added.map(({ payload }) => mcp.serverAdded.payload.parse(payload));
    assert.deepEqual(
      payloads.map(({ server, by }) => [server.id, server.transport, by]),
      [["made", "stdio", "cli"]],
    );
    await assert.rejects(api.addServer({ server: declared("made") }), (error) =>
      isError(error, addServer, "server_exists"),
    );
    const problems = async (changing: Promise<unknown>): Promise<string[]> => {
      const error: unknown = await changing.catch((caught: unknown) => caught);
      assert.ok(isError(error, updateServer, "invalid_config"), String(error));
      return error.data.problems;
    };
    assert.deepEqual(await problems(api.addServer({ server: { id: "x", transport: "stdio" } })), [
      'MCP stdio server x missing "command" field',
    ]);
    assert.deepEqual(await problems(api.addServer({ server: {} })), ['missing "id"']);
    const update = (changes: object) =>
      api.updateServer({ server: "made", changes: { ...changes } });
    assert.deepEqual(await problems(update({ command: null, args: null, transport: "http" })), [
      'MCP http server made missing "url" field',
    ]);
    assert.deepEqual(await problems(update({ id: "other" })), ['"id" cannot be changed']);
    assert.match(
      String(await problems(update({ env: { A: "[redacted]" } }))),
      /"env.A" is \[redacted\]/,
    );
    const pids = await pidsOf(broker, "made");
    await update({ env: { A: "1" } });
    await broker.until("made", isConnected);
    await allGone(pids);
    const { text } = await broker.call("made", { tool: "environment", args: {} });
    assert.equal((JSON.parse(text) as Record<string, string>)["A"], "1");
  });
});

test("what no connection is made of changes without a new one, and counts for the next call [A34, CR8]", async () => {
  const begun = join(await testDirectory(), "begun");
  await withBroker({ servers: [real("live", { maxConcurrency: 1 })] }, async (broker) => {
    const [pid] = await pidsOf(broker, "live");
    const inWork = assert.rejects(
      broker.call("live", { tool: "hang", args: { file: begun } }),
      /disconnected by cli/,
    );
    await until(
      () => readFile(begun, "utf8").catch(() => ""),
      (text) => text !== "",
    );
    const waiting = broker.call("live", { tool: "echo", args: { message: "waits" } });
    await until(
      () => broker.broker.pool.find("live")?.queue.queued,
      (queued) => queued === 1,
    );
    const changes = { description: "new", tags: ["prod"], name: "Live", maxConcurrency: 2 };
    const limits = { callTimeoutMs: 2_000, disabledTools: ["environment"] };
    const reply = await api.updateServer({ server: "live", changes: { ...changes, ...limits } });
    assert.deepEqual([reply.server.name, reply.server.status], ["Live", "connected"]);
    // A waiting call takes the slot that the change added.
    assert.equal((await waiting).text, "waits");
    assert.equal((await pidsOf(broker, "live"))[0], pid);
    await assert.rejects(
      broker.call("live", { tool: "hang", args: { file: begun } }),
      /timed out after 2000ms/,
    );
    await assert.rejects(
      broker.call("live", { tool: "environment", args: {} }),
      /has no tool environment/,
    );
    const names = new Set((await broker.tools()).tools.map(({ name }) => name));
    assert.ok(names.has("mcp__live__echo") && !names.has("mcp__live__environment"));
    assert.deepEqual(
      (await api.enableServer({ server: "live", enabled: true })).server.status,
      "connected",
    );
    assert.equal((await pidsOf(broker, "live"))[0], pid);
    await api.disconnectServer({ server: "live" });
    await inWork;
  });
});

test("accepts an entry in the form of another client, and reports ignored fields, also after a restart [A32, E1]", async () => {
  const entry = { ...declared("pasted"), alwaysAllow: ["fork"], autoApprove: [], timeout: 45 };
  const grants = '"alwaysAllow" grants nothing: only the policy decides which calls are allowed';
  await withBroker({ servers: [{ ...entry, id: "filed" }] }, async (broker) => {
    assert.match(broker.logText(), /"server":"filed","warning":"\\"alwaysAllow\\" grants nothing/);
    const { server } = await api.addServer({ server: { ...entry, disabled: true } });
    assert.deepEqual([server.status, server.warnings], ["disabled", [grants]]);
    const { declaration } = await api.getServer({ server: "pasted" });
    assert.equal(declaration["callTimeoutMs"], 45_000);
    assert.equal(declaration["enabled"], false);
    assert.ok(!("alwaysAllow" in declaration));
    await api.enableServer({ server: "pasted", enabled: true });
    assert.deepEqual((await broker.until("pasted", isConnected)).warnings, undefined);
    const changed = await api.updateServer({ server: "pasted", changes: { envFile: ".env" } });
    assert.match(String(changed.server.warnings), /^"envFile" is not read/);
    await broker.stop();
    const next = await world.startBroker({ servers: [{ ...entry, id: "filed" }] });
    assert.match(String(next.info("pasted").warnings), /^"envFile" is not read/);
    assert.deepEqual(next.info("filed").warnings, [grants]);
    await next.stop();
  });
});

test("no more servers than the limit are added, and the error names the limit [A26, AR4]", async () => {
  const servers = Array.from({ length: 256 }, (_, n) => ({
    id: `s${n}`,
    command: "true",
    enabled: false,
  }));
  await withBroker({ servers }, async () => {
    await assert.rejects(api.addServer({ server: declared("more") }), (error) => {
      assert.ok(isError(error, addServer, "invalid_config"), String(error));
      assert.match(error.message, /there are 256 servers already; remove one first/);
      return true;
    });
  });
});

test("values of references are in nothing that is stored, shown or logged [A31]", async () => {
  const canary = "canary-7f3a9c51d2";
  const server = {
    id: "secretive",
    command: process.execPath,
    args: [fixture("hostile-server.ts"), "leaks"],
    env: { SECRET: "${CANARY}", API_KEY: "lit5150", PLAIN: "shown" },
  };
  await withBroker({ servers: [], env: { CANARY: canary } }, async (broker) => {
    await api.addServer({ server });
    await broker.until("secretive", isConnected);
    const { lines } = await until(
      () => api.serverLogs({ server: "secretive" }),
      (reply) => reply.lines.length === 2,
    );
    assert.deepEqual(lines, ["started with ${CANARY}", "ready"]);
    assert.deepEqual((await api.serverLogs({ server: "secretive", tail: 1 })).lines, ["ready"]);
    const shown = await api.getServer({ server: "secretive" });
    assert.deepEqual(shown.declaration["env"], {
      SECRET: "${CANARY}",
      API_KEY: "[redacted]",
      PLAIN: "shown",
    });
    await api.disconnectServer({ server: "secretive" });
    assert.deepEqual((await api.serverLogs({ server: "secretive" })).lines, lines);
    const stored = await world.redis.hgetall(REGISTRY);
    const reported = [stored, lines, shown, await api.listServers({}), broker.logText()];
    assert.match(JSON.stringify(stored), /\$\{CANARY\}/);
    assert.ok(!JSON.stringify(reported).includes(canary));
    assert.ok(!JSON.stringify(reported.slice(1)).includes("lit5150"));
  });
});

test("of two callers that add the same server at once, one gets the error that it exists", async () => {
  await withBroker({ servers: [] }, async (broker) => {
    const adding = [1, 2].map((n) => api.addServer({ server: declared("twin", { name: `${n}` }) }));
    const ends = await Promise.allSettled(adding);
    assert.deepEqual(ends.map(({ status }) => status).toSorted(), ["fulfilled", "rejected"]);
    const kept = JSON.parse((await world.redis.hget(REGISTRY, "twin")) ?? "") as {
      declaration: { name: string };
    };
    assert.equal(broker.info("twin").name, kept.declaration.name);
  });
});

test("only the listed users may change servers, and a refused one starts nothing [AR11]", async () => {
  const directory = await testDirectory();
  const marker = join(directory, "spawned");
  const server = {
    id: "evil",
    command: process.execPath,
    args: ["-e", `require("node:fs").writeFileSync(${JSON.stringify(marker)}, "")`],
  };
  const stranger = await connectBus({ servers: world.natsUrl, user: "me", inboxPrefix: "_INBOX" });
  after(() => stranger.close());
  await withBroker({ servers: [real("safe")] }, async (broker) => {
    const [pid] = await pidsOf(broker, "safe");
    const refused = [
      call(stranger, addServer, { server }),
      call(stranger, updateServer, { server: "safe", changes: server }),
      call(stranger, removeServer, { server: "safe" }),
      call(stranger, enableServer, { server: "safe", enabled: false }),
      call(stranger, connectServer, { server: "safe" }),
      call(stranger, disconnectServer, { server: "safe" }),
    ];
    // All are awaited before one is checked: an unhandled rejection ends the process.
    for (const end of await Promise.allSettled(refused)) {
      const error: unknown = end.status === "rejected" ? end.reason : end.value;
      assert.ok(isError(error, addServer, "forbidden_admin"), String(error));
      assert.match(error.message, /YARD_ADMINS/);
    }
    assert.deepEqual(await idsOf(), ["safe"]);
    assert.equal(await world.redis.exists(REGISTRY), 0);
    assert.equal((await pidsOf(broker, "safe"))[0], pid);
    await assert.rejects(readFile(marker));
    assert.equal((await call(stranger, getServer, { server: "safe" })).server.id, "safe");
  });
});

test("removing waits for the processes and ends a call in work with a clear error [A33, A41, AR6]", async () => {
  const begun = join(await testDirectory(), "begun");
  await withBroker({ servers: [real("busy")] }, async (broker) => {
    const pids = await pidsOf(broker, "busy");
    const inWork = broker.call("busy", { tool: "hang", args: { file: begun } });
    const ended = assert.rejects(
      inWork,
      (error) =>
        isError(error, callTool, "outcome_unknown") && /removed by cli/.test(error.message),
    );
    await until(
      () => readFile(begun, "utf8").catch(() => ""),
      (text) => text !== "",
    );
    assert.deepEqual(await api.removeServer({ server: "busy" }), { removed: true, server: "busy" });
    assert.equal(await processIdentity(pids[0] ?? 0), null);
    await ended;
    await allGone(pids);
    await assert.rejects(api.removeServer({ server: "busy" }), /MCP server not found: busy/);
    assert.deepEqual((await events("busy", 5)).toSorted(), [
      "connected",
      "disconnected",
      "pins-approved",
      "removed",
      "tools-discovered",
    ]);
    assert.doesNotMatch(await broker.metrics.metrics(), /calls_in_flight\{server="busy"\}/);
  });
});

test("connects anew, stays disconnected until a connect, disables for good [A35, A36, AR14]", async () => {
  await withBroker({ servers: [real("lever")] }, async (broker) => {
    const pids = await pidsOf(broker, "lever");
    assert.equal((await api.connectServer({ server: "lever" })).server.status, "connected");
    await allGone(pids);
    const off = (await api.disconnectServer({ server: "lever" })).server;
    assert.deepEqual([off?.status, off?.lastError], ["disconnected", "disconnected by cli"]);
    await assert.rejects(
      broker.call("lever", { tool: "echo", args: { message: "" } }),
      /MCP server lever is disconnected, cannot call tool: disconnected by cli/,
    );
    assert.deepEqual(await api.disconnectServer({ server: "nobody" }), { server: null });
    await assert.rejects(api.connectServer({ server: "nobody" }), /MCP server not found: nobody/);

    const disabled = await api.enableServer({ server: "lever", enabled: false });
    assert.equal(disabled.server.status, "disabled");
    await assert.rejects(api.connectServer({ server: "lever" }), (error) =>
      isError(error, connectServer, "server_disabled"),
    );
    await api.enableServer({ server: "lever", enabled: true });
    await broker.until("lever", isConnected);
  });
});

test("twenty connects and disconnects leave no process [A20]", async () => {
  await withBroker({ servers: [real("cycle")] }, async (broker) => {
    const pids: number[] = [];
    for (let n = 0; n < 20; n += 1) {
      pids.push(...(await pidsOf(broker, "cycle")));
      await (n % 2 === 0 ? api.disconnectServer({ server: "cycle" }) : Promise.resolve());
      await api.connectServer({ server: "cycle" });
    }
    await api.disconnectServer({ server: "cycle" });
    assert.equal(new Set(pids).size, 40);
    await allGone(pids);
  });
});

test("without Redis nothing is changed, and the error names the outage", async () => {
  const log = createLog({ service: "test", level: "silent" });
  const redis = await connectRedis({ url: world.redisUrl, name: "lost", log });
  await withBroker({ servers: [real("stays")], redis }, async () => {
    redis.disconnect();
    for (const change of [
      () => api.addServer({ server: declared("new") }),
      () => api.removeServer({ server: "stays" }),
    ]) {
      await assert.rejects(
        change,
        (error) => isError(error, addServer, "registry_unavailable") && error.retryable,
      );
    }
    assert.deepEqual(await idsOf(), ["stays"]);
  });
});
