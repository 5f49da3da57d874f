import assert from "node:assert/strict";
import { join } from "node:path";
import { after, test } from "node:test";
import { testDirectory } from "@switchyard/local-servers/test-servers";
import { testRedisCluster } from "@switchyard/local-servers/test-redis-group";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { primariesOf } from "@switchyard/service/redis-cluster";
import { ensureKeys } from "../../apps/cli/src/key-directory.ts";
import { everyRequest } from "../lib/every-request.ts";

// Every request of every service on a Redis Cluster, each service with its own user.
const directory = await testDirectory();
const keys = await ensureKeys(join(directory, "keys"));
const { acl } = keys.redis;
const password = (user: string): string => keys.redis.password(user);
const admin = { probeUser: "admin", probePassword: password("admin") };
const cluster = await testRedisCluster({ access: { acl, ...admin } });
const urlOf = (user: string, secret = ""): string =>
  cluster.url.replace("//", `//${user}${secret}@`);
const { rpcs, outcomeOf, services } = await everyRequest({
  directory,
  keys,
  redis: (user) => ({
    YARD_REDIS_URL: urlOf(user),
    YARD_REDIS_PASSWORD_FILE: join(keys.path, `${user}.redis`),
  }),
  runnerUrl: urlOf("runner", `:${password("runner")}`),
});

for (const [service, some] of rpcs)
  test(`${service} answers every request on a Redis Cluster, and to none that Redis refused`, async () => {
    for (const rpc of some) {
      const outcome = `${rpc.name}: ${await outcomeOf(rpc)}`;
      assert.doesNotMatch(outcome, /: internal|Redis|CROSSSLOT|NOPERM/, outcome);
    }
  });

test("nothing that services sent was refused, and each primary has keys", async () => {
  const log = createLog({ service: "test", level: "silent" });
  const options = { url: urlOf("admin"), password: admin.probePassword, name: "admin", log };
  const redis = await connectRedis(options);
  after(() => redis.disconnect());
  for (const primary of primariesOf(redis)) {
    assert.deepEqual(await primary.acl("LOG"), []);
    assert.ok((await primary.dbsize()) > 0);
    const errors = await primary.info("errorstats");
    assert.doesNotMatch(errors, /CROSSSLOT|NOPERM/);
  }
  const lines = services.flatMap((service) => service.lines);
  const faults = lines.filter((line) => /"level":"(?:error|fatal)"|CROSSSLOT|NOPERM/.test(line));
  assert.deepEqual(faults, []);
});
