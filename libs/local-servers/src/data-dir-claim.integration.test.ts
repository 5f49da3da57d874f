import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";

import { claimDataDir } from "./data-dir-claim.ts";
import { processIdentity } from "./process-identity.ts";
import { testDirectory } from "@switchyard/testing/test-servers";

const DEAD = { pid: 2 ** 30, identity: "long/gone" };

async function sleeper(): Promise<ChildProcess & { pid: number }> {
  const child = spawn("/bin/sleep", ["600"], { stdio: "ignore" });
  after(() => child.kill("SIGKILL"));
  await once(child, "spawn");
  assert.ok(child.pid !== undefined);
  return Object.assign(child, { pid: child.pid });
}

async function claimed(
  dataDir: string,
): Promise<{ claim: ReturnType<typeof claimDataDir>; lines: string[] }> {
  const lines: string[] = [];
  return {
    claim: claimDataDir({ dataDir, name: "x", log: (line) => void lines.push(line) }),
    lines,
  };
}

test("stops the server that a dead owner left behind, and reports it", async () => {
  const dataDir = await testDirectory();
  const left = await sleeper();
  const ended = once(left, "exit");
  const server = { pid: left.pid, identity: await processIdentity(left.pid) };
  await writeFile(join(dataDir, "x.pid"), JSON.stringify({ owner: DEAD, server }));
  const { claim, lines } = await claimed(dataDir);
  await claim;
  assert.deepEqual(await ended, [null, "SIGTERM"]);
  assert.deepEqual(lines, [
    `x: stopping the server ${left.pid} that an earlier start left running in ${dataDir}`,
  ]);
});

test("leaves a process alone that only has the pid of the server that was", async () => {
  const dataDir = await testDirectory();
  const stranger = await sleeper();
  await writeFile(
    join(dataDir, "x.pid"),
    JSON.stringify({ owner: DEAD, server: { pid: stranger.pid, identity: "another/1" } }),
  );
  const { claim, lines } = await claimed(dataDir);
  await claim;
  assert.notEqual(await processIdentity(stranger.pid), null);
  assert.deepEqual(lines, []);
});

test("respects a living owner", async () => {
  const dataDir = await testDirectory();
  const owner = await sleeper();
  const record = {
    owner: { pid: owner.pid, identity: await processIdentity(owner.pid) },
    server: null,
  };
  await writeFile(join(dataDir, "x.pid"), JSON.stringify(record));
  const { claim } = await claimed(dataDir);
  await assert.rejects(
    claim,
    new RegExp(`in use by process ${owner.pid}; stop that process or choose another`),
  );
});

test("of several that claim one directory at once, one gets it", async () => {
  const dataDir = await testDirectory();
  const attempts = await Promise.allSettled(
    Array.from({ length: 8 }, () => claimDataDir({ dataDir, name: "x", log: () => {} })),
  );
  assert.equal(attempts.filter(({ status }) => status === "fulfilled").length, 1);
});

test("a claim names the server and is gone after release; text that is not a claim is overwritten", async () => {
  const dataDir = await testDirectory();
  await writeFile(join(dataDir, "x.pid"), "{half a");
  const claim = await claimDataDir({ dataDir, name: "x", log: () => {} });
  await claim.holds(process.pid);
  const self = { pid: process.pid, identity: await processIdentity(process.pid) };
  assert.deepEqual(JSON.parse(await readFile(join(dataDir, "x.pid"), "utf8")), {
    owner: self,
    server: self,
  });
  await claim.release();
  assert.deepEqual(await readdir(dataDir), []);
});
