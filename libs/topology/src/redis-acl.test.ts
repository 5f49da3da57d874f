import assert from "node:assert/strict";
import { test } from "node:test";
import { matchesGlob } from "@switchyard/contracts/glob";
import { serviceRedisUsers } from "./redis-access.ts";
import { redisAcl, redisUserNames } from "./redis-acl.ts";
import { serviceUsers } from "./topology.ts";

test("every service of the bus has a user in Redis with the same name", () => {
  assert.deepEqual(
    serviceRedisUsers.map(({ name }) => name).toSorted(),
    serviceUsers.map(({ name }) => name).toSorted(),
  );
});

test("an access list refuses clients without credentials, and grants nothing by category", () => {
  const lines = redisAcl({ passwordHashes: new Map() }).trimEnd().split("\n");
  assert.equal(lines[0], "user default off resetpass ~* &* +@all");
  assert.deepEqual(
    lines.slice(1).map((line) => line.split(" ")[1]),
    redisUserNames,
  );
  for (const line of lines) {
    assert.doesNotMatch(line, /nopass/);
    if (/^user (admin|default) /.test(line)) continue;
    assert.doesNotMatch(line, /\+@|allkeys|allchannels|allcommands| ~\* | &\*/, line);
  }
});

test("a user logs in with its own password only, which the list holds as a hash", () => {
  const acl = redisAcl({ passwordHashes: new Map([["broker", "ab12"]]) });
  assert.match(acl, /^user broker on resetpass #ab12 resetkeys /m);
  assert.match(acl, /^user policy on resetpass resetkeys /m);
});

test("no service may run what reaches past its keys", () => {
  const reaching =
    /^(acl|client\|kill|config|debug|eval_ro|failover|fcall|flushall|flushdb|function|keys|migrate|module|monitor|randomkey|rename|replicaof|restore|save|scan|script|shutdown|slaveof|sort|swapdb|sync|psync)/;
  for (const { name, commands } of serviceRedisUsers) {
    assert.deepEqual(
      commands.filter((command) => reaching.test(command)),
      [],
      name,
    );
  }
});

test("what one service keeps, no other one can touch, save what tool providers share", () => {
  const shared = new Set(["yard:call:{*}*", "yard:run:{*}:tool-epoch", "yard:run:{*}:masks"]);
  for (const user of serviceRedisUsers) {
    for (const other of serviceRedisUsers.filter(({ name }) => name !== user.name)) {
      for (const pattern of user.keys.filter((key) => !shared.has(key))) {
        const example = pattern.replaceAll("*", "x");
        const touching = other.keys.filter((key) => matchesGlob(key, example));
        assert.deepEqual(touching, [], `${other.name} reaches ${example} of ${user.name}`);
      }
    }
  }
});
