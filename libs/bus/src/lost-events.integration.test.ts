import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { jetstreamManager } from "@nats-io/jetstream";
import { runFailed } from "@switchyard/contracts/agent-runner/run-events";
import { testNatsWithPast } from "@switchyard/testing/test-nats-past";
import { until } from "@switchyard/local-servers/until";
import { connectionOf } from "./connection.ts";
import { placeOf, type EventPlace } from "./event-place.ts";
import { readEvents } from "./events.ts";
import type { ReadEventsOptions, StoredEvent } from "./stored-event.ts";
import { publishEvent } from "./publish.ts";
import { ensureStreams } from "./streams.ts";
import { testBus } from "@switchyard/testing/test-bus";

const nats = await testNatsWithPast();
const bus = await testBus(nats, "runner");
await ensureStreams(bus);

/** Each test has runs of its own. */
let runs = 0;
const newRun = (): string => `r${(runs += 1)}`;

async function publish(runId: string, ...seqs: readonly number[]): Promise<void> {
  for (const seq of seqs) {
    const failure = { code: "internal", message: "boom" } as const;
    const payload = { runId, seq, at: new Date(0).toISOString(), failure, steps: 0 };
    await publishEvent(bus, runFailed, { owner: "cli", runId }, payload);
  }
}

const filterOf = (runId: string): string => `yard.evt.run.cli.${runId}.>`;
const seqOf = ({ payload }: StoredEvent): number => (payload as { seq: number }).seq; // publish() put it there

async function stored(
  from: ReadEventsOptions["from"],
  ...filters: readonly string[]
): Promise<StoredEvent[]> {
  const signal = AbortSignal.timeout(60_000);
  const events: StoredEvent[] = [];
  for await (const event of readEvents(bus, { filters, from, stopAtEnd: true, signal }))
    events.push(event);
  signal.throwIfAborted();
  return events;
}

async function seqsAfter(after: EventPlace, ...filters: readonly string[]): Promise<number[]> {
  return (await stored({ after }, ...filters)).map(seqOf);
}

async function lastPlace(runId: string): Promise<EventPlace> {
  const last = (await stored("beginning", filterOf(runId))).at(-1);
  return last === undefined ? assert.fail(`${runId} has no events`) : placeOf(last);
}

/** A reader that continues in the background. */
async function follow(
  t: TestContext,
  from: ReadEventsOptions["from"],
  ...filters: readonly string[]
): Promise<number[]> {
  const ending = new AbortController();
  t.after(() => ending.abort());
  const { promise: opened, resolve: onOpen, reject } = Promise.withResolvers<void>();
  const seqs: number[] = [];
  const read = async (): Promise<void> => {
    for await (const event of readEvents(bus, { filters, from, signal: ending.signal, onOpen }))
      seqs.push(seqOf(event));
  };
  read().catch(reject);
  await opened;
  return seqs;
}

const reconnected = (): Promise<unknown> => until(() => bus.status === "connected");

test("readers that are there when the stream loses its end read what gets the numbers of the lost events", async (t) => {
  const [run, other] = [newRun(), newRun()];
  await publish(run, 1, 2);
  const filters = [filterOf(run), filterOf(other)];
  const readers = [
    await follow(t, "beginning", filterOf(run)),
    await follow(t, "beginning", ...filters),
    await follow(t, "now", filterOf(run)),
    await follow(t, "now", ...filters),
  ];
  await nats.remember();
  await reconnected();
  await publish(run, 3, 4, 5);
  await until(() => readers.every((seqs) => seqs.at(-1) === 5));
  await nats.goBack();
  await reconnected();
  await publish(run, 6, 7);
  await until(() => readers.every((seqs) => seqs.at(-1) === 7));
  await publish(run, 8, 9);
  await until(() => readers.every((seqs) => seqs.at(-1) === 9));
  const after = [3, 4, 5, 6, 7, 8, 9];
  assert.deepEqual(readers, [[1, 2, ...after], [1, 2, ...after], after, after]);
});

test("a reader that began now and had nothing reads what gets a lost number, and nothing from before", async (t) => {
  const [run, other] = [newRun(), newRun()];
  await publish(run, 1);
  await nats.remember();
  await reconnected();
  await publish(other, 1, 2, 3);
  const readers = [
    await follow(t, "now", filterOf(run)),
    await follow(t, "now", filterOf(run), filterOf("nobody")),
  ];
  await nats.goBack();
  await reconnected();
  await publish(run, 2);
  await until(() => readers.every((seqs) => seqs.length > 0));
  assert.deepEqual(readers, [[2], [2]]);
});

