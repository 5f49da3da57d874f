import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { after, test, type TestContext } from "node:test";
import { freePort } from "@switchyard/local-servers/free-port";
import { testDirectory, testRedis } from "@switchyard/testing/test-servers";
import { createLog, type Log } from "./log.ts";
import { redisCheck } from "./redis-check.ts";
import { connectRedis, type Redis } from "./redis.ts";
import { allFromRedis, fromRedis } from "./store-error.ts";

const shared = await testRedis();
const admin = await connectRedis({ url: shared.url, name: "admin", log: recordingLog().log });
after(() => admin.disconnect());

test("connects under its name and executes commands", async (t) => {
  const redis = await connect(t, { url: shared.url, name: "policy:i1" });
  assert.equal(await redis.set("yard:test:{a}", "1"), "OK");
  assert.equal(await redis.client("GETNAME"), "policy:i1");
});

test("uses the database of the URL", async (t) => {
  const redis = await connect(t, { url: `${shared.url}/3` });
  await redis.set("yard:test:{db}", "three");
  assert.equal(await admin.get("yard:test:{db}"), null);
});

test("refuses a server that evicts keys", async () => {
  const server = await testRedis();
  await configure(server.url, "maxmemory-policy", "allkeys-lru");
  await assert.rejects(connect(null, { url: server.url }), {
    name: "StartError",
    message: /maxmemory-policy allkeys-lru, so it may delete runs/,
    exitCode: 1,
  });
});

test("warns once when the append-only file is off", async (t) => {
  const server = await testRedis();
  await configure(server.url, "appendonly", "no");
  const { log, lines } = recordingLog();
  await connect(t, { url: server.url, log });
  assert.equal(lines.length, 1);
  assert.match(lines[0] ?? "", /"level":"warn".*append-only file off/);
});

test("distinguishes a wrong password from a missing one, at once and without showing it", async (t) => {
  const server = await testRedis();
  await configure(server.url, "requirepass", "right");
  await assert.rejects(connect(null, { url: server.url }), /wants a password/);
  const wrong = { url: server.url.replace("//", "//:canary-4711@") };
  await assert.rejects(connect(null, wrong), (error: Error & { hint: string }) => {
    assert.match(
      error.message,
      /^Redis at redis:\/\/127\.0\.0\.1:\d+ refused the user or the password$/,
    );
    return !`${error.message} ${error.hint}`.includes("canary-4711");
  });
  const redis = await connect(t, { ...wrong, password: "right" });
  assert.equal(await redis.ping(), "PONG");
});

test("works for a user who may not run CONFIG, and names the rule that one without INFO needs", async (t) => {
  await admin.acl("SETUSER", "service", "on", ">pw", "~yard:*", "+@all", "-@dangerous", "+info");
  await admin.acl("SETUSER", "blind", "on", ">pw", "~yard:*", "+@all", "-info");
  const redis = await connect(t, { url: shared.url.replace("//", "//service:pw@") });
  await assert.rejects(redis.config("GET", "maxmemory"), /NOPERM/);
  await assert.rejects(connect(null, { url: shared.url.replace("//", "//blind:pw@") }), {
    message: /did not answer INFO/,
    hint: /\+info/,
  });
});

