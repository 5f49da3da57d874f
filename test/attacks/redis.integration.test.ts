import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { serviceRedisUsers } from "@switchyard/topology/redis-access";
import { redisAcl, redisUserNames } from "@switchyard/topology/redis-acl";
import { testDirectory, testRedis } from "@switchyard/testing/test-servers";
import { redisWords } from "../lib/redis-words.ts";
import { redisRows } from "./tenants/redis-rows.ts";

// A real Redis with the access list that `yard dev`, Compose and `yard keys init` make.
const passwordOf = (user: string): string => `password of ${user}`;
const hashes = redisUserNames.map((user): [string, string] => [
  user,
  createHash("sha256").update(passwordOf(user)).digest("hex"),
]);
const access = {
  acl: redisAcl({ passwordHashes: new Map(hashes) }),
  probeUser: "monitor",
  probePassword: passwordOf("monitor"),
};
const dataDir = await testDirectory();
let redis = await testRedis({ dataDir, access, appendfsync: "always" });

function as(user: string, ...commands: string[][]): Promise<string> {
  return redisWords(redis.url, { user, password: passwordOf(user) }, commands);
}

/** In the server's words; errors out of a script have others, and some commands no script may use. */
const REFUSAL = /^-(NOPERM|ERR .*(can't access|can't run|not allowed))/;

/** Sends one command as a user and asserts that the server refused it for its rights. */
async function assertRefused(user: string, command: string[]): Promise<void> {
  const answer = await as(user, command);
  assert.match(answer, REFUSAL, `${user}: ${command.join(" ")}`);
}

/** A key of each service that it may really access. */
const keyOf = Object.fromEntries(
  serviceRedisUsers.map(({ name, keys }) => [name, (keys[0] ?? "").replaceAll("*", "x")]),
);

test("a client without credentials, as the default user or with another one's password is refused", async () => {
  assert.match(await redisWords(redis.url, null, [["GET", "yard:policy:x"]]), /^-NOAUTH/);
  const logins = [
    ["default", ""],
    ["default", passwordOf("policy")],
    ["policy", passwordOf("broker")],
    ["policy", ""],
  ] as const;
  for (const [user, password] of logins)
    await assert.rejects(redisWords(redis.url, { user, password }, []), /WRONGPASS|NOAUTH/);
});

test("the list as it is in deploy/redis refuses all users before passwords are set", async () => {
  const file = new URL("../../deploy/redis/users.acl", import.meta.url);
  const probe = { probeUser: "probe", probePassword: "probe" };
  const acl = `${await readFile(file, "utf8")}user probe on >probe +ping +info\n`;
  const server = await testRedis({ access: { ...probe, acl } });
  for (const user of redisUserNames)
    for (const password of ["", user, "password"])
      await assert.rejects(redisWords(server.url, { user, password }, []), /WRONGPASS/);
  await server.stop();
});

test("each service can use its own keys, in a transaction and in a script, too", async () => {
  for (const { name } of serviceRedisUsers) {
    const key = keyOf[name] ?? "";
    const script = "return redis.call('INCR', KEYS[1])";
    const answers = await as(
      name,
      ["INCR", key],
      ["MULTI"],
      ["INCR", key],
      ["EXEC"],
      ["EVAL", script, "1", key],
    );
    assert.doesNotMatch(answers, /-(NOPERM|ERR|EXECABORT)/, `${name}: ${answers}`);
  }
});

test("no service reads or writes the key of another one, directly or from a script", async () => {
  for (const { name } of serviceRedisUsers) {
    for (const other of serviceRedisUsers.filter((candidate) => candidate.name !== name)) {
      const key = keyOf[other.name] ?? "";
      await assertRefused(name, ["GET", key]);
      await assertRefused(name, ["SET", key, "stolen"]);
      await assertRefused(name, ["DEL", key]);
      await assertRefused(name, ["EVAL", "return redis.call('GET', KEYS[1])", "1", key]);
      // The key is not declared: the command inside is checked.
      await assertRefused(name, ["EVAL", `return redis.call('SET', '${key}', 'stolen')`, "0"]);
    }
  }
  for (const { name } of serviceRedisUsers)
    assert.doesNotMatch(await as(name, ["GET", keyOf[name] ?? ""]), /stolen/);
});

