import assert from "node:assert/strict";
import { test } from "node:test";
import { InFlight } from "./in-flight.ts";

test("settling waits for the last piece of work", async () => {
  const inFlight = new InFlight();
  const work = [0, 1, 2].map(() => ({ abort: () => assert.fail("aborted") }));
  const begun = work.map((piece) => inFlight.begin(piece));
  const settled = inFlight.settle(60_000);
  for (const piece of begun) inFlight.end(piece);
  assert.equal(await settled, true);
});

test("waiting for idle has no deadline and ends with the last piece of work", async () => {
  const inFlight = new InFlight();
  await inFlight.idle();
  const work = { abort: () => assert.fail("aborted") };
  const begun = inFlight.begin(work);
  const idle = inFlight.idle();
  inFlight.end(begun);
  await idle;
});

test("nothing to wait for is settled at once", async () => {
  assert.equal(await new InFlight().settle(0), true);
});

test("work that outlives the deadline is aborted and may still come to its end", async () => {
  const inFlight = new InFlight();
  const begun = inFlight.begin({ abort: () => inFlight.end(begun) });
  assert.equal(await inFlight.settle(1), true);
});

test("work that ignores the abort is reported", async () => {
  const inFlight = new InFlight();
  let aborted = false;
  inFlight.begin({ abort: () => (aborted = true) });
  assert.equal(await inFlight.settle(1), false);
  assert.ok(aborted);
});
