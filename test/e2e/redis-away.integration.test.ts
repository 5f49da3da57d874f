import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { testDirectory, testRedis } from "@switchyard/testing/test-servers";
import { ensureKeys } from "../../apps/cli/src/key-directory.ts";
import { everyRequest } from "../lib/every-request.ts";

// Every request of every service, made while Redis is away.
const directory = await testDirectory();
const keys = await ensureKeys(join(directory, "keys"));
const redis = await testRedis();
const { rpcs, outcomeOf } = await everyRequest({
  directory,
  keys,
  redis: () => ({ YARD_REDIS_URL: redis.url }),
  runnerUrl: redis.url,
});
await redis.stop();

for (const [service, some] of rpcs)
  test(`${service} answers every request while Redis is away, and to none that it is a fault`, async () => {
    const outcomes = await Promise.all(
      some.map(async (rpc) => `${rpc.name}: ${await outcomeOf(rpc)}`),
    );
    assert.deepEqual(
      outcomes.filter((outcome) => /: (?:internal|invalid_request)/.test(outcome)),
      [],
    );
  });
