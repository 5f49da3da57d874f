import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { testRedis } from "@switchyard/testing/test-servers";
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { openProviderLimiter, type ProviderScope } from "./provider-limiter.ts";

const server = await testRedis();
const log = createLog({ service: "test", level: "silent" });
const clients = await Promise.all(
  [1, 2].map(() => connectRedis({ url: server.url, name: "test", log })),
);
after(() => {
  for (const client of clients) client.disconnect();
});
// Two runners with a connection each.
const [one, two] = clients.map(openProviderLimiter);
assert.ok(one !== undefined && two !== undefined);

function scope(key: string, limits: Partial<ProviderScope> = {}): ProviderScope {
  return { key, requestsPerMinute: null, tokensPerMinute: null, ...limits };
}

test("grants all runners together no more requests than a minute has", async () => {
  const few = scope("few:1", { requestsPerMinute: 3 });
  const asked = await Promise.all(
    [one, two, one, two, one, two].map((limiter) => limiter.take(few, 1)),
  );
  assert.equal(asked.filter(({ granted }) => granted).length, 3);
  for (const permit of asked) {
    if (permit.granted) continue;
    assert.ok(permit.waitMs > 0 && permit.waitMs <= 20_000, String(permit.waitMs));
  }
  assert.equal((await two.take(scope("few:2", { requestsPerMinute: 3 }), 1)).granted, true);
});

test("counts the tokens that were used, and grants a request of more than a minute's worth alone", async () => {
  const tokens = scope("tokens:1", { tokensPerMinute: 1_000 });
  const first = await one.take(tokens, 800);
  assert.deepEqual(first, { granted: true, tokens: 800 });
  assert.equal((await two.take(tokens, 800)).granted, false);
  await one.settle(tokens, 800, 100);
  assert.deepEqual(await two.take(tokens, 800), { granted: true, tokens: 800 });

  const huge = scope("tokens:2", { tokensPerMinute: 1_000 });
  assert.deepEqual(await one.take(huge, 5_000), { granted: true, tokens: 1_000 });
  await one.settle(huge, 1_000, 2_000);
  const next = await two.take(huge, 1);
  assert.ok(!next.granted && next.waitMs > 50_000, "what was used too much is owed");
});

test("no provider's bucket owes more than an hour's worth, however much the provider reports as used", async () => {
  const odd = scope("tokens:3", { tokensPerMinute: 1_000 });
  assert.equal((await one.take(odd, 1)).granted, true);
  await one.settle(odd, 1, 1e12);
  const next = await two.take(odd, 1);
  assert.ok(!next.granted && next.waitMs <= 61 * 60_000, JSON.stringify(next));
});

test("delays every runner for as long as a provider demanded, also without limits of its own", async () => {
  const open = scope("open:1");
  assert.equal((await one.take(open, 10_000)).granted, true);
  await one.pause(open, 30_000);
  await one.pause(open, 10);
  const held = await two.take(open, 1);
  assert.ok(!held.granted && held.waitMs > 20_000 && held.waitMs <= 30_000);
});
