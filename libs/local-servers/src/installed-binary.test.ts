import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

import { cacheDir, findInstalledBinary } from "./installed-binary.ts";
import type { RunCommand } from "./run-command.ts";
import { SERVER_KINDS } from "./server-kinds.ts";
import { testDirectory } from "@switchyard/testing/test-servers";

/** Executables that answer `--version` with the given text; `run` never starts them. */
async function programs(
  answers: Record<string, string>,
): Promise<{ root: string; run: RunCommand }> {
  const root = await testDirectory();
  for (const path of Object.keys(answers)) {
    await mkdir(join(root, path, ".."), { recursive: true });
    await writeFile(join(root, path), "", { mode: 0o755 });
  }
  const run: RunCommand = async (command, args) => {
    assert.deepEqual(args, ["--version"]);
    const answer = answers[command.slice(root.length + 1)];
    return answer === undefined
      ? { code: null, stdout: "", stderr: `spawn ${command} ENOENT` }
      : { code: 0, stdout: answer, stderr: "" };
  };
  return { root, run };
}

test("takes the first program that is recent enough: PATH, then system directories, then the cache", async () => {
  const { root, run } = await programs({
    "path/nats-server": "nats-server: v2.15.1",
    "sbin/nats-server": "nats-server: v2.16.0",
    ".cache/switchyard/bin/nats-server": "nats-server: v2.17.0",
  });
  const search = { kind: SERVER_KINDS.nats, run, systemDirs: [join(root, "sbin")] };
  const env = { HOME: root, PATH: join(root, "path") };
  assert.deepEqual(await findInstalledBinary({ ...search, env }), {
    binary: join(root, "path/nats-server"),
    version: "2.15.1",
    source: "PATH",
  });
  assert.deepEqual(await findInstalledBinary({ ...search, env: { HOME: root } }), {
    binary: join(root, "sbin/nats-server"),
    version: "2.16.0",
    source: "system directory",
  });
});

test("takes the program in the user's cache when the installed one is too old", async () => {
  const { root, run } = await programs({
    "cache/switchyard/bin/nats-server": "nats-server: v2.14.0",
    "path/nats-server": "nats-server: v2.13.1",
  });
  const env = { XDG_CACHE_HOME: join(root, "cache"), PATH: join(root, "path") };
  const found = await findInstalledBinary({ kind: SERVER_KINDS.nats, env, run, systemDirs: [] });
  assert.deepEqual(found, {
    binary: join(root, "cache/switchyard/bin/nats-server"),
    version: "2.14.0",
    source: "user cache",
  });
});

test("names every program that is too old, with its version and the one that is needed", async () => {
  const { root, run } = await programs({
    "a/nats-server": "nats-server: v2.9.10",
    "b/nats-server": "nats-server: v2.13.9",
  });
  const found = await findInstalledBinary({
    kind: SERVER_KINDS.nats,
    env: { HOME: root, PATH: join(root, "a") },
    run,
    systemDirs: [join(root, "b")],
  });
  assert.deepEqual(found, {
    reason: `${root}/a/nats-server is 2.9.10, 2.14 or newer is needed; ${root}/b/nats-server is 2.13.9, 2.14 or newer is needed`,
  });
});

test("takes a Valkey from 7.2 on where Redis is missing or too old", async () => {
  const { root, run } = await programs({
    "bin/redis-server": "Redis server v=6.2.14 sha=0",
    "bin/valkey-server": "Valkey server v=7.2.5 sha=0",
  });
  const env = { HOME: root, PATH: join(root, "bin") };
  const found = await findInstalledBinary({ kind: SERVER_KINDS.redis, env, run, systemDirs: [] });
  assert.deepEqual(found, {
    binary: join(root, "bin/valkey-server"),
    version: "7.2.5",
    source: "PATH",
  });
});

test("a program that is really Valkey is held to Valkey's minimum, whatever its file is called", async () => {
  const { root, run } = await programs({ "bin/redis-server": "Valkey server v=7.1.0 sha=0" });
  const found = await findInstalledBinary({
    kind: SERVER_KINDS.redis,
    env: { HOME: root, PATH: join(root, "bin") },
    run,
    systemDirs: [],
  });
  assert.deepEqual(found, { reason: `${root}/bin/redis-server is 7.1.0, 7.2 or newer is needed` });
});

test("a program in YARD_BIN_DIR is used or refused, and one that is not there is searched elsewhere", async () => {
  const { root, run } = await programs({
    "old/nats-server": "nats-server: v2.10.27",
    "own/nats-server": "nats-server: v2.15.2",
    "other/redis-server": "Redis server v=7.4.1",
    "path/nats-server": "nats-server: v2.15.1",
  });
  const search = (directory: string) =>
    findInstalledBinary({
      kind: SERVER_KINDS.nats,
      env: { HOME: root, PATH: join(root, "path"), YARD_BIN_DIR: join(root, directory) },
      run,
      systemDirs: [],
    });
  assert.deepEqual(await search("own"), {
    binary: join(root, "own/nats-server"),
    version: "2.15.2",
    source: "YARD_BIN_DIR",
  });
  assert.deepEqual(await search("other"), {
    binary: join(root, "path/nats-server"),
    version: "2.15.1",
    source: "PATH",
  });
  await assert.rejects(
    search("old"),
    /YARD_BIN_DIR: .*is 2\.10\.27, 2\.14 or newer is needed; correct or unset YARD_BIN_DIR/,
  );
  await assert.rejects(search("none"), /YARD_BIN_DIR: .*none cannot be read/);
});

test("ignores relative entries of PATH and a relative XDG_CACHE_HOME", async () => {
  const { root, run } = await programs({});
  const env = { HOME: root, XDG_CACHE_HOME: "cache", PATH: ".:bin:" };
  assert.equal(cacheDir(env), join(root, ".cache/switchyard"));
  const found = await findInstalledBinary({ kind: SERVER_KINDS.redis, env, run, systemDirs: [] });
  assert.deepEqual(found, {
    reason: `no redis-server or valkey-server on PATH, in the system directories or in ${root}/.cache/switchyard`,
  });
});
