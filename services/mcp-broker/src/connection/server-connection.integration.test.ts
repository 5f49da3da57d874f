import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { after, test } from "node:test";
import { freePort } from "@switchyard/local-servers/free-port";
import { call } from "@switchyard/bus/call";
import { readEvents } from "@switchyard/bus/events";
import { isError, ServiceError } from "@switchyard/contracts/errors";
import { callTool, listTools } from "@switchyard/contracts/mcp-broker/mcp";
import {
  listServers,
  serverDisconnected,
  serverFailed,
} from "@switchyard/contracts/mcp-broker/mcp-servers";
import { testDirectory } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import {
  fixture,
  fixtureServer,
  packageFile,
  testWorld,
  type TestBroker,
} from "../../test-fixtures/test-broker.ts";

const world = await testWorld();

async function childPid(broker: TestBroker, server: string): Promise<number> {
  const reply = await broker.call(server, { tool: "fork", args: {} });
  return Number(reply.text.split(" ")[0]);
}

/** Kinds of the events of one server, oldest first. */
async function eventsOf(server: string): Promise<string[]> {
  return (await readAll(server)).map(({ kind }) => kind);
}

async function readAll(server: string): Promise<{ kind: string; payload: unknown }[]> {
  const all: { kind: string; payload: unknown }[] = [];
  const events = readEvents(world.cli, {
    filters: [`yard.evt.mcp.${server}.*`],
    from: "beginning",
    stopAtEnd: true,
  });
  for await (const { subject, payload } of events)
    all.push({ kind: subject.split(".").at(-1) ?? "", payload });
  return all;
}

/** The payload of the first event of a kind. */
async function payloadOf(server: string, kind: string): Promise<unknown> {
  return (await readAll(server)).find((event) => event.kind === kind)?.payload;
}

test("connects a server and shows its true status, name and version [A8, A19, A42, C5, X8]", async () => {
  const broker = await world.startBroker({
    servers: [fixtureServer("status", ["fixture-server.ts"])],
  });
  await broker.until("status", ({ status }) => status === "connected");
  const { servers } = await call(world.cli, listServers, {});
  assert.deepEqual(servers, [broker.info("status")]);
  const info = broker.info("status");
  assert.equal(info.status, "connected");
  assert.equal(info.serverVersion, "fixture 1.2.3");
  assert.equal(info.protocolVersion, "2025-11-25");
  assert.equal(info.toolCount, 10);
  assert.equal(info.lastError, null);
  assert.deepEqual(info.capabilities, { tools: true, resources: false, prompts: false });
  assert.ok(Math.abs(Date.now() - Date.parse(info.connectedAt ?? "")) < 600_000);
  assert.deepEqual(
    await until(
      () => eventsOf("status"),
      (kinds) => kinds.length >= 3,
    ),
    ["pins-approved", "connected", "tools-discovered"],
  );
});

test("a server that cannot be started leaves the others working and the boot going, and is listed with them [A46, A4, A18, CR12, E7]", async () => {
  const broker = await world.startBroker({
    servers: [
      { id: "broken" },
      { id: "missing", command: "no-such-program-anywhere" },
      { id: "off", command: "node", enabled: false },
      fixtureServer("good", ["fixture-server.ts"]),
    ],
  });
  const { servers } = await call(world.cli, listServers, {});
  assert.deepEqual(servers.map(({ id }) => id).toSorted(), ["broken", "good", "missing", "off"]);
  assert.deepEqual(
    servers.map(({ status }) => status),
    servers.map(({ id }) => broker.info(id).status),
  );
  assert.equal(broker.info("good").status, "connected");
  assert.equal(broker.info("off").status, "disabled");
  const broken = broker.info("broken");
  assert.equal(broken.status, "error");
  assert.match(
    broken.lastError ?? "",
    /mcp-servers\.json: server broken: must specify at least 'command'/,
  );
  const missing = broker.info("missing");
  assert.equal(missing.status, "error");
  assert.equal(missing.lastError, "command not found: no-such-program-anywhere");
  const { failures } = await broker.tools();
  assert.deepEqual(
    failures.map(({ server, status }) => [server, status]),
    [
      ["broken", "error"],
      ["missing", "error"],
    ],
  );
  await assert.rejects(
    broker.call("off", { tool: "echo", args: {} }),
    (error) => isError(error, callTool, "server_down") && error.data.status === "disabled",
  );
});

