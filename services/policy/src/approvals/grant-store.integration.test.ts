import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { SessionGrant } from "@switchyard/contracts/policy/approval-record";
import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import { builtinToolRef } from "@switchyard/contracts/tool-names";
import { testRedis } from "@switchyard/testing/test-servers";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { grantIdOf, randomApprovalId } from "./approval-id.ts";
import { createGrantStore, type StoredGrant } from "./grant-store.ts";

const server = await testRedis();
const log = createLog({ service: "test", level: "silent" });
const redis = await connectRedis({ url: server.url, name: "test", log });
after(() => redis.disconnect());
const store = createGrantStore(redis);

// Redis deletes a grant at its end by its own clock, so the end is far in the future and `now` varies.
const START = Date.parse("2090-01-01T00:00:00.000Z");
const END = START + 600_000;

function grantOf(runId: string, given: Partial<SessionGrant> = {}): StoredGrant {
  const scope = {
    principal: { user: "team-a", agent: "demo", runId },
    caller: "runner",
    tool: builtinToolRef("write_file"),
    pin: null,
    rule: "writes",
    policyDigest: canonicalDigest("policy"),
    requirements: [],
  };
  const { caller: _, ...about } = scope;
  return {
    grant: {
      id: grantIdOf(scope),
      ...about,
      sameArguments: [],
      approvalId: randomApprovalId(),
      grantedBy: "cli",
      grantedAt: new Date(START).toISOString(),
      expiresAt: new Date(END).toISOString(),
      usesLeft: 3,
      ...given,
    },
    constraint: null,
  };
}

test("of fifty parallel uses as many happen as the grant has", async () => {
  const stored = grantOf("run-uses");
  await store.put(stored);
  const uses = await Promise.all(Array.from({ length: 50 }, () => store.use(stored, START)));
  assert.equal(uses.filter(Boolean).length, 3);
  assert.equal((await store.read(stored.grant.id))?.grant.usesLeft, 0);
});

test("at the very millisecond of its end a grant is over", async () => {
  const stored = grantOf("run-end");
  await store.put(stored);
  assert.equal(await store.use(stored, END), false);
  assert.equal(await store.use(stored, END - 1), true);
  assert.equal((await store.read(stored.grant.id))?.grant.usesLeft, 2);
});

test("a use counts for the grant that was read, not for one that replaced it", async () => {
  const [first, second] = [grantOf("run-new"), grantOf("run-new")];
  assert.equal(first.grant.id, second.grant.id, "they are for the same calls");
  await store.put(first);
  await store.put(second);
  assert.equal(await store.use(first, START), false);
  assert.equal(await store.use(second, START), true);
});

test("a removed grant permits nothing, and is returned once", async () => {
  const stored = grantOf("run-gone");
  await store.put(stored);
  assert.deepEqual(await store.remove(stored.grant.id), stored);
  assert.equal(await store.remove(stored.grant.id), null);
  assert.equal(await store.use(stored, START), false);
});
