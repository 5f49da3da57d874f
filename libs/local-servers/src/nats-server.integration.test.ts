import assert from "node:assert/strict";
import { once } from "node:events";
import { stat } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { test } from "node:test";

import { startNatsServer } from "./nats-server.ts";
import { processIdentity } from "./process-identity.ts";
import { probeNats } from "./probe.ts";
import { resolveServer } from "./resolve.ts";
import { ServerStartError, type RunningServer } from "./server-process.ts";
import { testEnvironment } from "@switchyard/testing/test-environment";
import { testDirectory, testNats } from "@switchyard/testing/test-servers";

// This file tests programs, also where other tests use containers.
testEnvironment({ YARD_TEST_CONTAINERS: undefined });

async function monitor(server: RunningServer, path: string): Promise<unknown> {
  const response = await fetch(`${server.monitorUrl}${path}`);
  return response.json();
}

/** Creates a stream through the JetStream API in plain protocol and waits for the answer. */
async function createStream(server: RunningServer, name: string): Promise<void> {
  const socket = connect(server.port, server.host).setEncoding("utf8");
  const config = JSON.stringify({ name, subjects: [name] });
  socket.write('CONNECT {"verbose":false}\r\nSUB answer 1\r\n');
  socket.write(`PUB $JS.API.STREAM.CREATE.${name} answer ${config.length}\r\n${config}\r\n`);
  const signal = AbortSignal.timeout(30_000);
  let received = "";
  while (!/MSG answer .*\r\n.*\r\n/.test(received))
    received += String((await once(socket, "data", { signal }))[0]);
  socket.destroy();
  assert.match(received, /"did_create":true/);
}

test("starts with JetStream, durable writes and a monitor, on loopback alone", async () => {
  const dataDir = await testDirectory();
  const nats = await testNats({ dataDir });
  assert.equal(nats.url, `nats://127.0.0.1:${nats.port}`);
  const answer = await probeNats({ ...nats, signal: AbortSignal.timeout(30_000) });
  assert.deepEqual(answer, { version: nats.version, jetstream: true, serverName: "yard-local" });
  const state = await monitor(nats, "/varz");
  assert.partialDeepStrictEqual(state, {
    host: "127.0.0.1",
    http_host: "127.0.0.1",
    max_payload: 1024 * 1024,
    jetstream: {
      config: {
        sync_always: true,
        store_dir: join(dataDir, "jetstream", "jetstream"),
        max_storage: 1024 ** 4, // whatever the disk has left
      },
    },
  });
  assert.equal((await stat(join(dataDir, "nats.conf"))).mode & 0o777, 0o600);
});

test("keeps its streams through a kill and a restart on the same port and directory", async () => {
  const dataDir = await testDirectory();
  const first = await testNats({ dataDir });
  await createStream(first, "kept");
  first.kill("SIGKILL");
  await first.exited;
  const second = await testNats({ dataDir, port: first.port });
  assert.equal(second.port, first.port);
  assert.notEqual(second.pid, first.pid);
  assert.partialDeepStrictEqual(await monitor(second, "/jsz"), { streams: 1 });
});

test("two servers started at once take different ports", async () => {
  const [one, other] = await Promise.all([testNats(), testNats()]);
  assert.notEqual(one.port, other.port);
  assert.notEqual(one.monitorUrl, other.monitorUrl);
});

test("is ready without credentials when the configuration demands them", async () => {
  const nats = await testNats({
    authorization: 'authorization { users: [ { user: "somebody", password: "secret" } ] }',
  });
  const socket = connect(nats.port, nats.host).setEncoding("utf8");
  const [greeting] = await once(socket, "data");
  socket.destroy();
  assert.match(String(greeting), /"auth_required":true/);
});

test("a configuration the server refuses is an error with the server's own words", async () => {
  await assert.rejects(testNats({ authorization: "no_such_setting: 1" }), (error: unknown) => {
    assert.ok(error instanceof ServerStartError);
    assert.match(error.message, /^nats-server \(.*\) ended with code 1 before it was ready/);
    assert.match(error.output, /no_such_setting/);
    return true;
  });
});

test("a port that is taken is an error that names it", async () => {
  const first = await testNats();
  await assert.rejects(testNats({ port: first.port }), (error: unknown) => {
    assert.ok(error instanceof ServerStartError);
    assert.match(
      error.message,
      new RegExp(`127\\.0\\.0\\.1:${first.port}.*address already in use`, "s"),
    );
    return true;
  });
});

test("refuses a data directory whose server runs", async () => {
  const dataDir = await testDirectory();
  const nats = await testNats({ dataDir });
  await assert.rejects(
    testNats({ dataDir }),
    new RegExp(`${dataDir} is in use by process ${process.pid}`),
  );
  await probeNats({ ...nats, signal: AbortSignal.timeout(30_000) });
});

test("stop ends the server, even one that is paused, and may be called again", async () => {
  const nats = await testNats();
  nats.kill("SIGSTOP");
  await Promise.all([nats.stop(), nats.stop()]);
  await nats.stop();
  await nats.exited;
  assert.equal(await processIdentity(nats.pid), null);
});

test("reports how the server ended when it was not stopped", async () => {
  const dataDir = await testDirectory();
  const resolved = await resolveServer({
    kind: "nats",
    env: process.env,
    log: () => {},
    steps: ["binary", "packages"],
  });
  assert.ok(resolved.how === "binary");
  const ended = Promise.withResolvers<[number | null, NodeJS.Signals | null]>();
  const nats = await startNatsServer({
    binary: resolved.binary,
    dataDir,
    onExit: (code, signal) => ended.resolve([code, signal]),
  });
  nats.kill("SIGKILL");
  assert.deepEqual(await ended.promise, [null, "SIGKILL"]);
});
