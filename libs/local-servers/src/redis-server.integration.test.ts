import assert from "node:assert/strict";
import { once } from "node:events";
import { stat } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { test } from "node:test";

import { probeRedis } from "./probe.ts";
import { ServerStartError, type RunningServer } from "./server-process.ts";
import { testEnvironment } from "@switchyard/testing/test-environment";
import { testDirectory, testRedis } from "@switchyard/testing/test-servers";

// This file tests programs, also where other tests use containers.
testEnvironment({ YARD_TEST_CONTAINERS: undefined });

/** Sends one inline command and returns the raw answer, which must end with `last`. */
async function ask(server: RunningServer, command: string, last = "\r\n"): Promise<string> {
  const socket = connect(server.port, server.host).setEncoding("utf8");
  socket.write(`${command}\r\n`);
  const signal = AbortSignal.timeout(30_000);
  let received = "";
  while (!received.endsWith(last)) received += String((await once(socket, "data", { signal }))[0]);
  socket.destroy();
  return received;
}

/** Sends inline commands on one connection and returns all that was answered. */
async function answers(server: RunningServer, ...commands: string[]): Promise<string> {
  const socket = connect(server.port, server.host).setEncoding("utf8");
  socket.write(`${[...commands, "QUIT"].join("\r\n")}\r\n`);
  let received = "";
  for await (const chunk of socket) received += String(chunk);
  return received;
}

test("starts with the append-only file on, no eviction and loopback alone", async () => {
  const redis = await testRedis({ appendfsync: "always" });
  assert.equal(redis.url, `redis://127.0.0.1:${redis.port}`);
  assert.match(redis.version, /^\d+\.\d+/);
  for (const [name, value] of [
    ["appendonly", "yes"],
    ["appendfsync", "always"],
    ["maxmemory-policy", "noeviction"],
    ["bind", "127.0.0.1"],
    ["protected-mode", "yes"],
    ["save", ""],
  ] as const) {
    const answer = await ask(redis, `CONFIG GET ${name}`, `\r\n${value}\r\n`);
    assert.match(answer, new RegExp(`${name}\r\n`));
  }
});

test("keeps every acknowledged write through a kill with appendfsync always", async () => {
  const dataDir = await testDirectory();
  const first = await testRedis({ dataDir, appendfsync: "always" });
  assert.equal(await ask(first, "SET kept yes"), "+OK\r\n");
  first.kill("SIGKILL");
  await first.exited;
  const second = await testRedis({ dataDir, port: first.port });
  assert.equal(second.port, first.port);
  assert.equal(await ask(second, "GET kept", "yes\r\n"), "$3\r\nyes\r\n");
});

test("with an access list a client without credentials is refused, and the list is for its owner alone", async () => {
  const dataDir = await testDirectory();
  const access = {
    acl: "user default off resetpass\nuser monitor on >probe -@all +ping +info\nuser app on >app ~app:* -@all +set\n",
    probeUser: "monitor",
    probePassword: "probe",
  };
  const first = await testRedis({ dataDir, access });
  assert.match(await answers(first, "PING"), /^-NOAUTH/);
  assert.match(await answers(first, "AUTH app wrong"), /^-WRONGPASS/);
  assert.equal((await stat(join(dataDir, "users.acl"))).mode & 0o777, 0o600);
  assert.match(await answers(first, "AUTH app app", "SET app:1 yes"), /^\+OK\r\n\+OK/);
  assert.match(await answers(first, "AUTH app app", "SET other yes"), /^\+OK\r\n-NOPERM/);
  first.kill("SIGKILL");
  await first.exited;
  // The list of the next start counts, whatever an earlier start or a person wrote.
  const acl = access.acl.replace("app:*", "new:*");
  const second = await testRedis({ dataDir, access: { ...access, acl } });
  assert.match(await answers(second, "AUTH app app", "SET app:1 yes"), /^\+OK\r\n-NOPERM/);
});

test("does not take another Redis on its port for its own", async () => {
  const first = await testRedis();
  await assert.rejects(testRedis({ port: first.port }), (error: unknown) => {
    assert.ok(error instanceof ServerStartError);
    assert.match(error.output, /address already in use/i);
    return true;
  });
});

test("servers started at once take different ports", async () => {
  const servers = await Promise.all([testRedis(), testRedis(), testRedis()]);
  assert.equal(new Set(servers.map(({ port }) => port)).size, 3);
});

test("the probe distinguishes a wrong password, a missing one and a right one", async () => {
  const redis = await testRedis();
  assert.equal(await ask(redis, "CONFIG SET requirepass secret"), "+OK\r\n");
  const probe = (password?: string) =>
    probeRedis({
      host: redis.host,
      port: redis.port,
      signal: AbortSignal.timeout(30_000),
      ...(password === undefined ? {} : { password }),
    });
  await assert.rejects(probe(), /wants a password/);
  await assert.rejects(probe("guess"), /refuses the password/);
  assert.equal((await probe("secret")).processId, redis.pid);
});
