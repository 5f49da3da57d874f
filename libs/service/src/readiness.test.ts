import assert from "node:assert/strict";
import { test } from "node:test";
import { Readiness } from "./readiness.ts";

test("is not ready before it runs and after it began to stop, whatever the checks say", async () => {
  const readiness = new Readiness();
  readiness.add("bus", () => true);
  assert.deepEqual(await readiness.report(), {
    ready: false,
    status: "starting",
    checks: { bus: "ok" },
  });
  readiness.phase = "running";
  assert.deepEqual(await readiness.report(), {
    ready: true,
    status: "ready",
    checks: { bus: "ok" },
  });
  readiness.phase = "stopping";
  assert.deepEqual(await readiness.report(), {
    ready: false,
    status: "stopping",
    checks: { bus: "ok" },
  });
});

test("names each check that fails, throws or does not answer in time", async () => {
  const readiness = new Readiness(10);
  readiness.phase = "running";
  readiness.add("bus", () => true);
  readiness.add("redis", async () => false);
  readiness.add("model", () => {
    throw new Error("down");
  });
  readiness.add("disk", () => new Promise<boolean>(() => {}));
  assert.deepEqual(await readiness.report(), {
    ready: false,
    status: "not_ready",
    checks: { bus: "ok", redis: "failing", model: "failing", disk: "timeout" },
  });
});

test("says why a check fails that knows it", async () => {
  const readiness = new Readiness();
  readiness.phase = "running";
  readiness.add("bus", () => true);
  readiness.add("streams", () => "the disk is full");
  assert.deepEqual(await readiness.report(), {
    ready: false,
    status: "not_ready",
    checks: { bus: "ok", streams: "failing" },
    reasons: { streams: "the disk is full" },
  });
});

test("notices a stop that begins while the checks run", async () => {
  const readiness = new Readiness();
  readiness.phase = "running";
  readiness.add("bus", () => {
    readiness.phase = "stopping";
    return true;
  });
  assert.equal((await readiness.report()).ready, false);
});

test("refuses a second check of the same name", () => {
  const readiness = new Readiness();
  readiness.add("bus", () => true);
  assert.throws(() => readiness.add("bus", () => true), /readiness check bus already/);
});

test("shows the facts that a process adds beside its checks", async () => {
  const readiness = new Readiness();
  readiness.phase = "running";
  assert.equal("details" in (await readiness.report()), false);
  readiness.describe("sandbox", "none");
  assert.deepEqual(await readiness.report(), {
    ready: true,
    status: "ready",
    checks: {},
    details: { sandbox: "none" },
  });
});