test("an unset variable makes the server an error that names the variable [A31, AR7]", async () => {
  const broker = await world.startBroker({
    servers: [
      fixtureServer("unset", ["fixture-server.ts"], { env: { TOKEN: "${NOT_SET_ANYWHERE}" } }),
    ],
  });
  const info = broker.info("unset");
  assert.equal(info.status, "error");
  assert.match(
    info.lastError ?? "",
    /environment variable NOT_SET_ANYWHERE is not set \(used in "env.TOKEN"\)/,
  );
  assert.deepEqual(
    await until(
      () => eventsOf("unset"),
      (kinds) => kinds.length > 0,
    ),
    ["failed"],
  );
});

test("a resolved secret is in no log, status, error, event or Redis key [A31]", async () => {
  const canary = "canary-4f9a1c";
  const env = { SECRET: "${LEAKY_TOKEN}" };
  const broker = await world.startBroker({
    servers: [
      fixtureServer("leaky", ["fixture-server.ts"], { env }),
      fixtureServer("refuses", ["hostile-server.ts", "refuses"], { env }),
    ],
    env: { LEAKY_TOKEN: canary },
  });
  const reported: string[] = [];
  const failedCall = async (server: string, tool: string): Promise<void> => {
    const failing = broker.call(server, { tool, args: {}, callId: `leaky:${tool}` });
    await assert.rejects(failing, (error) => {
      assert.ok(error instanceof ServiceError);
      reported.push(error.message, JSON.stringify(error.data));
      return true;
    });
  };
  await failedCall("leaky", "die");
  await failedCall("refuses", "alpha");
  const { lastError } = await broker.until("leaky", ({ status }) => status === "disconnected");
  assert.match(lastError ?? "", /secret was \$\{LEAKY_TOKEN\}/);
  assert.match(reported.join(), /token \$\{LEAKY_TOKEN\}/);
  reported.push(lastError ?? "", broker.logText());
  for await (const event of readEvents(world.cli, {
    filters: ["yard.evt.mcp.leaky.*"],
    from: "beginning",
    stopAtEnd: true,
  })) {
    reported.push(JSON.stringify(event.payload));
  }
  for (const key of await world.redis.keys("*")) {
    const isHash = (await world.redis.type(key)) === "hash";
    const value = isHash ? await world.redis.hgetall(key) : await world.redis.get(key);
    reported.push(key, JSON.stringify(value));
  }
  assert.ok(!reported.join("\n").includes(canary));
});

test("a child killed by SIGKILL takes its tools away at once and is started again within seconds [A21, A13, A43, A57, AR1, CR11, ER7]", async () => {
  const broker = await world.startBroker({
    servers: [fixtureServer("killed", ["fixture-server.ts"])],
  });
  const pid = await childPid(broker, "killed");
  process.kill(pid, "SIGKILL");
  const down = await broker.until("killed", ({ status }) => status !== "connected");
  assert.equal(down.status, "disconnected");
  assert.equal(down.toolCount, 0);
  assert.equal(down.lastError, "process was killed by SIGKILL");
  const { tools, failures } = await broker.tools();
  assert.deepEqual(tools, []);
  assert.deepEqual(failures, [
    { server: "killed", status: "disconnected", error: "process was killed by SIGKILL" },
  ]);
  await assert.rejects(broker.call("killed", { tool: "echo", args: {} }), (error) => {
    assert.ok(isError(error, callTool, "server_down") && error.retryable);
    assert.equal(error.data.status, "disconnected"); // it did not wait for the next attempt
    return true;
  });
  const up = await broker.until("killed", ({ status }) => status === "connected");
  assert.equal(up.toolCount, 10);
  assert.notEqual(await childPid(broker, "killed"), pid);
  assert.deepEqual(
    await until(
      () => eventsOf("killed"),
      (kinds) => kinds.length >= 6,
    ),
    [
      "pins-approved",
      "connected",
      "tools-discovered",
      "disconnected",
      "connected",
      "tools-discovered",
    ],
  );
  const { server, reason } = serverDisconnected.payload.parse(
    await payloadOf("killed", "disconnected"),
  );
  assert.deepEqual([server.id, reason], ["killed", "process was killed by SIGKILL"]);
  assert.match(await broker.metrics.metrics(), /yard_mcp_reconnects_total\{server="killed"\} 1/);
});

