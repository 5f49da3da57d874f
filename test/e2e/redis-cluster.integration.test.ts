import assert from "node:assert/strict";
import { join } from "node:path";
import { after, test } from "node:test";
import { call } from "@switchyard/bus/call";
import { createUserKey } from "@switchyard/contracts/policy/user-tokens";
import { testDirectory } from "@switchyard/testing/test-servers";
import { testRedisCluster } from "@switchyard/testing/test-redis-group";
import { until } from "@switchyard/local-servers/until";
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
const { rpcs, outcomeOf, services, cli } = await everyRequest({
  directory,
  keys,
  redis: (user) => ({ YARD_REDIS_URL: urlOf(user) }),
  runnerUrl: urlOf("runner", `:${password("runner")}`),
});

for (const [service, some] of rpcs)
  test(`${service} answers every request on a Redis Cluster, and to none that Redis refused`, async () => {
    for (const rpc of some) {
      const outcome = `${rpc.name}: ${await outcomeOf(rpc)}`;
      assert.doesNotMatch(outcome, /: internal|Redis|CROSSSLOT|NOPERM/, outcome);
    }
  });

test("the gateway lets a key in and keeps a webhook on a Redis Cluster", async () => {
  const ready = await until(() =>
    services.flatMap(({ lines }) => lines).find((line) => line.includes('"msg":"http ready"')),
  );
  const { url } = JSON.parse(ready) as { url: string }; // as the gateway logs it
  const { key } = await call(cli, createUserKey, { caller: "person", roles: ["operator"] });
  const ask = (path: string, body?: object) =>
    fetch(new URL(`/api/v1${path}`, url), {
      method: body === undefined ? "GET" : "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      ...(body && { body: JSON.stringify(body) }),
    });
  const made = await ask("/webhooks", { url: "https://example.com/hook", events: ["run.*"] });
  assert.equal(made.status, 201, await made.text());
  assert.match(await (await ask("/webhooks")).text(), /example\.com/);
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
  // Nothing listens at the address of the server "remote": a slow test gives the broker time to try it more often.
  const faults = lines.filter(
    (line) =>
      /"level":"(?:error|fatal)"|CROSSSLOT|NOPERM/.test(line) &&
      !/"server":"remote".*bad port/.test(line),
  );
  assert.deepEqual(faults, []);
});
