import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, test } from "node:test";
import { redisAcl } from "@switchyard/topology/redis-acl";
import { testRedis } from "@switchyard/testing/test-servers";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { openDeferredCommands, type DeferredCommand, type Deferral } from "./deferred-commands.ts";
import { keptKey } from "./run-storage.ts";

// Connects with the permissions that the runner's user has in Redis.
const password = "password";
const digest = createHash("sha256").update(password).digest("hex");
const acl = redisAcl({
  passwordHashes: new Map(["runner", "monitor"].map((user) => [user, digest])),
});
const server = await testRedis({ access: { acl, probeUser: "monitor", probePassword: password } });
const log = createLog({ service: "test", level: "silent" });
const url = server.url.replace("redis://", "redis://runner@");
const redis = await connectRedis({ url, password, name: "test", log });
after(() => redis.disconnect());
const kept = openDeferredCommands(redis, { limits: { perOwner: 3, all: 5, size: 1_000 } });

function commandOf(caller: string, input: string): DeferredCommand {
  const from = { subject: `yard.cmd.${caller}.run.start.demo`, caller, streamSequence: 1 };
  const about = { contract: "run.start", tokens: { agent: "demo" }, payload: { input } };
  return { ...from, ...about, messageId: null, publishedAt: "2026-01-01T00:00:00.000Z" };
}

function keep(owner: string, name: string, input = "x"): Promise<Deferral> {
  const run = { runId: `${owner}~${name}`, digest: `digest of ${name}` };
  return kept.keep(run, commandOf(owner, input));
}

test("stored commands are bounded for each owner and in all, and the refusal names the bound", async () => {
  for (const name of ["1", "2", "3", "3"])
    assert.deepEqual(await keep("team-a", name), { kept: true });
  assert.deepEqual(await keep("team-a", "4"), {
    kept: false,
    why: "3 commands of team-a are stored for a service that is down, which is the limit of one caller: start it, and they continue",
  });
  // Its name begins with another owner's, and a run's name may sort after everything.
  for (const owner of ["team-ab", "team"])
    assert.deepEqual(await keep(owner, "zz"), { kept: true });
  assert.deepEqual(await keep("team-c", "1"), {
    kept: false,
    why: "5 commands are stored for a service that is down, which is the limit: start it, and they continue",
  });
  assert.equal(
    (await kept.read("team-a~3"))?.rests,
    2,
    "a command that rests again takes no place",
  );
  assert.equal(await kept.read("team-a~4"), null);

  await kept.forget("team-a~1");
  assert.deepEqual(await keep("team-c", "1"), { kept: true });
});

test("a command that was stored for its whole time soon frees its space", async () => {
  await redis.del(keptKey("team-a~2"));
  for (const name of ["5", "6"]) await keep("team-a", name);
  assert.deepEqual(await keep("team-a", "6"), { kept: true });
  for (const runId of ["team-ab~zz", "team~zz", "team-c~1"]) await kept.forget(runId);
});

test("a large command stays in the queue, whose quotas count bytes", async () => {
  const large = await keep("team-b", "1", "x".repeat(1_000));
  assert.ok(
    !large.kept && /1\d\d\d characters, more than the 1000/.test(large.why),
    JSON.stringify(large),
  );
  assert.deepEqual(await keep("team-b", "1"), { kept: true });
});