test("a server that always ends is in error after its attempts, with its last words [A21, A44]", async () => {
  const broker = await world.startBroker({
    servers: [fixtureServer("exits", ["hostile-server.ts", "exits"], { maxReconnectAttempts: 1 })],
  });
  const { lastError } = await broker.until("exits", ({ status }) => status === "error");
  assert.equal(lastError, "process exited with code 7; stderr: configuration is missing");
  assert.deepEqual(
    await until(
      () => eventsOf("exits"),
      (kinds) => kinds.length > 0,
    ),
    ["failed"],
  );
  const { server, error } = serverFailed.payload.parse(await payloadOf("exits", "failed"));
  assert.deepEqual([server.id, error], ["exits", lastError]);
});

test("a server that never answers initialize is given up after connectTimeoutMs", async () => {
  const broker = await world.startBroker({
    servers: [fixtureServer("silent", ["hostile-server.ts", "silent"], { connectTimeoutMs: 500 })],
  });
  const { lastError } = await broker.until("silent", (info) => info.lastError !== null);
  assert.match(lastError ?? "", /no answer within connectTimeoutMs \(500 ms\)|Request timed out/);
});

test("a stop does not wait for a server that is being connected, and ends its process [A20, ER8]", async () => {
  const broker = await world.startBroker({
    servers: [fixtureServer("stopped", ["hostile-server.ts", "silent"], { autoConnect: false })],
  });
  const starting = broker.broker.pool.members[0]?.connection.start();
  await until(
    () => broker.info("stopped"),
    ({ status }) => status === "connecting",
  );
  await broker.stop();
  await starting;
  assert.equal(broker.info("stopped").lastError, "the broker is stopping");
});

test("a stop is not an outage", async () => {
  const broker = await world.startBroker({
    servers: [fixtureServer("leaves", ["fixture-server.ts"])],
  });
  await broker.until("leaves", ({ status }) => status === "connected");
  await broker.stop();
  assert.equal(broker.info("leaves").status, "disconnected");
  assert.equal(broker.info("leaves").lastError, null);
  assert.doesNotMatch(broker.logText(), /mcp server disconnected/);
});

test("reads all pages, in an order of its own, and refuses two tools that fold to one name [X1]", async () => {
  const broker = await world.startBroker({
    servers: [fixtureServer("pages", ["hostile-server.ts", "pages"])],
  });
  await broker.until("pages", ({ status }) => status === "connected");
  const { tools, failures } = await broker.tools({ server: "pages" });
  assert.deepEqual(
    tools.map(({ name }) => name),
    ["mcp__pages__alpha", "mcp__pages__zeta"],
  );
  assert.equal(failures.length, 1);
  assert.match(failures[0]?.error ?? "", /"read-file" and "read_file" are refused/);
});

test("follows a tool list that changes", async () => {
  const broker = await world.startBroker({
    servers: [fixtureServer("grows", ["fixture-server.ts"], { trust: "pin-new-tools" })],
  });
  await broker.call("grows", { tool: "grow", args: {} });
  await broker.until("grows", ({ toolCount }) => toolCount === 11);
  assert.equal((await broker.call("grows", { tool: "mcp__grows__grown", args: {} })).text, "new");
});

test("a server without autoConnect is connected by the first call that needs it [E5, X9]", async () => {
  const broker = await world.startBroker({
    servers: [fixtureServer("lazy", ["fixture-server.ts"], { autoConnect: false })],
  });
  assert.equal(broker.info("lazy").status, "disconnected");
  assert.equal(broker.info("lazy").autoConnect, false);
  assert.equal(
    (await broker.call("lazy", { tool: "echo", args: { message: "awake" } })).text,
    "awake",
  );
  assert.equal(broker.info("lazy").status, "connected");
});

test("an unknown server is named in the listing's error [AR13]", async () => {
  const broker = await world.startBroker({ servers: [] });
  await assert.rejects(
    broker.tools({ server: "nobody" }),
    (error) =>
      isError(error, listTools, "unknown_server") &&
      error.message === "MCP server not found: nobody",
  );
});

