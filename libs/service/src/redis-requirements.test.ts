import assert from "node:assert/strict";
import { test } from "node:test";
import { checkRedis, parseRedisInfo } from "./redis-requirements.ts";

const INFO = [
  "# Server",
  "redis_version:7.0.15",
  "executable:/usr/bin/redis:server",
  "",
  "# Memory",
  "maxmemory_policy:noeviction",
  "# Persistence",
  "aof_enabled:1",
].join("\r\n");

test("accepts Redis 7 with noeviction and an append-only file", () => {
  const facts = parseRedisInfo(INFO);
  const kind = { isCluster: false, isReplica: false };
  assert.deepEqual(facts, {
    version: "7.0.15",
    maxmemoryPolicy: "noeviction",
    appendOnly: true,
    ...kind,
  });
  assert.deepEqual(checkRedis(facts), []);
});

test("refuses versions below 7.0 and servers that do not name theirs", () => {
  for (const [version, complaints] of [
    ["6.2.14", 1],
    ["2.8", 1],
    ["7.0.0", 0],
    ["8.2.1", 0],
    ["10.0.0", 0],
    ["unknown", 1],
  ] as const) {
    const facts = { ...parseRedisInfo(INFO), version };
    assert.equal(checkRedis(facts).length, complaints, version);
  }
});

test("refuses a server that may evict keys, and names how to change it", () => {
  const facts = parseRedisInfo(INFO.replace("noeviction", "allkeys-lru"));
  const [complaint] = checkRedis(facts);
  assert.equal(complaint?.severity, "error");
  assert.match(complaint.message, /allkeys-lru/);
  assert.match(complaint.hint, /CONFIG SET maxmemory-policy noeviction/);
});

test("only warns when the append-only file is off", () => {
  const facts = parseRedisInfo(INFO.replace("aof_enabled:1", "aof_enabled:0"));
  assert.deepEqual(
    checkRedis(facts).map((complaint) => complaint.severity),
    ["warning"],
  );
});

test("refuses a replica and a node of a cluster, and names what to use", () => {
  for (const [line, message, hint] of [
    [
      "role:slave",
      /is a replica, which takes no writes/,
      /redis\+sentinel:\/\/host:26379\/primary/,
    ],
    ["cluster_enabled:1", /is a node of a cluster/, /redis\+cluster:\/\/host1:6379,host2:6379/],
  ] as const) {
    const [complaint, ...more] = checkRedis(parseRedisInfo(`${INFO}\r\n${line}`));
    assert.equal(more.length, 0);
    assert.equal(complaint?.severity, "error");
    assert.match(complaint.message, message);
    assert.match(complaint.hint, hint);
  }
});

test("takes a node of a cluster that is named as one", () => {
  assert.deepEqual(checkRedis(parseRedisInfo(`${INFO}\r\ncluster_enabled:1`), true), []);
});

test("lists every broken rule of a server that breaks all", () => {
  assert.equal(checkRedis(parseRedisInfo("")).length, 3);
});
