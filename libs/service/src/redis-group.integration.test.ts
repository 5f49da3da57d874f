import assert from "node:assert/strict";
import { after, test, type TestContext } from "node:test";
import { testRedisCluster, testRedisGroup } from "@switchyard/testing/test-redis-group";
import { until } from "@switchyard/local-servers/until";
import { createLog } from "./log.ts";
import { connectRedis, type Redis } from "./redis.ts";

const group = await testRedisGroup(2, { appendfsync: "always" });
const lines: string[] = [];
const log = createLog({
  service: "test",
  level: "debug",
  destination: { write: (line) => void lines.push(line) },
});
const redis = await connectRedis({ url: group.url, name: "test", log });
after(() => redis.disconnect());

test("by way of Sentinels: when the primary is killed, the replica takes its place with what was stored", async (t) => {
  const old = await group.primary();
  await redis.set("yard:test:{a}", "kept");
  await group.untilComplete();
  const killedAt = performance.now();
  old.server.kill("SIGKILL");
  await old.server.exited;
  await untilWritten(redis, "after a death");
  t.diagnostic(`written again ${((performance.now() - killedAt) / 1_000).toFixed(1)} s later`);
  assert.equal(await redis.get("yard:test:{a}"), "kept");
  const next = await group.primary();
  assert.notEqual(next, old);
  assert.deepEqual(messages(), ["redis connection lost", "redis connection restored"]);

  await old.restart();
  await group.untilComplete();
  assert.equal(await group.primary(), next, "what comes back is a replica");
  assert.equal(await redis.get("yard:test:{b}"), "after a death");
});

test("by way of Sentinels: a primary that is made a replica while it is well loses its clients to the new one", async () => {
  const old = await group.primary();
  await group.failOver();
  await until(async () => (await group.primary()) !== old);
  // The change is not limited to this connection: a new client finds the same server. The old one may take a write until it has become a replica, and loses that.
  const other = await connectRedis({ url: group.url, name: "other", log });
  await until(async () => {
    await untilWritten(redis, "after a change");
    return (await other.get("yard:test:{b}")) === "after a change";
  });
  other.disconnect();
});

test("a name that the Sentinels do not have, and unreachable Sentinels, are reported with the address", async (t) => {
  const strange = group.url.replace(/\/main$/, "/strange");
  await refused(
    t,
    strange,
    /^Redis at redis\+sentinel:\/\/127\.0\.0\.1:\d+,.*\/strange is unreachable/,
  );
  const stranger = "redis+sentinel://u:canary-4711@127.0.0.1:1,127.0.0.1:2/main";
  const error = await refused(
    t,
    stranger,
    /\/\/127\.0\.0\.1:1,127\.0\.0\.1:2\/main is unreachable .*All sentinels are unreachable/,
  );
  assert.doesNotMatch(`${error.message} ${String(error.cause)}`, /canary/);
});

test("a replica, and a node of a cluster that is named as a server, are refused at the start with what to use in their place", async (t) => {
  await group.untilComplete();
  const primary = await group.primary();
  const replica = group.nodes.find((node) => node !== primary);
  const aReplica = await refused(
    t,
    String(replica?.server.url),
    /is a replica, which takes no writes/,
  );
  assert.match(aReplica.hint, /redis\+sentinel:/);
  for (const { server } of (await testRedisCluster()).nodes) {
    const error = await refused(t, server.url, /is a node of a cluster/);
    assert.match(error.hint, /redis\+cluster:/);
  }
});

/** Commands that are sent meanwhile fail, as those of any outage. */
async function untilWritten(client: Redis, value: string): Promise<void> {
  await until(() =>
    client.set("yard:test:{b}", value).then(
      () => true,
      () => false,
    ),
  );
}

async function refused(
  t: TestContext,
  url: string,
  message: RegExp,
): Promise<Error & { hint: string }> {
  try {
    const client = await connectRedis({ url, name: "refused", log, connectTimeoutMs: 1_500 });
    t.after(() => client.disconnect());
  } catch (error) {
    assert.ok(error instanceof Error && "hint" in error);
    assert.match(error.message, message);
    return Object.assign(error, { hint: String(error.hint) });
  }
  return assert.fail(`${url} was taken`);
}

function messages(): string[] {
  return lines.map((line) => (JSON.parse(line) as { msg: string }).msg);
}
