import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceError } from "@switchyard/contracts/errors";
import { StoreWatch } from "./store-watch.ts";

const EVENT = "yard.evt.run.cli.r1.started";
const OTHER_EVENT = "yard.evt.run.cli.r2.finished";
const COMMAND = "yard.cmd.me.run.start.demo";

function watchAt() {
  const clock = { now: 0 };
  const received: string[] = [];
  const watch = new StoreWatch(
    () => clock.now,
    (stream, isStored) => received.push(`${stream} ${isStored}`),
  );
  return { clock, heard: received, watch };
}

function isRefused(watch: StoreWatch, subject: string): boolean {
  try {
    watch.begin(subject);
    return false;
  } catch (error) {
    assert.ok(error instanceof ServiceError && error.code === "overloaded" && error.retryable);
    assert.match(error.message, /YARD_EVENTS; its disk may be full/);
    return true;
  }
}

test("refuses nothing while streams answer", () => {
  const { watch } = watchAt();
  watch.begin(EVENT);
  watch.begin(EVENT);
  watch.answered(EVENT);
  assert.deepEqual(watch.silent(), []);
});

test("lets one attempt at a silent stream through at a time, a second apart, and refuses the others at once", () => {
  const { clock, watch } = watchAt();
  watch.unanswered(EVENT);
  assert.deepEqual(watch.silent(), ["YARD_EVENTS"]);
  assert.equal(isRefused(watch, EVENT), false, "the first attempt looks whether it is so");
  assert.equal(isRefused(watch, OTHER_EVENT), true, "it is the same stream");
  watch.begin(COMMAND); // another stream
  watch.unanswered(EVENT);
  clock.now = 999;
  assert.equal(isRefused(watch, EVENT), true);
  clock.now = 1_000;
  assert.equal(isRefused(watch, EVENT), false);
});

test("an attempt without a reported end delays the next one for ten seconds, not for ever", () => {
  const { clock, watch } = watchAt();
  watch.unanswered(EVENT);
  watch.begin(EVENT); // it was refused by permissions, say, which shows nothing about the stream
  clock.now = 9_999;
  assert.equal(isRefused(watch, EVENT), true);
  clock.now = 10_000;
  assert.equal(isRefused(watch, EVENT), false);
});

test("takes everything again as soon as the stream answers, or the connection is another one", () => {
  const { watch, heard: received } = watchAt();
  watch.unanswered(EVENT);
  watch.begin(EVENT);
  watch.answered(EVENT);
  watch.begin(EVENT);
  assert.deepEqual(received, ["YARD_EVENTS false", "YARD_EVENTS true"]);
  watch.unanswered(EVENT);
  watch.begin(EVENT);
  watch.forgetAll();
  watch.begin(EVENT);
  assert.deepEqual(watch.silent(), []);
});

test("has no state of a stream without attempts for a minute", () => {
  const { clock, watch } = watchAt();
  watch.unanswered(EVENT);
  clock.now = 60_000;
  assert.deepEqual(watch.silent(), ["YARD_EVENTS"]);
  clock.now = 60_001;
  assert.deepEqual(watch.silent(), []);
});

test("takes a refusal for an answer and a timeout for none", async () => {
  const { watch } = watchAt();
  const fail = (code: string) =>
    watch.watch(EVENT, () => Promise.reject(new ServiceError(code, "no")));
  await assert.rejects(fail("forbidden"), { code: "forbidden" });
  assert.deepEqual(watch.silent(), []);
  await assert.rejects(fail("timeout"), { code: "timeout" });
  assert.deepEqual(watch.silent(), ["YARD_EVENTS"]);
  assert.equal(await watch.watch(EVENT, () => Promise.resolve("stored")), "stored");
  assert.deepEqual(watch.silent(), []);
});

test("a stream that is not there, as when JetStream is off, stores nothing, and is tried each time, since the answer comes at once", async () => {
  const { watch, heard: received } = watchAt();
  const absent = () =>
    watch.watch(EVENT, () => Promise.reject(new ServiceError("no_responders", "no")));
  for (const _ of [1, 2, 3]) await assert.rejects(absent(), { code: "no_responders" });
  assert.deepEqual(watch.silent(), ["YARD_EVENTS"]);
  await watch.watch(EVENT, () => Promise.resolve("stored"));
  assert.deepEqual(received, ["YARD_EVENTS false", "YARD_EVENTS true"]);
});