test("a reading behind a lost event has everything that was stored after the loss, however many that is", async () => {
  const run = newRun();
  await publish(run, 1);
  await nats.remember();
  await reconnected();
  await publish(run, 2, 3, 4);
  const place = await lastPlace(run);
  await nats.goBack();
  await reconnected();
  const known = [filterOf(run)];
  const several = [filterOf(run), filterOf("nobody")];
  const expected: number[] = [];
  // First fewer than were lost, then the very number, then more.
  for (const seq of [5, 6, 7, 8, 9]) {
    await publish(run, seq);
    expected.push(seq);
    assert.deepEqual(await seqsAfter(place, ...known), expected);
    assert.deepEqual(await seqsAfter(place, ...several), expected);
  }
});

test("a reading behind a lost event has what is stored later, when nothing is yet", async (t) => {
  const run = newRun();
  await publish(run, 1);
  await nats.remember();
  await reconnected();
  await publish(run, 2, 3);
  const place = await lastPlace(run);
  await nats.goBack();
  await reconnected();
  assert.deepEqual(await seqsAfter(place, filterOf(run)), []);
  const reader = await follow(t, { after: place }, filterOf(run));
  await publish(run, 4);
  await until(() => reader.length > 0);
  assert.deepEqual(reader, [4]);
});

test("a reading behind the last event ends at once, and continues with one request when it is to wait", async (t) => {
  const run = newRun();
  await publish(run, 1, 2);
  const place = await lastPlace(run);
  assert.deepEqual(await seqsAfter(place, filterOf(run)), []);
  const made = new Set<string>();
  const { nc } = connectionOf(await testBus(nats, "watcher"));
  // The server's own requests, for streams that have a source, are of other streams.
  const watch = nc.subscribe("$JS.API.CONSUMER.CREATE.YARD_EVENTS.>", {
    callback: (_error, message) => {
      // The client repeats a request whose name is in use with another name.
      const { config } = message.json<{ config: { description: string } }>();
      made.add(config.description);
    },
  });
  await nc.flush();
  const reader = await follow(t, { after: place }, filterOf(run));
  await publish(run, 3);
  await until(() => reader.length > 0);
  assert.deepEqual(reader, [3]);
  watch.unsubscribe();
  assert.equal(made.size, 1);
});

test("a reading behind an event that has expired resumes behind it, each event once, also of one millisecond", async () => {
  const run = newRun();
  await Promise.all(Array.from({ length: 300 }, (_, index) => publish(run, index + 1)));
  const all = await stored("beginning", filterOf(run));
  const index = all.findIndex(
    ({ time }, at) =>
      at > 0 &&
      time.getTime() === all[at - 1]?.time.getTime() &&
      time.getTime() === all[at + 1]?.time.getTime(),
  );
  const gone = all[index] ?? assert.fail("no three events of one millisecond");
  const { streams } = await jetstreamManager(connectionOf(bus).nc);
  await streams.deleteMessage("YARD_EVENTS", gone.sequence);
  const rest = all.slice(index + 1).map(seqOf);
  const place = placeOf(gone);
  assert.deepEqual(await seqsAfter(place, filterOf(run)), rest);
  assert.deepEqual(await seqsAfter(place, filterOf(run), filterOf("nobody")), rest);
  await streams.purge("YARD_EVENTS", { seq: gone.sequence + 10 });
  assert.deepEqual(await seqsAfter(place, filterOf(run)), rest.slice(9));
  await streams.purge("YARD_EVENTS");
  assert.deepEqual(await seqsAfter(place, filterOf(run)), []);
  await publish(run, 301);
  assert.deepEqual(await seqsAfter(place, filterOf(run)), [301]);
});

test("a reading with other filters than before resumes behind an event that they do not match", async () => {
  const [known, wanted, further] = [newRun(), newRun(), newRun()];
  await publish(wanted, 1);
  await publish(further, 1);
  await publish(known, 1);
  const place = await lastPlace(known);
  assert.deepEqual(await seqsAfter(place, filterOf(wanted)), []);
  await publish(wanted, 2);
  await publish(further, 3);
  await publish(wanted, 4);
  assert.deepEqual(await seqsAfter(place, filterOf(wanted)), [2, 4]);
  // The filter whose first event is behind the place must not hide those of the other filter.
  assert.deepEqual(await seqsAfter(place, filterOf(wanted), filterOf(further)), [2, 3, 4]);
});

test("several filters of which one begins long after the place miss nothing of the others", async () => {
  const [old, late, gone] = [newRun(), newRun(), newRun()];
  await publish(old, 1);
  // A reading that resumes by a time begins a second before it: this event is to be older than that.
  await delay(1_200);
  await publish(gone, 1);
  const place = await lastPlace(gone);
  await publish(old, 2, 3);
  await publish(late, 4);
  await publish(old, 5);
  assert.deepEqual(await seqsAfter(place, filterOf(old), filterOf(late)), [2, 3, 4, 5]);
});

test("behind nothing is the beginning", async () => {
  const run = newRun();
  await publish(run, 1);
  assert.deepEqual(await seqsAfter({ sequence: 0, storedAtMs: 0 }, filterOf(run)), [1]);
});
