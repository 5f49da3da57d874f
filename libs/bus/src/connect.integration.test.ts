import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { join } from "node:path";
import { after, test } from "node:test";
import { freePort } from "@switchyard/local-servers/free-port";
import { rpc } from "@switchyard/contracts/define";
import { natsAuthorization } from "@switchyard/topology/nats-config";
import { runRejected } from "@switchyard/contracts/agent-runner/run-events";
import { startRun } from "@switchyard/contracts/agent-runner/runs";
import { runCommands } from "@switchyard/topology/streams";
import { cliUser } from "@switchyard/topology/topology";
import { testDirectory, testNats } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { z } from "zod";
import { call } from "./call.ts";
import type { BusStatus } from "./bus.ts";
import { connectBus } from "./connect.ts";
import { consume } from "./consume.ts";
import { readEvents } from "./events.ts";
import { createUserKey } from "./keys.ts";
import { publishCommand, publishEvent } from "./publish.ts";
import { serve } from "./serve.ts";
import { ensureStreams } from "./streams.ts";
import { signalled, testBus } from "@switchyard/testing/test-bus";

const ping = rpc({
  subject: "yard.rpc.{caller}.target.ping",
  summary: "Answers.",
  request: z.strictObject({}),
  reply: z.object({ pong: z.int() }),
});

/** Speaks just enough of the NATS protocol to be taken for a server of some version. */
async function serverOfVersion(version: string): Promise<string> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.write(
      `INFO ${JSON.stringify({ server_id: "X", version, max_payload: 1_048_576, headers: true, proto: 1 })}\r\n`,
    );
    socket.on("data", (bytes) => {
      if (bytes.toString().includes("PING")) socket.write("PONG\r\n");
    });
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  after(() => server.close());
  const { port } = server.address() as AddressInfo; // a TCP server has an address with a port
  return `nats://127.0.0.1:${port}`;
}

test("an address without a listener is reported with the address, the time and the reason, and without the password", async () => {
  const port = await freePort();
  await assert.rejects(
    connectBus({
      // With an @ that should have been written as %40.
      servers: `nats://joe:2@hunter2@127.0.0.1:${port},nats://joe:hunter2@127.0.0.1:${port}`,
      user: "cli",
      connectTimeoutMs: 300,
    }),
    (error) => {
      const { code, message } = error as { code: string; message: string }; // connectBus rejects with a ServiceError
      assert.equal(code, "disconnected");
      const address = `nats://127\\.0\\.0\\.1:${port}`;
      assert.match(message, new RegExp(`at ${address},${address} within 300 ms \\(.+\\)`));
      assert.doesNotMatch(message, /hunter2/);
      return true;
    },
  );
});

test("a connection attempt to a server that accepts and sends nothing ends at its timeout, and leaves no connection open", async () => {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on("error", () => {});
    socket.once("close", () => open.delete(socket)).resume();
  }).listen(0, "127.0.0.1");
  after(() => server.close());
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo; // a TCP server has an address with a port
  await assert.rejects(
    connectBus({ servers: `nats://127.0.0.1:${port}`, user: "cli", connectTimeoutMs: 300 }),
    { code: "disconnected", message: /within 300 ms/ },
  );
  await until(async () => open.size === 0);
});

test("a server that is too old is refused with both versions", async () => {
  const servers = await serverOfVersion("2.9.10");
  await assert.rejects(connectBus({ servers, user: "cli" }), {
    code: "unsupported_server",
    message: /2\.9\.10.*2\.14/,
  });
});

test("a server without JetStream for this user is refused", async () => {
  const authorization = `accounts { PLAIN { users: [{ user: plain, password: plain }] } }\nno_auth_user: plain\n`;
  const nats = await testNats({ authorization });
  await assert.rejects(connectBus({ servers: nats.url, user: "cli" }), {
    code: "jetstream_disabled",
  });
});

