import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { matchesGlob } from "@switchyard/contracts/glob";
import { FILES_LEDGER } from "@switchyard/contracts/owner-storage";
import { serviceRedisUsers, type RedisUser } from "@switchyard/topology/redis-access";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** Each service's folder with its user of Redis, read from the service's own definition. */
const services = globSync("services/*/src/service.ts", { cwd: root }).map((main) => {
  const name = /^ {2}user: "([a-z-]+)",$/m.exec(readFileSync(join(root, main), "utf8"))?.[1];
  const user = serviceRedisUsers.find((candidate) => candidate.name === name);
  assert.ok(user, `${main} has the user ${name}, who has no entry in redis-access.ts`);
  return { folder: dirname(main), user };
});

/** The libraries that keep something in Redis for services. */
const LIBRARIES = ["libs/service/src", "libs/audit/src", "libs/tool-provider/src"];

test("every key that a service spells is one that its user may touch", () => {
  assert.ok(services.length >= 5);
  for (const { folder, user } of services) {
    const keys = keysIn(folder, user.name);
    for (const key of keys) assert.ok(mayRead(user, key), missing(folder, key, "keys"));
  }
});

test("the keys that libraries keep for tool providers are open to every provider", () => {
  for (const user of serviceRedisUsers.filter(({ name }) => ["broker", "toolbox"].includes(name))) {
    const keys = LIBRARIES.flatMap((folder) => keysIn(folder, user.name));
    assert.ok(keys.length > 0);
    for (const key of keys) assert.ok(mayRead(user, key), missing("a library", key, "keys"));
  }
});

test("every command in a service's scripts is one that its user may run", () => {
  for (const { folder, user } of services) {
    const commands = commandsIn(folder);
    for (const command of commands)
      assert.ok(user.commands.includes(command), missing(folder, command, "commands"));
  }
});

test("no pattern is left over from a key that no code spells any more", () => {
  const folders = [...services.map(({ folder }) => folder), ...LIBRARIES];
  for (const { name, keys } of serviceRedisUsers) {
    // The runner has a second ledger, for files.
    const ledgers = name === "runner" ? [name, FILES_LEDGER] : [name];
    const spelt = folders.flatMap((folder) => ledgers.flatMap((ledger) => keysIn(folder, ledger)));
    for (const pattern of keys)
      assert.ok(
        spelt.some((key) => matchesGlob(pattern, key)),
        `nothing is kept at ${pattern} of ${name}: remove it from redis-access.ts`,
      );
  }
});

/** True when the user may at least read the key; `test/attacks` tries on a real server which keys it may write. */
function mayRead(user: RedisUser, key: string): boolean {
  return [...user.keys, ...user.readsKeys].some((pattern) => matchesGlob(pattern, key));
}

function missing(folder: string, what: string, list: string): string {
  return `${folder} uses ${what}: add it to the ${list} of its entry in libs/topology/src/redis-access.ts`;
}

/**
 * Keys as they are spelt in code, with `x` for each placeholder; `service` is the user itself, and a `kind` of definition is a
 * skill or an agent.
 */
function keysIn(folder: string, user: string): string[] {
  return matchesIn(folder, /["'`](yard:(?:\$\{[^}]*\}|[^"'`$])*)/g).flatMap((key) =>
    ["skill", "agent"].map((kind) =>
      key
        .replaceAll("${service}", user)
        .replaceAll("${kind}", kind)
        .replaceAll(/\$\{[^}]*\}/g, "x"),
    ),
  );
}

function commandsIn(folder: string): string[] {
  return matchesIn(folder, /redis\.p?call\(\s*["']([A-Za-z]+)/g).map((command) =>
    command.toLowerCase(),
  );
}

function matchesIn(folder: string, pattern: RegExp): string[] {
  const files = globSync("**/*.ts", { cwd: join(root, folder) }).filter(
    (file) => !file.endsWith(".test.ts"),
  );
  const found = files.flatMap((file) =>
    [...readFileSync(join(root, folder, file), "utf8").matchAll(pattern)].map(
      ([, first]) => first ?? "",
    ),
  );
  return [...new Set(found)];
}
