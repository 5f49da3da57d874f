import assert from "node:assert/strict";
import { access, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { test, type TestContext } from "node:test";

import { startNatsServer } from "./nats-server.ts";
import { startRedisServer } from "./redis-server.ts";
import { resolveBubblewrap } from "./resolve-bubblewrap.ts";
import { resolveServer, type ResolvedServer } from "./resolve.ts";
import { runCommand, type RunCommand } from "./run-command.ts";
import { testDirectory, testNats, testRedis } from "@switchyard/testing/test-servers";

const DPKG_STATUS = "/var/lib/dpkg/status";

test("uses the configured servers, wherever they are, when they answer", async () => {
  const [nats, redis] = await Promise.all([testNats(), testRedis()]);
  const env = { YARD_NATS_URL: nats.url, YARD_REDIS_URL: `${redis.url}/3` };
  assert.deepEqual(await resolveServer({ kind: "nats", env, log: () => {} }), {
    how: "url",
    url: nats.url,
    version: nats.version,
  });
  assert.deepEqual(await resolveServer({ kind: "redis", env, log: () => {} }), {
    how: "url",
    url: `${redis.url}/3`,
    version: redis.version,
  });
});

test("of several configured NATS servers one that answers is enough", async () => {
  const nats = await testNats();
  const url = `nats://127.0.0.1:1,${nats.url}`;
  const found = await resolveServer({ kind: "nats", env: { YARD_NATS_URL: url }, log: () => {} });
  assert.deepEqual(found, { how: "url", url, version: nats.version });
});

test("a configured server that is down is an error, even where a program is installed", async () => {
  const env = { ...process.env, YARD_REDIS_URL: "redis://:secret@127.0.0.1:1" };
  await assert.rejects(resolveServer({ kind: "redis", env, log: () => {} }), (error: unknown) => {
    assert.ok(error instanceof Error);
    assert.match(
      error.message,
      /YARD_REDIS_URL is set, but redis:\/\/127\.0\.0\.1:1: connect ECONNREFUSED/,
    );
    assert.match(error.message, /Correct that or unset YARD_REDIS_URL/);
    assert.doesNotMatch(error.message, /secret/);
    return true;
  });
});

test("a configured Redis wants the password of the URL, or says where to put it", async () => {
  const acl = "user default off\nuser monitor on >pass/word ~* +@all\n";
  const redis = await testRedis({
    access: { acl, probeUser: "monitor", probePassword: "pass/word" },
  });
  const find = (url: string) =>
    resolveServer({ kind: "redis", env: { YARD_REDIS_URL: url }, log: () => {} });
  const address = `127.0.0.1:${redis.port}`;
  const url = `redis://monitor:pass%2Fword@${address}`;
  assert.deepEqual(await find(url), { how: "url", url, version: redis.version });
  await assert.rejects(find(`redis://monitor:stale@${address}`), /it refuses the password/);
  await assert.rejects(find(`redis://${address}`), /wants a password: put it into the URL/);
});

test("a configured server of the other kind, or too old, is reported as such", async (t) => {
  const redis = await testRedis();
  const nats = await testNats();
  const reject = (kind: "nats" | "redis", env: Record<string, string>, message: RegExp) =>
    assert.rejects(resolveServer({ kind, env, log: () => {} }), message);
  await reject(
    "redis",
    { YARD_REDIS_URL: `redis://127.0.0.1:${nats.port}` },
    /it is not a Redis server/,
  );
  const old = await natsThatSays(t, { version: "2.9.10", jetstream: true });
  await reject("nats", { YARD_NATS_URL: old }, /it is nats 2\.9\.10, 2\.14\.0 or newer is needed/);
  const plain = await natsThatSays(t, { version: "2.15.1", jetstream: false });
  await reject("nats", { YARD_NATS_URL: plain }, /JetStream is off/);
  // Redis waits for the client to speak first, so only the time limit can detect it.
  await reject(
    "nats",
    { YARD_NATS_URL: `nats://127.0.0.1:${redis.port}` },
    /it did not answer in time/,
  );
});

test("nats-server out of the distribution's packages runs, and the next search finds it in the cache", async (t) => {
  const machine = await bareMachine(t);
  if (machine === null) return;
  const found = await fromPackages(t, () =>
    resolveServer({ ...machine, kind: "nats", steps: ["binary", "packages"] }),
  );
  if (found === null) return;
  const server = await startNatsServer({ binary: found.binary, dataDir: await testDirectory() });
  t.after(() => server.stop());
  assert.equal(server.version, found.version);
  const again = await resolveServer({ ...machine, kind: "nats", steps: ["binary"] });
  assert.deepEqual(again, { ...found, source: "user cache" });
});

test("redis-server out of the distribution's packages brings the libraries that the system lacks", async (t) => {
  const machine = await bareMachine(t);
  if (machine === null) return;
  const run = await withoutRedisLibraries(machine.directory);
  const found = await fromPackages(t, () =>
    resolveServer({ ...machine, run, kind: "redis", steps: ["packages"] }),
  );
  if (found === null) return;
  const server = await startRedisServer({ binary: found.binary, dataDir: await testDirectory() });
  t.after(() => server.stop());
  assert.equal(server.version, found.version);
  const maps = await readFile(`/proc/${server.pid}/maps`, "utf8");
  assert.match(maps, new RegExp(`${machine.directory}/.*liblzf`));
});

test("bubblewrap comes with the libraries that the system lacks, and keeps them from what it runs", async (t) => {
  const machine = await bareMachine(t);
  if (machine === null) return;
  // Simulates a system without these libraries: the rest of this system needs them, so apt cannot be made to believe that they are missing.
  const run: RunCommand = (command, args, options) =>
    runCommand(command, args.includes("install") ? [...args, "libcap2"] : args, options);
  const found = await resolveBubblewrap({ ...machine, run });
  if ("reason" in found) {
    if (!noPackages.test(found.reason)) throw new Error(found.reason);
    t.skip(`no packages to be had here: ${found.reason}`);
    return;
  }
  const env = { PATH: process.env["PATH"] };
  const options = { timeoutMs: 10_000, env };
  const libraries = await runCommand("sh", ["-x", found.binary, "--version"], options);
  assert.match(libraries.stderr, new RegExp(`LD_LIBRARY_PATH=.?${machine.directory}/`));
  assert.match(libraries.stdout, /^bubblewrap /);
  const show = ["--dev-bind", "/", "/", "sh", "-c", `echo "[$LD_LIBRARY_PATH]"`];
  const boxed = await runCommand(found.binary, show, options);
  if (boxed.code !== 0) {
    t.skip(`no sandbox works here: ${boxed.stderr}`);
    return;
  }
  assert.equal(boxed.stdout, "[]\n");
  const own = { ...options, env: { ...env, LD_LIBRARY_PATH: "/of/the/caller" } };
  assert.equal((await runCommand(found.binary, show, own)).stdout, "[/of/the/caller]\n");
  const again = await resolveBubblewrap({ ...machine, fetch: false });
  assert.deepEqual(again, { ...found, source: "user cache" });
});

test("where bubblewrap cannot be had it is said why, and a named directory has to be there", async () => {
  const directory = await testDirectory();
  const machine = { env: { HOME: directory, PATH: "" }, log: () => {}, systemDirs: [] };
  assert.deepEqual(await resolveBubblewrap({ ...machine, platform: "darwin" }), {
    reason: `no bwrap on PATH, in the system directories or in ${directory}/.cache/switchyard; there is no bubblewrap for macOS`,
  });
  const env = { ...machine.env, YARD_BIN_DIR: "/nowhere" };
  await assert.rejects(
    resolveBubblewrap({ ...machine, env }),
    /YARD_BIN_DIR: \/nowhere cannot be read/,
  );
});

/** A listener with the INFO line of a server that this machine does not have. */
async function natsThatSays(t: TestContext, info: object): Promise<string> {
  const listener = createServer(
    (socket) => void socket.end(`INFO ${JSON.stringify({ auth_required: true, ...info })}\r\n`),
  );
  await new Promise<void>((listening) => void listener.listen(0, "127.0.0.1", listening));
  t.after(() => listener.close());
  const address = listener.address();
  assert.ok(typeof address === "object" && address !== null);
  return `nats://127.0.0.1:${address.port}`;
}

/** Options of a machine with apt, an empty cache and no servers; `null` (and skipped) where apt is missing. */
async function bareMachine(t: TestContext) {
  if ((await runCommand("apt-get", ["--version"], { timeoutMs: 5_000 })).code !== 0) {
    t.skip("apt-get does not run on this machine");
    return null;
  }
  const directory = await testDirectory();
  return {
    directory,
    env: { XDG_CACHE_HOME: directory, HOME: directory, PATH: "" },
    log: () => {},
    systemDirs: [],
  };
}

const noPackages =
  /Could not (resolve|connect)|Temporary failure|no Debian mirror|or newer is needed/;

type FoundProgram = Extract<ResolvedServer, { how: "binary" }>;

/** Skips where the machine has no mirror to fetch from; any other failure is a failure. */
async function fromPackages(
  t: TestContext,
  resolve: () => Promise<ResolvedServer>,
): Promise<FoundProgram | null> {
  try {
    const found = await resolve();
    assert.ok(found.how === "binary");
    return found;
  } catch (error) {
    if (!noPackages.test(String(error))) throw error;
    t.skip(`no packages to be had here: ${String(error)}`);
    return null;
  }
}

/** Makes apt treat Redis and two of its libraries as not installed. */
async function withoutRedisLibraries(directory: string): Promise<RunCommand> {
  await access(DPKG_STATUS);
  const removed = ["redis-server", "redis-tools", "liblzf1", "libjemalloc2"];
  const stanzas = (await readFile(DPKG_STATUS, "utf8")).split("\n\n");
  const status = join(directory, "status");
  await writeFile(
    status,
    stanzas
      .filter((stanza) => !removed.some((name) => stanza.startsWith(`Package: ${name}\n`)))
      .join("\n\n"),
  );
  return (command, args, options) =>
    runCommand(
      command,
      command.startsWith("apt-") ? [...args, "-o", `Dir::State::status=${status}`] : args,
      options,
    );
}
