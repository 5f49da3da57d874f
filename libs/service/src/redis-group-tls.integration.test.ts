import assert from "node:assert/strict";
import { after, test } from "node:test";
import { testRedisGroup } from "@switchyard/testing/test-redis-group";
import { until } from "@switchyard/local-servers/until";
import { redisCertificate } from "../test/redis-certificate.ts";
import { createLog } from "./log.ts";
import { connectRedis, type Redis } from "./redis.ts";

const { files, trust } = await redisCertificate();
const password = "canary-redis-4711";
const sentinelPassword = "canary-sentinel-4712";
const group = await testRedisGroup(2, {
  appendfsync: "always",
  secured: { password, sentinelPassword, ...files },
});
const lines: string[] = [];
const log = createLog({
  service: "test",
  level: "debug",
  destination: { write: (line) => void lines.push(line) },
});
const wanted = { url: group.url, name: "test", log, password, sentinelPassword };

test("Sentinels whose certificate has no trusted authority are refused", async () => {
  await assert.rejects(connectRedis({ ...wanted, connectTimeoutMs: 1_500 }), {
    message: /^Redis at rediss\+sentinel:.* is unreachable .*All sentinels are unreachable/,
  });
});

test("Sentinels with TLS refuse a wrong password and a missing one, with the setting that has it and without showing it", async () => {
  trust();
  const { sentinelPassword: _, ...without } = wanted;
  for (const given of [without, { ...wanted, sentinelPassword: password }]) {
    const refused = connectRedis({ ...given, connectTimeoutMs: 3_000 });
    await assert.rejects(refused, (error: Error & { hint: string }) => {
      assert.match(error.message, /^the Sentinels of Redis at rediss\+sentinel:/);
      assert.match(error.hint, /sentinel\.password in YARD_KEYS_DIR/);
      return !`${error.message} ${error.hint} ${String(error.cause)}`.includes("canary");
    });
  }
  const refused = connectRedis({ ...wanted, password: sentinelPassword, connectTimeoutMs: 3_000 });
  await assert.rejects(refused, { message: /refused the user or the password/ });
});

test("by way of Sentinels with TLS and a password: one Sentinel and then the primary are killed, and writing continues", async (t) => {
  const redis = await connectRedis(wanted);
  after(() => redis.disconnect());
  await redis.set("yard:test:{a}", "kept");
  await group.untilComplete();
  const [sentinel] = group.sentinels;
  sentinel?.kill("SIGKILL");
  await sentinel?.exited;
  assert.equal(await redis.get("yard:test:{a}"), "kept");
  // A client that connects now uses the next Sentinel.
  const other = await connectRedis({ ...wanted, name: "other" });
  assert.equal(await other.get("yard:test:{a}"), "kept");
  other.disconnect();

  const old = await group.primary();
  const killedAt = performance.now();
  old.server.kill("SIGKILL");
  await old.server.exited;
  await untilWritten(redis, "after a death");
  t.diagnostic(`written again ${((performance.now() - killedAt) / 1_000).toFixed(1)} s later`);
  assert.equal(await redis.get("yard:test:{a}"), "kept");
  assert.notEqual(await group.primary(), old);
  assert.doesNotMatch(lines.join(""), /canary/);
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