test("a server that comes up while the first connection is tried is found", async () => {
  const port = await freePort();
  const connecting = testBus({ url: `nats://127.0.0.1:${port}` }, "cli", {
    connectTimeoutMs: 30_000,
  });
  await testNats({ port });
  const bus = await connecting;
  assert.equal(bus.status, "connected");
  assert.match(bus.serverVersion, /^2\./);
  assert.ok(bus.maxPayload >= 1_000_000);
});

test("while a cluster has too few servers for JetStream, the first connection is tried again, and the reason is named", async () => {
  const routePorts = await Promise.all([freePort(), freePort(), freePort()]);
  const routes = routePorts.map((port) => `"nats-route://127.0.0.1:${port}"`).join(", ");
  const startNode = (routePort: number) =>
    testNats({
      asProgram: true,
      authorization: `server_name: n${routePort}
cluster { name: test, listen: "127.0.0.1:${routePort}", routes: [${routes}] }`,
    });
  const [first, ...others] = routePorts;
  const { url } = await startNode(first);
  await assert.rejects(connectBus({ servers: url, user: "cli", connectTimeoutMs: 1_500 }), {
    code: "disconnected",
    message: /JetStream does not answer.*most of its servers/,
  });
  const connecting = testBus({ url }, "cli", { connectTimeoutMs: 120_000 });
  await Promise.all(others.map(startNode));
  assert.equal((await connecting).status, "connected");
});

test(
  "a lost server fails calls at once, and when it is back everything resumes automatically",
  { timeout: 180_000 },
  async () => {
    const dataDir = await testDirectory();
    const first = await testNats({ dataDir });
    const statuses: BusStatus[] = [];
    const caller = await testBus(first, "cli", { onStatus: (status) => statuses.push(status) });
    const target = await testBus(first, "target");
    await ensureStreams(caller);
    const service = serve(target, {
      name: "target",
      version: "1.0.0",
      description: "",
      onFault: ({ error }) => assert.fail(String(error)),
    });
    let pongs = 0;
    service.handle(ping, () => ({ pong: (pongs += 1) }));
    const worked: string[] = [];
    const { promise: allWorked, resolve } = signalled();
    consume(target, {
      consumer: runCommands,
      commands: [startRun],
      concurrency: 2,
      handle: (delivery) => {
        worked.push(
          delivery.kind === "command" ? String(delivery.tokens["agent"]) : delivery.message,
        );
        if (worked.includes("after")) resolve();
        return Promise.resolve({ outcome: "done" });
      },
      onFault: () => {},
    });
    const events: number[] = [];
    const { promise: secondEvent, resolve: haveSecondEvent } = signalled();
    const stopReading = new AbortController();
    const reading = (async () => {
      for await (const event of readEvents(caller, {
        filters: ["yard.evt.run.>"],
        from: "beginning",
        signal: stopReading.signal,
      })) {
        events.push(event.sequence);
        if (events.length === 2) haveSecondEvent();
      }
    })();
    await target.flush();
    assert.deepEqual(await call(caller, ping, {}), { pong: 1 });
    await publishCommand(caller, startRun, { agent: "before" }, { input: "x" });
    await publishEvent(target, runRejected, { owner: "cli", runId: "r" }, rejection(1));
    await until(async () => worked.length === 1 && events.length === 1);

    first.kill("SIGKILL");
    await first.exited;
    await until(async () => caller.status === "reconnecting");
    await assert.rejects(call(caller, ping, {}), { code: "disconnected", retryable: true });
    await assert.rejects(publishCommand(caller, startRun, { agent: "lost" }, { input: "x" }), {
      code: "disconnected",
    });

    await testNats({ dataDir, port: first.port });
    await until(async () => caller.status === "connected" && target.status === "connected");
    // A client that is connected again has sent its subscriptions, and the server may not have read them yet.
    await target.flush();
    assert.deepEqual(await call(caller, ping, {}), { pong: 2 });
    await publishCommand(caller, startRun, { agent: "after" }, { input: "x" });
    await allWorked;
    await publishEvent(target, runRejected, { owner: "cli", runId: "r" }, rejection(2));
    await secondEvent;
    stopReading.abort();
    await reading;
    // The server may have been killed before it had the acknowledgement of the first command, which it then delivers again.
    assert.deepEqual([...new Set(worked)], ["before", "after"]);
    assert.deepEqual(events, [1, 2]);
    assert.deepEqual(
      statuses.filter((status, index) => status !== statuses[index - 1]),
      ["reconnecting", "connected"],
    );
  },
);