for (const family of new Set(
  serviceRedisUsers.flatMap(({ keys, readsKeys }) => [...keys, ...readsKeys]),
))
  test(`a stolen user of Redis reaches ${family} only if it is its own`, async () => {
    const row = redisRows[family] ?? assert.fail("say in redisRows who may write it");
    const writers = row.by.split(" ");
    const readers = row.readBy?.split(" ") ?? [];
    const key = family.replaceAll("*", "stolen");
    for (const name of [...serviceRedisUsers.map((user) => user.name), "monitor"]) {
      if (writers.includes(name)) {
        assert.match(await as(name, ["DEL", key]), /^:0/, name);
        continue;
      }
      if (readers.includes(name)) assert.match(await as(name, ["EXISTS", key]), /^:0/, name);
      else await assertRefused(name, ["EXISTS", key]);
      for (const command of [
        ["DEL", key],
        ["SET", key, "x"],
        ["EXPIRE", key, "1"],
        ["RENAME", key, "x"],
      ])
        await assertRefused(name, command);
      await assertRefused(name, ["EVAL", `return redis.call('DEL', '${key}')`, "0"]);
    }
  });

test("no row is about a family that no service has, and a client has no user of Redis", async () => {
  const families = new Set(serviceRedisUsers.flatMap(({ keys }) => keys));
  assert.deepEqual(
    Object.keys(redisRows).filter((family) => !families.has(family)),
    [],
  );
  for (const user of ["cli", "me", "team-a", "auditor", "operator"])
    await assert.rejects(
      redisWords(redis.url, { user, password: passwordOf(user) }, []),
      /WRONGPASS/,
    );
});

test("only the policy writes rules, approvals, grants, stops and budgets", async () => {
  const keys = [
    "yard:policy:{bundle}:active",
    "yard:policy:{bundle}:versions",
    "yard:policy:{stops}",
    "yard:policy:{budget:run a}:calls",
    "yard:approval:{apr-1}",
    "yard:{approvals}:pending",
    "yard:grant:{g-1}",
  ];
  for (const { name } of serviceRedisUsers.filter((user) => user.name !== "policy"))
    for (const key of keys) {
      await assertRefused(name, ["HSET", key, "state", "approved"]);
      await assertRefused(name, ["HGETALL", key]);
    }
  for (const key of keys) assert.doesNotMatch(await as("policy", ["HGETALL", key]), /NOPERM/, key);
});

test("a tool provider cannot touch a run's journal, nor a runner the results of calls", async () => {
  for (const provider of ["broker", "toolbox"])
    for (const part of ["state", "journal", "cancels", "blobs"])
      await assertRefused(provider, ["DEL", `yard:run:{r1}:${part}`]);
  await assertRefused("runner", ["SET", "yard:call:{c1}", "forged"]);
  await assertRefused("runner", ["SET", "yard:run:{r1}:tool-epoch", "0"]);
});

test("no service can empty, reconfigure, copy or look through the server", async () => {
  const attacks = [
    ["FLUSHALL"],
    ["FLUSHDB"],
    ["SWAPDB", "0", "1"],
    ["CONFIG", "GET", "*"],
    ["CONFIG", "SET", "appendonly", "no"],
    ["CONFIG", "SET", "dir", "/tmp"],
    ["KEYS", "*"],
    ["SCAN", "0"],
    ["RANDOMKEY"],
    ["DBSIZE"],
    ["MONITOR"],
    ["CLIENT", "LIST"],
    ["CLIENT", "KILL", "TYPE", "normal"],
    ["ACL", "SETUSER", "broker", "allcommands"],
    ["ACL", "LIST"],
    ["DEBUG", "SLEEP", "0"],
    ["SHUTDOWN", "NOSAVE"],
    ["REPLICAOF", "127.0.0.1", "1"],
    ["MIGRATE", "127.0.0.1", "1", "x", "0", "1"],
    ["BGREWRITEAOF"],
    ["SAVE"],
    ["MODULE", "LIST"],
    ["SLOWLOG", "GET"],
  ];
  for (const { name } of serviceRedisUsers)
    for (const attack of attacks) await assertRefused(name, attack);
});

