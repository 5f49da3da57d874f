import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { chmodSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { redisUserNames } from "@switchyard/topology/redis-acl";
import { installedUsers, serviceUsers } from "@switchyard/topology/topology";
import { tempDirectory } from "../test-fixtures/temp-directory.ts";
import { ensureKeys } from "./key-directory.ts";
import { readSeed, seedFile } from "./nkey-seed.ts";

test("makes a key for every user and the run-token key, readable by their owner alone", async () => {
  const directory = join(tempDirectory(), "keys");
  const { created } = await ensureKeys(directory);
  assert.deepEqual(created, [
    ...installedUsers.map(({ name }) => name),
    "run-token",
    "mcp-logins",
    "webhooks",
    "masks",
    "audit-values",
    ...redisUserNames.map((user) => `${user}.redis`),
  ]);
  assert.equal(statSync(directory).mode & 0o777, 0o700);
  for (const file of readdirSync(directory)) {
    assert.equal(statSync(join(directory, file)).mode & 0o777, 0o600, file);
  }
});

test("a second call keeps every key and closes files that were opened", async () => {
  const directory = tempDirectory();
  const first = await ensureKeys(directory);
  const seed = await readSeed(seedFile(directory, "broker"));
  chmodSync(seedFile(directory, "broker"), 0o644);
  const second = await ensureKeys(directory);
  assert.deepEqual(second.created, []);
  assert.equal(await readSeed(seedFile(directory, "broker")), seed);
  assert.equal(statSync(seedFile(directory, "broker")).mode & 0o777, 0o600);
  assert.equal(
    second.authorization({ anonymous: false }),
    first.authorization({ anonymous: false }),
  );
});

test("the server's configuration has public keys only, and the anonymous user only when asked for", async () => {
  const directory = tempDirectory();
  const keys = await ensureKeys(directory);
  const text = keys.authorization({ anonymous: false });
  for (const { name } of installedUsers) {
    assert.ok(text.includes(readFileSync(join(directory, `${name}.pub`), "utf8").trim()), name);
    assert.ok(!text.includes(await readSeed(seedFile(directory, name))), name);
  }
  assert.ok(!text.includes("no_auth_user"));
  assert.ok(keys.authorization({ anonymous: true }).includes("no_auth_user: me"));
});

test("the access list of Redis has a hash of each password and no password", async () => {
  const directory = tempDirectory();
  const { redis } = await ensureKeys(directory);
  for (const user of redisUserNames) {
    const password = readFileSync(join(directory, `${user}.redis`), "utf8").trim();
    assert.equal(redis.password(user), password);
    assert.ok(password.length >= 43, user);
    assert.ok(!redis.acl.includes(password), user);
    const hash = createHash("sha256").update(password).digest("hex");
    assert.ok(redis.acl.includes(`user ${user} on resetpass #${hash} `), user);
  }
  assert.match(redis.acl, /^user default off /m);
  assert.equal((await ensureKeys(directory)).redis.acl, redis.acl);
});

test("a seed without its public key is an error, not a silently new identity", async () => {
  const directory = tempDirectory();
  await ensureKeys(directory);
  rmSync(join(directory, "policy.pub"));
  await assert.rejects(ensureKeys(directory), /policy\.pub is not/);
});

test("a missing key names the command that makes it", async () => {
  await assert.rejects(readSeed(join(tempDirectory(), "cli.nk")), (error: unknown) => {
    assert.ok(error instanceof Error && "hint" in error);
    assert.match(String(error.hint), /yard keys init/);
    return true;
  });
});

test("a file that holds no seed is named, and what it holds is not shown", async () => {
  const file = join(tempDirectory(), "cli.nk");
  writeFileSync(file, "canary-4711\n");
  await assert.rejects(readSeed(file), ({ message }: Error) => {
    assert.match(message, /cli\.nk holds no NKey seed/);
    assert.ok(!message.includes("canary"));
    return true;
  });
});

test("a client team has a user of its own, and keeps it when the keys are made again", async () => {
  const directory = tempDirectory();
  const before = await ensureKeys(directory);
  const keys = await ensureKeys(directory, { clients: ["team-a"] });
  assert.deepEqual(keys.created, ["team-a"]);
  const publicKey = readFileSync(join(directory, "team-a.pub"), "utf8").trim();
  const text = keys.authorization({ anonymous: false });
  assert.ok(text.includes(`nkey: ${publicKey}`));
  assert.ok(text.includes('"yard.cmd.team-a.run.start.*"'));
  // All services are permitted to reply to the team: to its requests, and the gateway to discovery alone.
  assert.equal(text.match(/"_INBOX_team-a\.>"/g)?.length, 1 + serviceUsers.length);
  assert.ok(!before.authorization({ anonymous: false }).includes("team-a"));
  const later = await ensureKeys(directory);
  assert.equal(later.authorization({ anonymous: false }), text);
});

test("the operator's key is made only where it is wanted, apart from the keys that are handed out", async () => {
  const directory = tempDirectory();
  const operator = join(tempDirectory(), "safe", "operator.nk");
  const before = await ensureKeys(directory);
  assert.ok(!before.authorization({ anonymous: false }).includes("STREAM.UPDATE.YARD_AUDIT"));
  const keys = await ensureKeys(directory, { operator });
  assert.deepEqual(keys.created, ["operator"]);
  assert.equal(statSync(operator).mode & 0o777, 0o600);
  assert.ok(!readdirSync(directory).includes("operator.nk"));
  const text = keys.authorization({ anonymous: false });
  assert.equal(text.match(/STREAM\.UPDATE\.YARD_AUDIT/g)?.length, 1);
  assert.equal((await ensureKeys(directory)).authorization({ anonymous: false }), text);
  assert.deepEqual((await ensureKeys(directory, { operator })).created, []);
});

test("a team may keep its seed to itself", async () => {
  const directory = tempDirectory();
  await ensureKeys(directory, { clients: ["team-a"] });
  rmSync(seedFile(directory, "team-a"));
  const keys = await ensureKeys(directory, { clients: ["team-a"] });
  assert.deepEqual(keys.created, []);
  assert.ok(keys.authorization({ anonymous: false }).includes('"yard.cmd.team-a.run.start.*"'));
});

test("refuses a team with the name of a service, with no name of a user, and with no key", async () => {
  for (const name of ["policy", "cli", "me", "Team", "a.b", "*", ""]) {
    await assert.rejects(ensureKeys(tempDirectory(), { clients: [name] }), { code: "usage" }, name);
  }
  const directory = tempDirectory();
  writeFileSync(join(directory, "team-a.pub"), 'UABC" } permissions: {');
  await assert.rejects(ensureKeys(directory), { code: "start_failed" });
});
