import assert from "node:assert/strict";
import { test } from "node:test";
import { runFailed } from "@switchyard/contracts/agent-runner/run-events";
import type { RunEvent } from "../core/run-events.ts";
import { EventPublisher, type RelayedRunEvent } from "./event-publisher.ts";

const numbered = (seq: number, waitedMs = 0): RelayedRunEvent =>
  ({ seq, round: 0, pushedAt: performance.now() - waitedMs }) as RelayedRunEvent;

const eventAt = (seq: number): RunEvent => ({ contract: runFailed, seq, payload: {} });

/** Returns a publisher, the stream that it reads, and the events that it hands to the relay. */
function publisher(isNew: boolean, published = 0) {
  const stream = { last: 0, looks: 0, server: "A", isForgotten: false };
  const pushed: RelayedRunEvent[] = [];
  const made: EventPublisher = new EventPublisher({
    relay: { push: (_, events) => pushed.push(...events) },
    runId: "cli~one",
    requester: "cli",
    published,
    isNew,
    lastSeq: async () => {
      stream.looks += 1;
      return stream.last;
    },
    lostBehind: async (found, acknowledged) => {
      made.push([eventAt(acknowledged + 1)]); // the run continues meanwhile
      if (stream.isForgotten) return [];
      return Array.from({ length: acknowledged - found }, (_, index) => eventAt(found + index + 1));
    },
    server: () => stream.server,
    signal: new AbortController().signal,
  });
  return { made, stream, pushed };
}

test("events of a new run are sent without a look, and those of a resumed run after one", async () => {
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

test("an event whose storage was not acknowledged is looked up before it is sent again", async () => {
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
  assert.equal(stream.looks, 1, "one check reports all");
});

test("an event that had to wait is looked up first, since the next runner of the run may have sent it", async () => {
  const { made, stream } = publisher(true);
  // NATS was away; a run that waited was woken and taken over meanwhile.
  stream.last = 3;
  for (const seq of [1, 2, 3]) assert.equal(await made.isStored(numbered(seq, 3_000)), true);
  assert.equal(await made.isStored(numbered(4, 3_000)), false);
  assert.equal(stream.looks, 1, "one check reports all");
});

test("events that a restarted server has lost are pushed again, before those that follow", async () => {
  const { made, stream, pushed } = publisher(true);
  made.push([1, 2, 3].map(eventAt));
  for (const event of pushed) {
    assert.equal(await made.isStored(event), false);
    made.stored(event);
  }
  assert.equal(made.isDrained, true);
  stream.server = "B";
  stream.last = 1;
  made.push([eventAt(4)]);
  const [late] = pushed.splice(3);
  pushed.length = 0;
  assert.ok(late !== undefined);
  assert.equal(await made.isStored(late), true, "it comes again, behind those that are lost");
  made.stored(late);
  assert.equal(made.published, 1);
  assert.deepEqual(
    pushed.map(({ seq }) => seq),
    [2, 3, 4],
  );
  for (const event of pushed) {
    assert.equal(await made.isStored(event), false);
    made.stored(event);
  }
  assert.equal(made.isDrained, true);
  assert.equal(stream.looks, 1);
});

test("a run that publishes nothing learns of it, too, once for each server", async () => {
  const { made, stream, pushed } = publisher(false, 3);
  stream.last = 1;
  await made.verify();
  assert.deepEqual(
    pushed.map(({ seq }) => seq),
    [2, 3, 4],
  );
  await made.verify();
  assert.equal(stream.looks, 1);
  stream.server = "B";
  stream.last = 4;
  await made.verify();
  assert.equal(stream.looks, 2);
  assert.equal(pushed.length, 3);
});

test("events that the stream has expired are not published again", async () => {
  const { made, stream, pushed } = publisher(false, 3);
  stream.isForgotten = true;
  await made.verify();
  assert.deepEqual(
    pushed.map(({ seq }) => seq),
    [4],
  );
  assert.equal(made.published, 3);
});
