import assert from "node:assert/strict";
import { test } from "node:test";
import { RUN_ENDS } from "./operations.ts";
import { RunReader } from "./run-reader.ts";

function reading(after?: number) {
  const reader = new RunReader<string>(after);
  const take = (name: string, seq?: number, isEnd = RUN_ENDS.has(name)): boolean =>
    reader.take(name, seq === undefined ? {} : { seq }, () => (isEnd ? name : null));
  return { reader, take };
}

test("an event that comes again is not new, and one before it does not change the end", () => {
  const { reader, take } = reading();
  assert.deepEqual(
    [take("started", 1), take("finished", 2), take("finished", 2)],
    [true, true, false],
  );
  assert.equal(take("started", 1), false);
  assert.equal(reader.end, "finished");
});

test("a retry voids the end before it", () => {
  const { reader, take } = reading();
  for (const [index, name] of ["started", "failed", "retried"].entries()) take(name, index + 1);
  assert.equal(reader.end, null);
});

test("a reader that resumes behind the end learns it from the event that it has", () => {
  const { reader, take } = reading(2);
  assert.equal(take("started", 1), false);
  assert.equal(reader.end, null);
  assert.equal(take("finished", 2), false);
  assert.equal(reader.end, "finished");
});

test("a refusal that ends nothing leaves the end as it is", () => {
  const { reader, take } = reading();
  assert.equal(reader.hasBegun, false);
  take("rejected");
  assert.equal(reader.end, "rejected");
  take("started", 1);
  assert.equal(reader.end, null);
  take("cancelled", 2);
  assert.equal(take("rejected", undefined, false), true);
  assert.equal(reader.end, "cancelled");
});
