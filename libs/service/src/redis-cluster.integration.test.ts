import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, test } from "node:test";
import { redisAcl } from "@switchyard/topology/redis-acl";
import { builtinToolRef } from "@switchyard/contracts/tool-names";
import { testRedisCluster } from "@switchyard/testing/test-redis-group";
import { testRedis } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { redisCertificate } from "../test/redis-certificate.ts";
import { createLog } from "./log.ts";
import { connectRedis, type Redis } from "./redis.ts";
import { isServing, listenerOf, primariesOf } from "./redis-cluster.ts";
import { createCallStore } from "@switchyard/tool-provider/call-store";

const password = "canary-cluster-4711";
const digest = createHash("sha256").update(password).digest("hex");
const users = ["admin", "broker", "runner"];
const acl = redisAcl({ passwordHashes: new Map(users.map((user) => [user, digest])) });
const log = createLog({ service: "test", level: "silent" });
const userOf = (url: string, user: string) => url.replace("//", `//${user}@`);

test("a cluster is used by TLS and with the rights that a service has, each key on its own primary", async () => {
  const access = { acl, probeUser: "admin", probePassword: password };
  const { files, trust } = await redisCertificate();
  const cluster = await testRedisCluster({ access, tls: files });
  assert.match(cluster.url, /^rediss\+cluster:/);
  const untrusted = { url: userOf(cluster.url, "runner"), password, name: "runner", log };
  await assert.rejects(connectRedis({ ...untrusted, connectTimeoutMs: 1_500 }), {
    message: /^Redis at rediss\+cluster:.* is unreachable after 1500 ms/,
  });
  trust();
  const connect = async (user: string) => {
    const redis = await connectRedis({ url: userOf(cluster.url, user), password, name: user, log });
    after(() => redis.disconnect());
    return redis;
  };
  const runner = await connect("runner");
  assert.equal(primariesOf(runner).length, 3);
  assert.equal(await isServing(runner), true);
  const ids = Array.from({ length: 30 }, (_, n) => `yard:run:{cli~${n}}:claim`);
  await Promise.all(ids.map((key) => runner.set(key, key)));
  assert.deepEqual(await Promise.all(ids.map((key) => runner.get(key))), ids);
  const primaries = primariesOf(await connect("admin"));
  const sizes = await Promise.all(primaries.map((primary) => primary.dbsize()));
  assert.equal(
    sizes.reduce((sum, size) => sum + size),
    ids.length,
  );
  assert.ok(
    sizes.every((size) => size > 0),
    String(sizes),
  );
  for (const primary of primaries)
    assert.deepEqual(await primary.acl("LOG"), [], "nothing was refused");
});

test("a call is claimed once and only by the latest pick-up of its run, wherever the keys are", async () => {
  const access = { acl, probeUser: "admin", probePassword: password };
  const { url } = await testRedisCluster({ access });
  const redis = await connectRedis({ url: userOf(url, "broker"), password, name: "broker", log });
  after(() => redis.disconnect());
  const store = createCallStore(redis, "holder");
  const call = {
    fingerprint: "f",
    ref: builtinToolRef("read_file"),
    caller: "runner",
    token: undefined,
  };
  // The runner's own ids, an id of another caller for a run, and ids without a run.
  for (const runId of ["cli~one", "cli~two", "cli~three"])
    for (const id of [`${runId}:1:0`, `team-a/${runId}-call`]) {
      const claim = (epoch: number | null, callId = id) =>
        store.claim(callId, call, epoch === null ? null : { runId, epoch });
      const first = await claim(2);
      assert.ok(first.state === "new", id);
      assert.equal((await claim(2)).state, "claimed");
      assert.equal((await claim(1)).state, "stale");
      assert.equal((await claim(1, `${id}:other`)).state, "stale");
      assert.equal(await store.read(`${id}:other`), null);
      await first.release();
      assert.equal(await store.read(id), null);
      assert.equal((await claim(null)).state, "new");
      await redis.del(`yard:run:{${runId}}:tool-epoch`);
    }
  const owner = { caller: "cli", token: "t" };
  assert.equal(await store.forbid("cli/abc", owner), null);
  assert.equal((await store.claim("cli/abc", { ...call, ...owner })).state, "cancelled");
});

