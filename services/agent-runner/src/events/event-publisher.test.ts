import assert from "node:assert/strict";
import { test } from "node:test";
import { EventPublisher, type RelayedRunEvent } from "./event-publisher.ts";

const numbered = (seq: number, waitedMs = 0): RelayedRunEvent =>
  ({ seq, pushedAt: performance.now() - waitedMs }) as RelayedRunEvent;

function publisher(isNew: boolean) {
  const stream = { last: 0, looks: 0 };
  const made = new EventPublisher({
    relay: { push: () => {} },
    runId: "cli~one",
    requester: "cli",
    published: 0,
    isNew,
    lastSeq: async () => {
      stream.looks += 1;
      return stream.last;
    },
    signal: new AbortController().signal,
  });
  return { made, stream };
}

test("events of a new run are sent without a look, and those of a run that goes on after one", async () => {
  const fresh = publisher(true);
  assert.equal(await fresh.made.isStored(numbered(1)), false);
  assert.equal(await fresh.made.isStored(numbered(2)), false);
  assert.equal(fresh.stream.looks, 0);
  const taken = publisher(false);
  taken.stream.last = 1;
  assert.equal(await taken.made.isStored(numbered(1)), true);
  assert.equal(await taken.made.isStored(numbered(2)), false);
  assert.equal(taken.stream.looks, 1);
});

test("what is sent again, since nobody said that it is stored, is looked for first", async () => {
  const { made, stream } = publisher(true);
  for (const seq of [1, 2, 3]) await made.isStored(numbered(seq));
  // The answers were lost, or came too late.
  stream.last = 2;
  assert.deepEqual(
    [
      await made.isStored(numbered(1)),
      await made.isStored(numbered(2)),
      await made.isStored(numbered(3)),
    ],
    [true, true, false],
  );
  assert.equal(stream.looks, 1, "one look tells of all");
});

test("what had to wait is looked for first, since the next runner of the run may have sent it", async () => {
  const { made, stream } = publisher(true);
  // NATS was away; a run that waited was woken and taken over meanwhile.
  stream.last = 3;
  for (const seq of [1, 2, 3]) assert.equal(await made.isStored(numbered(seq, 3_000)), true);
  assert.equal(await made.isStored(numbered(4, 3_000)), false);
  assert.equal(stream.looks, 1, "one look tells of all");
});
