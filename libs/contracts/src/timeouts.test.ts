import assert from "node:assert/strict";
import { test } from "node:test";
import { pause, within } from "./timeouts.ts";

const never = new Promise<never>(() => {});

test("work that ends first settles the wait, and leaves neither a timer nor a listener", async () => {
  const stopping = new AbortController();
  const limit = { ms: 60_000, signal: stopping.signal };
  assert.equal(await within(Promise.resolve(7), limit, assert.fail), 7);
  await assert.rejects(within(Promise.reject(new Error("broken")), limit, assert.fail), /broken/);
  assert.deepEqual(
    process.getActiveResourcesInfo().filter((kind) => kind === "Timeout"),
    [],
  );
});

test("what is late resolves or rejects as its caller says", async () => {
  assert.equal(await within(never, { ms: 1 }, () => "late"), "late");
  const fail = (): never => {
    throw new Error("no answer in time");
  };
  await assert.rejects(within(never, { ms: -1 }, fail), /no answer in time/);
  await assert.rejects(within(never, { signal: AbortSignal.abort() }, fail), /no answer in time/);
});

test("work that is there already counts, also at the limit", async () => {
  assert.equal(
    await within(Promise.resolve("here"), { signal: AbortSignal.abort() }, () => "late"),
    "here",
  );
});

test("a failure after the limit is no unhandled rejection", async () => {
  const work = Promise.withResolvers<never>();
  await within(work.promise, { ms: 0 }, () => null);
  work.reject(new Error("too late"));
  await pause(1, new AbortController().signal);
});

test("a pause ends with the signal's reason", async () => {
  await pause(1, new AbortController().signal);
  const stopping = new AbortController();
  const paused = pause(60_000, stopping.signal);
  stopping.abort(new Error("the service stops"));
  await assert.rejects(paused, /the service stops/);
  await assert.rejects(pause(60_000, stopping.signal), /the service stops/);
});