test("a primary that dies takes a third of the keys with it until its replica has its place", async (t) => {
  const access = { acl, probeUser: "admin", probePassword: password };
  const cluster = await testRedisCluster({ replicas: 1, appendfsync: "always", access });
  const connect = async (url: string) => {
    const client = await connectRedis({ url: userOf(url, "admin"), password, name: "test", log });
    after(() => client.disconnect());
    return client;
  };
  const redis = await connect(cluster.url);
  const key = "yard:test:{a}";
  const received: string[] = [];
  const listener = listenerOf(redis);
  after(() => listener.disconnect());
  listener.on("error", () => {});
  listener.on("message", (_, text: string) => received.push(text));
  const { promise: subscribed, resolve } = Promise.withResolvers<void>();
  listener.on(
    "ready",
    () =>
      void listener.subscribe("yard:test").then(
        () => resolve(),
        () => {},
      ),
  );
  await listener.connect();
  await subscribed;
  // On a busy machine a replica may become primary at any time, and writes that it had not received are gone.
  await until(async () => {
    await redis.set(key, "kept").catch(() => null);
    await cluster.untilComplete();
    return (await redis.get(key).catch(() => null)) === "kept";
  });

  const old = await cluster.primaryOf(key);
  const replica = cluster.partnerOf(old).server;
  const others = (await cluster.primaries()).filter((node) => node !== old);
  // The stopped replica does not take over before the test has seen that the primary is missing.
  replica.kill("SIGSTOP");
  const killedAt = performance.now();
  old.server.kill("SIGKILL");
  await old.server.exited;
  await assert.rejects(redis.set(key, "lost"), "it fails at once and is not sent again");
  await until(() =>
    isServing(redis).then(
      (is) => !is,
      () => true,
    ),
  );
  replica.kill("SIGCONT");
  await untilWritten(redis, "yard:test:{b}", "after a death");
  await until(() => redis.get(key).catch(() => null));
  t.diagnostic(`all slots again ${((performance.now() - killedAt) / 1_000).toFixed(1)} s later`);
  assert.equal(await redis.get(key), "kept");
  await untilWritten(redis, key, "after a death");
  await until(() => isServing(redis).catch(() => false));
  // The queried node may learn of the new primary later than the client.
  await until(() =>
    cluster.primaryOf(key).then(
      (node) => node !== old,
      () => false,
    ),
  );

  // The listener receives messages published at any node, whichever one it is connected to.
  for (const { server } of others) {
    const plain = server.url.replace("redis://", "redis+cluster://");
    const from = await connect(plain);
    await until(async () => {
      if (listener.status === "ready") await listener.subscribe("yard:test").catch(() => null);
      await from.publish("yard:test", String(server.port)).catch(() => null);
      return received.includes(String(server.port));
    });
  }
  await old.restart();
  await cluster.untilComplete();
  assert.equal(await redis.get(key), "after a death");
});

test("a server that is not a cluster, a wrong password and unreachable nodes are reported with the address", async () => {
  const { url } = await testRedis();
  const refused = (named: string, more = {}) =>
    connectRedis({ url: named, name: "test", log, connectTimeoutMs: 1_500, ...more });
  await assert.rejects(refused(url.replace("redis://", "redis+cluster://")), {
    message: /^Redis at redis\+cluster:\/\/127\.0\.0\.1:\d+ is no cluster$/,
    hint: /redis:\/\//,
  });
  const access = { acl, probeUser: "admin", probePassword: password };
  const cluster = await testRedisCluster({ access });
  await assert.rejects(
    refused(userOf(cluster.url, "runner"), { password: "canary-wrong" }),
    (error: Error) => {
      assert.match(error.message, /refused the user or the password$/);
      return !`${error.message} ${String(error.cause)}`.includes("canary");
    },
  );
  await assert.rejects(refused("redis+cluster://u:canary@127.0.0.1:1,127.0.0.1:2"), {
    message:
      /^Redis at redis\+cluster:\/\/127\.0\.0\.1:1,127\.0\.0\.1:2 is unreachable after 1500 ms \(/,
    exitCode: 6,
  });
});

async function untilWritten(redis: Redis, key: string, value: string): Promise<void> {
  await until(() =>
    redis.set(key, value).then(
      () => true,
      () => false,
    ),
  );
}
