import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { tempDirectory } from "../test-fixtures/temp-directory.ts";
import {
  claimInstance,
  findRunningInstance,
  readInstance,
  recordProcess,
  releaseInstance,
  type InstanceRecord,
  type ProcessRecord,
} from "./instance-record.ts";

async function self(): Promise<ProcessRecord> {
  const record = await recordProcess("yard", process.pid);
  assert.ok(record !== null);
  return record;
}

/** The record of a process that is gone. */
async function ended(): Promise<ProcessRecord> {
  const child = spawn("sleep", ["600"]);
  after(() => child.kill("SIGKILL"));
  await once(child, "spawn");
  const record = await recordProcess("yard", child.pid ?? 0);
  const exit = once(child, "exit");
  child.kill("SIGKILL");
  await exit;
  assert.ok(record !== null);
  return record;
}

function instanceOf(owner: ProcessRecord): InstanceRecord {
  return {
    owner,
    phase: "ready",
    project: "/p",
    workspace: "/w",
    natsUrl: "nats://127.0.0.1:1",
    natsMonitorUrl: null,
    redisUrl: null,
    processes: [],
  };
}

test("keeps a second instance out while the first one lives", async () => {
  const file = join(tempDirectory(), "state", "dev.json");
  const record = instanceOf(await self());
  assert.deepEqual(await claimInstance(file, record), { claimed: true, abandoned: null });
  assert.deepEqual(await claimInstance(file, record), { claimed: false, holder: record });
  assert.equal(statSync(file).mode & 0o777, 0o600);
  await releaseInstance(file);
  assert.equal((await claimInstance(file, record)).claimed, true);
});

test("takes over from an owner that is gone, and returns what it left", async () => {
  const file = join(tempDirectory(), "dev.json");
  const dead = instanceOf(await ended());
  await claimInstance(file, dead);
  assert.equal(await findRunningInstance(file), null);
  const mine = instanceOf(await self());
  assert.deepEqual(await claimInstance(file, mine), { claimed: true, abandoned: dead });
  assert.deepEqual(await readInstance(file), mine);
});

test("a process that got the pid of the old owner is not taken for it", async () => {
  const file = join(tempDirectory(), "dev.json");
  const impostor = { ...(await self()), identity: "another boot/1" };
  await claimInstance(file, instanceOf(impostor));
  assert.equal(await findRunningInstance(file), null);
  assert.equal((await claimInstance(file, instanceOf(await self()))).claimed, true);
});

test("of many starts at the same moment exactly one gets the instance, also beside a dead one's record", async () => {
  const file = join(tempDirectory(), "dev.json");
  await claimInstance(file, instanceOf(await ended()));
  const mine = instanceOf(await self());
  const outcomes = await Promise.all(Array.from({ length: 20 }, () => claimInstance(file, mine)));
  assert.equal(outcomes.filter(({ claimed }) => claimed).length, 1);
});

test("a damaged file does not keep the instance from starting", async () => {
  const file = join(tempDirectory(), "dev.json");
  writeFileSync(file, "{ half");
  assert.equal(await readInstance(file), null);
  assert.deepEqual(await claimInstance(file, instanceOf(await self())), {
    claimed: true,
    abandoned: null,
  });
});