test("gives up on an unreachable server at the end of its budget, with exit code 6", async () => {
  const url = `redis://user:canary-4711@127.0.0.1:${await freePort()}/1`;
  await assert.rejects(
    connect(null, { url, connectTimeoutMs: 50 }),
    (error: Error & { exitCode: number }) => {
      assert.match(
        error.message,
        /^Redis at redis:\/\/127\.0\.0\.1:\d+\/1 is unreachable after 50 ms \(.*ECONNREFUSED/,
      );
      return error.exitCode === 6;
    },
  );
});

test("gives up on a server that accepts connections and never answers", async () => {
  const sockets: Socket[] = [];
  const mute = createServer((socket) => void sockets.push(socket)).listen(0, "127.0.0.1");
  await once(mute, "listening");
  const { port } = mute.address() as AddressInfo; // what a TCP listener has
  const url = `redis://127.0.0.1:${port}`;
  await assert.rejects(connect(null, { url, connectTimeoutMs: 50 }), /unreachable after 50 ms/);
  for (const socket of sockets) socket.destroy();
  mute.close();
});

test("waits for a server that comes up within the budget", async (t) => {
  const port = await freePort();
  const connecting = connect(t, { url: `redis://127.0.0.1:${port}` });
  await testRedis({ port });
  assert.equal(await (await connecting).ping(), "PONG");
});

test("fails commands fast while the server is down, and logs one line for the loss and one for the return", async (t) => {
  const dataDir = await testDirectory();
  const first = await testRedis({ dataDir, appendfsync: "always" });
  const { log, lines } = recordingLog();
  const redis = await connect(t, { url: first.url, log });
  await redis.set("yard:test:{a}", "kept");
  const inFlight = redis.blpop("yard:test:{list}", 0);
  const lost = next(redis, "reconnecting");
  first.kill("SIGKILL");
  await assert.rejects(inFlight, { name: "MaxRetriesPerRequestError" });
  await lost;
  await assert.rejects(redis.get("yard:test:{a}"), /isn't writeable/);
  // Several attempts fail in between.
  for (let attempt = 0; attempt < 3; attempt += 1) await next(redis, "reconnecting");

  const back = next(redis, "ready");
  await testRedis({ dataDir, port: first.port, appendfsync: "always" });
  await back;
  assert.equal(await redis.get("yard:test:{a}"), "kept");
  assert.equal(await redis.lpush("yard:test:{list}", "not taken by a repeated command"), 1);
  assert.equal(await redis.llen("yard:test:{list}"), 1);
  assert.deepEqual(
    lines.map((line) => (JSON.parse(line) as { msg: string }).msg),
    ["redis connection lost", "redis connection restored"],
  );
});

test("classifies the replies of a full Redis to a command, a script and a transaction alike", async (t) => {
  const server = await testRedis();
  const redis = await connect(t, { url: server.url });
  await redis.config("SET", "maxmemory", "100kb");
  const writes: readonly (() => Promise<unknown>)[] = [
    () => fromRedis(redis.set("yard:test:{a}", "1")),
    () => fromRedis(redis.eval("return redis.call('SET', KEYS[1], '1')", 1, "yard:test:{a}")),
    () => allFromRedis(redis.multi().set("yard:test:{a}", "1").exec()),
  ];
  for (const write of writes)
    await assert.rejects(write(), { name: "StoreError", trouble: "full" });
});

test("is not ready, and says why, while Redis refuses writes, and ready again at once afterwards", async (t) => {
  const server = await testRedis();
  const redis = await connect(t, { url: server.url });
  const check = redisCheck(redis, { key: "yard:ready:test" });
  const written = async () => /cmdstat_set:calls=(\d+)/.exec(await redis.info("commandstats"))?.[1];
  for (let probe = 0; probe < 5; probe += 1) assert.equal(await check(), true);
  assert.equal(await written(), "1", "most probes get by without a write");
  const writing = redisCheck(redis, { key: "yard:ready:test", writeEveryMs: 0 });
  await redis.config("SET", "maxmemory", "100kb");
  assert.match(String(await writing()), /^Redis has reached its maxmemory/);
  await redis.config("SET", "maxmemory", "0");
  assert.equal(await writing(), true);
  redis.disconnect();
  assert.match(String(await writing()), /^Redis cannot be reached/);
});

test("does not take its own end for an outage", async () => {
  const { log, lines } = recordingLog();
  const redis = await connect(null, { url: shared.url, log });
  await redis.quit();
  if (redis.status !== "end") await next(redis, "end");
  assert.deepEqual(lines, []);
});

interface Wanted {
  url: string;
  password?: string;
  name?: string;
  log?: Log;
  connectTimeoutMs?: number;
}

/** Disconnects at the end of the test, when there is one. */
async function connect(t: TestContext | null, wanted: Wanted): Promise<Redis> {
  const redis = await connectRedis({ name: "test", log: recordingLog().log, ...wanted });
  t?.after(() => redis.disconnect());
  return redis;
}

/** `once()` of Node rejects on the errors that these tests provoke. */
function next(redis: Redis, event: string): Promise<void> {
  return new Promise((resolve) => {
    redis.once(event, () => resolve());
  });
}

async function configure(url: string, name: string, value: string): Promise<void> {
  const redis = await connectRedis({ url, name: "configure", log: recordingLog().log });
  await redis.config("SET", name, value);
  redis.disconnect();
}

function recordingLog(): { log: Log; lines: string[] } {
  const lines: string[] = [];
  return {
    log: createLog({
      service: "test",
      level: "debug",
      destination: { write: (line) => void lines.push(line) },
    }),
    lines,
  };
}
