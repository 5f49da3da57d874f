import assert from "node:assert/strict";
import { after, test } from "node:test";
import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import { MAX_POLICY_VERSIONS } from "@switchyard/contracts/policy-bundles";
import { testRedis } from "@switchyard/local-servers/test-servers";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { createUserKeyStore, MAX_USER_KEYS } from "./users/user-key-store.ts";
import { createUserSessionStore } from "./users/user-session-store.ts";
import { createVersionStore } from "./versions/version-store.ts";

// Bounds of kinds of keys that test/attacks/tenants/redis-bounds.ts lists and that no other test reaches.

const server = await testRedis();
const log = createLog({ service: "test", level: "silent" });
const redis = await connectRedis({ url: server.url, name: "test", log });
after(() => redis.disconnect());

/** Times far in the future, since Redis deletes by its own clock. */
const at = (second: number) => new Date(Date.UTC(2090, 0, 1, 0, 0, second)).toISOString();

/** Fills a hash as a script, which takes milliseconds for thousands of fields. */
const fill = (key: string, count: number) =>
  redis.eval('for n = 1, ARGV[1] do redis.call("HSET", KEYS[1], n, "{}") end', 1, key, count);

test("no user key is created above the limit", async () => {
  const keys = createUserKeyStore(redis);
  const about = { caller: "ann", roles: ["viewer" as const], note: null, createdBy: "admin" };
  const facts = { ...about, createdAt: at(0), expiresAt: null };
  await fill("yard:{user-keys}:keys", MAX_USER_KEYS - 1);
  assert.notEqual(await keys.create(facts), null);
  assert.equal(await keys.create(facts), null);
  assert.equal(await redis.hlen("yard:{user-keys}:keys"), MAX_USER_KEYS);
});

test("a caller has 50 sessions of browsers, and the one that ends first makes room", async () => {
  const sessions = createUserSessionStore(redis, () => 0);
  const opened = [];
  for (let n = 0; n < 52; n += 1) {
    const about = {
      caller: "ann",
      roles: ["viewer" as const],
      credential: "key:test",
      openedWith: null,
    };
    opened.push(await sessions.open({ ...about, openedAt: at(n), expiresAt: at(3_600 + n) }));
  }
  assert.equal((await sessions.list("ann")).length, 50);
  assert.equal((await redis.keys("yard:{user-keys}:session:*")).length, 50);
  const found = await Promise.all(opened.slice(0, 3).map(({ key }) => sessions.find(key)));
  assert.deepEqual(
    found.map((session) => session !== null),
    [false, false, true],
  );
});

test("the newest versions of the policy are stored up to the limit", async () => {
  const versions = createVersionStore(redis);
  for (let n = 1; n <= MAX_POLICY_VERSIONS + 2; n += 1)
    await versions.noteFiles({
      policyDigest: canonicalDigest(n),
      rules: 1,
      source: "file",
      by: null,
      at: at(n),
      note: null,
      files: [{ name: "rules.yaml", text: "version: 1" }],
      restores: null,
    });
  const stored = (await versions.list()).map(({ version }) => version);
  assert.equal(stored.length, MAX_POLICY_VERSIONS);
  assert.deepEqual([stored[0], stored.at(-1)], [MAX_POLICY_VERSIONS + 2, 3]);
});
