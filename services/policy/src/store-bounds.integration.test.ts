import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Approval } from "@switchyard/contracts/policy/approval-record";
import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import { MAX_POLICY_VERSIONS } from "@switchyard/contracts/policy/policy-bundles";
import { testRedis } from "@switchyard/testing/test-servers";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { createApprovalIndex } from "./approvals/approval-index.ts";
import { createBudgetStore, MOST_DIFFERENT } from "./budgets/budget-store.ts";
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

test("the index of approvals has 50,000 entries, the oldest ones leave, and a pending one stays listed", async () => {
  const index = createApprovalIndex(redis);
  const put = (n: number, state: "pending" | "denied") =>
    index.put({
      id: `apr-${n}`,
      principal: { user: "ann" },
      requestedAt: at(n),
      expiresAt: at(n + 60),
      state,
    } as unknown as Approval); // the index reads these facts alone
  await put(0, "pending");
  const entry = 'string.format("%015d:apr-x%d", tonumber(ARGV[1]) + n, n)';
  await redis.eval(
    `for n = 1, 50000 do redis.call("ZADD", KEYS[1], 0, ${entry}) end`,
    1,
    "yard:{approvals}:all",
    Date.parse(at(1)),
  );
  await put(100, "denied");
  assert.equal(await redis.zcard("yard:{approvals}:all"), 50_000);
  const [newest] = await index.page("all", { limit: 1, cursor: null });
  assert.equal(newest?.id, "apr-100");
  const pending = await index.page("pending", { limit: 5, cursor: null });
  assert.deepEqual(
    pending.map(({ id }) => id),
    ["apr-0"],
  );
});

test("a limit of repetitions remembers 100,000 different calls, and refuses another one above", async () => {
  const budgets = createBudgetStore(redis);
  const count = { name: "calm:ann", windowMs: 60_000, calls: null, repeats: 5, concurrency: null };
  const take = async (fingerprint: string) =>
    (await budgets.take([count], { reservation: "r", fingerprint }, null)).full;
  assert.equal(await take("first"), null);
  const key = (await redis.keys("yard:policy:{budget:*")).find((one) => one.includes("repeat"));
  assert.ok(key !== undefined);
  await redis.eval(
    'for n = 2, ARGV[1] do redis.call("HSET", KEYS[1], n, 1) end',
    1,
    key,
    MOST_DIFFERENT,
  );
  assert.equal((await take("another"))?.limit, "different");
  assert.equal(await take("first"), null, "a known call is counted on");
  assert.equal(await redis.hlen(key), MOST_DIFFERENT);
});