test("lists, calls and closes the reference filesystem server [A57, A58]", async () => {
  const directory = await testDirectory();
  const broker = await world.startBroker({
    servers: [
      {
        id: "files",
        command: process.execPath,
        args: [
          packageFile("@modelcontextprotocol/server-filesystem/dist/index.js"),
          "${WORKSPACE}",
        ],
        cwd: "${WORKSPACE}",
      },
    ],
    env: { WORKSPACE: directory },
  });
  const { tools } = await broker.tools({ server: "files" });
  assert.ok(tools.some(({ name }) => name === "mcp__files__read_text_file"));
  await broker.call("files", { tool: "write_file", args: { path: "a.txt", content: "hello" } });
  assert.equal(
    (await broker.call("files", { tool: "mcp__files__read_text_file", args: { path: "a.txt" } }))
      .text,
    "hello",
  );
});

/** Starts an HTTP server program and returns its URL when it listens. */
async function startHttpServer(args: string[], env: Record<string, string>): Promise<ChildProcess> {
  const child = spawn(process.execPath, args, {
    env: { PATH: process.env["PATH"], ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  after(() => child.kill("SIGKILL"));
  // The reference server reports on stderr, the fixture on stdout.
  const listening = [child.stdout, child.stderr].map(async (stream) => {
    if (stream === null) throw new Error("unreachable: both are pipes");
    for await (const line of createInterface({ input: stream }))
      if (/listening|^\d+$/.test(line)) return;
  });
  await Promise.race(listening);
  return child;
}

test("speaks 2026-07-28 over HTTP with its configured headers, and is down as soon as the server is [A5, X6, ER6]", async () => {
  const PORT = String(await freePort());
  const env = { PORT, EXPECTED_TOKEN: "http-canary-77" };
  const child = await startHttpServer([fixture("http-server.ts")], env);
  const broker = await world.startBroker({
    servers: [
      {
        id: "modern",
        url: `http://127.0.0.1:${PORT}/mcp`,
        headers: { Authorization: "Bearer ${HTTP_TOKEN}" },
      },
    ],
    env: { HTTP_TOKEN: "http-canary-77" },
  });
  const connected = await broker.until("modern", ({ status }) => status === "connected");
  assert.equal(connected.protocolVersion, "2026-07-28");
  assert.equal((await broker.call("modern", { tool: "echo", args: { message: "hi" } })).text, "hi");

  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
  // The connection shows its death at the next call at the latest, and that call was provably not made.
  await assert.rejects(broker.call("modern", { tool: "echo", args: { message: "hi" } }), (error) =>
    isError(error, callTool, "server_down"),
  );
  const { toolCount } = await broker.until("modern", ({ status }) => status !== "connected");
  assert.equal(toolCount, 0);
  await startHttpServer([fixture("http-server.ts")], env);
  await broker.until("modern", ({ status }) => status === "connected");
  assert.ok(!broker.logText().includes("http-canary-77"));
});

test("a wrong header makes the server an error and shows no secret", async () => {
  const PORT = String(await freePort());
  await startHttpServer([fixture("http-server.ts")], { PORT, EXPECTED_TOKEN: "right" });
  const broker = await world.startBroker({
    servers: [
      {
        id: "refused",
        url: `http://127.0.0.1:${PORT}/mcp`,
        headers: { Authorization: "Bearer ${HTTP_TOKEN}" },
        maxReconnectAttempts: 0,
      },
    ],
    env: { HTTP_TOKEN: "http-canary-78" },
  });
  const { lastError } = await broker.until("refused", ({ status }) => status === "error");
  assert.match(lastError ?? "", /401/);
  assert.ok(!broker.logText().includes("http-canary-78"));
});

test("speaks to the reference server over HTTP with a session, and finds a new one after a restart", async () => {
  const PORT = String(await freePort());
  const args = [
    packageFile("@modelcontextprotocol/server-everything/dist/index.js"),
    "streamableHttp",
  ];
  const child = await startHttpServer(args, { PORT });
  const broker = await world.startBroker({
    servers: [{ id: "session", url: `http://127.0.0.1:${PORT}/mcp` }],
  });
  await broker.until("session", ({ status }) => status === "connected");
  assert.equal(
    (await broker.call("session", { tool: "echo", args: { message: "hi" } })).text,
    "Echo: hi",
  );
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
  await broker.until("session", ({ status }) => status !== "connected");
  await startHttpServer(args, { PORT });
  await broker.until("session", ({ status }) => status === "connected");
  assert.equal(
    (await broker.call("session", { tool: "echo", args: { message: "again" } })).text,
    "Echo: again",
  );
});