test("draining while the server is away ends, and so does closing twice", async () => {
  const nats = await testNats();
  const bus = await testBus(nats, "cli");
  await nats.stop();
  await until(async () => bus.status === "reconnecting");
  await bus.drain(100);
  await bus.close();
  assert.equal(bus.status, "closed");
});

function rejection(streamSequence: number): z.input<typeof runRejected.payload> {
  return {
    runId: "r",
    subject: "yard.cmd.cli.run.start.a",
    caller: "cli",
    code: "unknown_agent",
    message: "there is no agent a",
    problems: [],
    streamSequence,
    messageId: null,
    at: new Date(0).toISOString(),
  };
}

test("a key that is replaced while the bus runs is taken at a reconnect", async () => {
  const [old, next] = [createUserKey(), createUserKey()];
  const dataDir = await testDirectory();
  const authorization = natsAuthorization({ users: [{ user: cliUser, nkey: old.publicKey }] });
  // Its configuration is rewritten in the same file.
  const server = await testNats({ dataDir, authorization, asProgram: true });
  let seed = `${old.seed}\n`;
  const lost = signalled();
  const back = signalled();
  await testBus(server, "cli", {
    nkeySeed: async () => seed,
    onStatus: (status) => {
      if (status === "reconnecting") lost.resolve();
      if (status === "connected") back.resolve();
    },
  });
  const file = join(dataDir, "nats.conf");
  const config = await readFile(file, "utf8");
  await writeFile(file, config.replace(old.publicKey, next.publicKey));
  server.kill("SIGHUP");
  await lost.promise;
  seed = next.seed;
  await back.promise;
});

test("a login that comes too late for the server is repeated, and a wrong key is refused at once", async () => {
  const key = createUserKey();
  const users = [{ user: cliUser, nkey: key.publicKey }];
  const nats = await testNats({ authorization: natsAuthorization({ users }) });
  let connections = 0;
  const proxy = createServer((client) => {
    connections += 1;
    const server = connect(nats.port, "127.0.0.1");
    server.pipe(client).on("error", () => {});
    server.on("error", () => {});
    // The first login is not passed on, so that nats-server ends the connection with its authentication timeout.
    if (connections > 1) client.pipe(server);
  }).listen(0, "127.0.0.1");
  after(() => proxy.close());
  await new Promise((resolve) => proxy.once("listening", resolve));
  const { port } = proxy.address() as AddressInfo; // a TCP server has an address with a port
  const options = { servers: `nats://127.0.0.1:${port}`, user: "cli", connectTimeoutMs: 30_000 };
  const bus = await connectBus({ ...options, nkeySeed: () => key.seed });
  after(() => bus.close());
  assert.equal(connections, 2);
  const other = { ...options, nkeySeed: () => createUserKey().seed };
  await assert.rejects(connectBus(other), { code: "forbidden" });
  assert.equal(connections, 3);
});

test("a seed that is none is refused at once, and is not a part of the message", async () => {
  const nats = await testNats();
  for (const seed of ["canary-4711", "", createUserKey().publicKey]) {
    await assert.rejects(
      connectBus({
        servers: nats.url,
        user: "cli",
        nkeySeed: () => seed,
        connectTimeoutMs: 600_000,
      }),
      ({ code, message }: { code: string; message: string }) => {
        assert.equal(code, "forbidden");
        assert.match(message, /cli.* not the NKey seed/);
        assert.ok(seed === "" || !message.includes(seed));
        return true;
      },
    );
  }
});