test("no service loads or runs functions, empties the script cache or kills a script", async () => {
  const library = "#!lua name=evil\nredis.register_function('f', function() return 1 end)";
  const attacks = [
    ["FUNCTION", "LOAD", library],
    ["FUNCTION", "FLUSH"],
    ["FUNCTION", "LIST"],
    ["FCALL", "f", "0"],
    ["SCRIPT", "FLUSH"],
    ["SCRIPT", "KILL"],
    ["SCRIPT", "LOAD", "return 1"],
  ];
  for (const { name } of serviceRedisUsers)
    for (const attack of attacks) await assertRefused(name, attack);
});

test("a script runs with the rights of its sender and gives no way round them", async () => {
  const bodies = [
    "return redis.call('FLUSHALL')",
    "return redis.call('CONFIG', 'GET', '*')",
    "return redis.call('KEYS', '*')",
    "return redis.call('HSET', 'yard:policy:{stops}', 'a', 'b')",
    "return redis.call('PUBLISH', 'yard:mcp:pins-written', 'x')",
  ];
  for (const { name } of serviceRedisUsers.filter(
    (user) => !["policy", "broker"].includes(user.name),
  ))
    for (const body of bodies) await assertRefused(name, ["EVAL", body, "0"]);
});

test("only the broker publishes and subscribes to its channel", async () => {
  assert.match(await as("broker", ["PUBLISH", "yard:mcp:pins-written", "x"]), /^:0/);
  await assertRefused("broker", ["PUBLISH", "other", "x"]);
  for (const name of ["policy", "importer", "runner", "toolbox", "monitor"]) {
    await assertRefused(name, ["PUBLISH", "yard:mcp:pins-written", "x"]);
    await assertRefused(name, ["SUBSCRIBE", "yard:mcp:pins-written"]);
    await assertRefused(name, ["PSUBSCRIBE", "*"]);
  }
});

test("the user of health checks sees no key", async () => {
  assert.match(await as("monitor", ["PING"]), /^\+PONG/);
  await assertRefused("monitor", ["GET", "yard:runs"]);
  await assertRefused("monitor", ["EVAL", "return 1", "0"]);
});

test("what was refused is in the server's own log, with the user's name", async () => {
  await as("admin", ["ACL", "LOG", "RESET"]);
  await assertRefused("toolbox", ["SET", "yard:policy:{stops}", "x"]);
  const log = await as("admin", ["ACL", "LOG"]);
  assert.match(log, /toolbox/);
  assert.match(log, /yard:policy:\{stops\}/);
});

test("a restart loses nothing that a transaction or a script wrote, though the default user is off", async () => {
  await as("policy", ["MULTI"], ["SET", "yard:policy:{a}", "kept"], ["EXEC"]);
  const script = "redis.call('SET', KEYS[1], 'kept') return redis.call('INCR', KEYS[2])";
  await as("policy", ["EVAL", script, "2", "yard:policy:{b}:1", "yard:policy:{b}:2"]);
  redis.kill("SIGKILL");
  await redis.exited;
  redis = await testRedis({ dataDir, access });
  const found = await as(
    "policy",
    ["GET", "yard:policy:{a}"],
    ["GET", "yard:policy:{b}:1"],
    ["GET", "yard:policy:{b}:2"],
  );
  assert.equal(found, "$4\r\nkept\r\n$4\r\nkept\r\n$1\r\n1\r\n");
});
