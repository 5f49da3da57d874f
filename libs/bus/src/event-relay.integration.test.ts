import assert from "node:assert/strict";
import { setMaxListeners } from "node:events";
import { test } from "node:test";
import { jetstreamManager } from "@nats-io/jetstream";
import { isRetryable, ServiceError } from "@switchyard/contracts/errors";
import { runFailed } from "@switchyard/contracts/agent-runner/run-events";
import { eventStream, factStream } from "@switchyard/topology/streams";
import { testDirectory, testNats } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { connectionOf } from "./connection.ts";
import { EventRelay, type EventSource, type RelayedEvent } from "./event-relay.ts";
import { readEvents } from "./events.ts";
import { publishEvent } from "./publish.ts";
import { ensureStreams } from "./streams.ts";
import { signalled, testBus } from "@switchyard/testing/test-bus";

const dataDir = await testDirectory();
let nats = await testNats({ dataDir });
const bus = await testBus(nats, "runner");
await ensureStreams(bus);

interface Numbered extends RelayedEvent {
  readonly seq: number;
}

const troubles: unknown[] = [];
let recoveries = 0;
const relay = newRelay();

function newRelay(over = bus): EventRelay<Numbered> {
  return new EventRelay(over, {
    isOutage: (error) =>
      isRetryable(error) || (error instanceof ServiceError && /timeout|internal/.test(error.code)),
    onTrouble: (error) => troubles.push(error),
    onRecovered: () => (recoveries += 1),
  });
}

function numbered(runId: string, seq: number, message: unknown = "boom"): Numbered {
  return {
    contract: runFailed,
    seq,
    tokens: { owner: "cli", runId },
    payload: { ...payloadOf(runId, seq), failure: { code: "internal", message } },
    options: { messageId: `${runId}:${seq}`, correlationId: runId },
  };
}

const AT = new Date(0).toISOString();

function payloadOf(runId: string, seq: number) {
  return { runId, seq, at: AT, failure: { code: "internal", message: "boom" }, steps: 0 };
}

/** A source that records the outcomes of its events; `done` when `count` are stored or one failed. */
class Noting implements EventSource<Numbered> {
  readonly runId: string;
  readonly signal: AbortSignal;
  readonly stores: number[] = [];
  readonly done = signalled();
  readonly count: number;
  /** The events that the stream already has, as the source reports when the relay checks. */
  known: (seq: number) => boolean | Promise<boolean> = () => false;
  failure: unknown = null;

  constructor(runId: string, count: number, signal = new AbortController().signal) {
    this.runId = runId;
    this.count = count;
    this.signal = signal;
    setMaxListeners(0, signal);
  }

  get hasFailed(): boolean {
    return this.failure !== null;
  }

  isStored({ seq }: Numbered): boolean | Promise<boolean> {
    return this.known(seq);
  }

  stored({ seq }: Numbered): void {
    this.stores.push(seq);
    if (this.stores.length === this.count) this.done.resolve();
  }

  failed(error: unknown): void {
    this.failure = error;
    this.done.resolve();
  }

  push(...seqs: readonly number[]): void {
    relay.push(
      this,
      seqs.map((seq) => numbered(this.runId, seq)),
    );
  }
}

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

/** Numbers of the events of a run, in the order of the stream. */
async function inStream(runId: string): Promise<number[]> {
  const seqs: number[] = [];
  const filters = [`yard.evt.run.cli.${runId}.failed`];
  for await (const { payload } of readEvents(bus, { filters, from: "beginning", stopAtEnd: true }))
    seqs.push((payload as { seq: number }).seq); // numbered() put it there
  return seqs;
}

async function changeStream(change: object, { name } = eventStream): Promise<void> {
  const manager = await jetstreamManager(connectionOf(bus).nc, { checkAPI: false });
  await manager.streams.update(name, change);
}

test("sends nothing that the stream has already, and keeps the order of the others", async () => {
  const source = new Noting("known", 5);
  source.known = (seq) => (seq <= 2 ? Promise.resolve(true) : seq === 3);
  source.push(...upTo(5));
  await source.done.promise;
  assert.deepEqual(source.stores, [1, 2, 3, 4, 5]);
  assert.deepEqual(await inStream("known"), [4, 5]);
});

test("stores the events of many sources, each in its order", async () => {
  const sources = upTo(20).map((number) => new Noting(`many-${number}`, 60));
  for (const seq of upTo(60)) for (const source of sources) source.push(seq);
  await Promise.all(sources.map((source) => source.done.promise));
  for (const source of sources) {
    assert.deepEqual(source.stores, upTo(60));
    assert.deepEqual(await inStream(source.runId), upTo(60));
  }
  assert.deepEqual(troubles, []);
});

test("drops what the stream has already, wherever it stands", async () => {
  const source = new Noting("repeats", 9);
  for (const seq of [1, 2, 5]) {
    const { options } = numbered("repeats", seq);
    await publishEvent(
      bus,
      runFailed,
      { owner: "cli", runId: "repeats" },
      payloadOf("repeats", seq),
      options,
    );
  }
  // The first message of a batch is a repeat: then the server ends the batch.
  const events = upTo(9).map((seq) => numbered("repeats", seq));
  newRelay().push(source, events);
  await source.done.promise;
  assert.deepEqual(source.stores, upTo(9));
  assert.deepEqual(await inStream("repeats"), [1, 2, 5, 3, 4, 6, 7, 8, 9]);
  assert.deepEqual(troubles, []);
});

test("ends the source of an event that cannot be sent, and no other", async () => {
  const bad = new Noting("bad", 3);
  const good = new Noting("good", 3);
  const nowhere = { ...numbered("bad", 2), tokens: { owner: "cli", runId: "not one token" } };
  relay.push(bad, [numbered("bad", 1), nowhere, numbered("bad", 3)]);
  good.push(1, 2, 3);
  await Promise.all([bad.done.promise, good.done.promise]);
  assert.match(String(bad.failure), /not one token/);
  assert.deepEqual(await inStream("bad"), [1]);
  assert.deepEqual(await inStream("good"), [1, 2, 3]);
});

test("stores nothing behind an event that the stream refuses", async () => {
  for (const stream of [factStream, eventStream])
    await changeStream({ max_msg_size: 4_000 }, stream);
  const large = new Noting("large", 4);
  const small = new Noting("small", 4);
  relay.push(small, [numbered("small", 1), numbered("small", 2)]);
  relay.push(large, [
    numbered("large", 1),
    numbered("large", 2, "x".repeat(5_000)),
    numbered("large", 3),
  ]);
  relay.push(small, [numbered("small", 3), numbered("small", 4)]);
  await Promise.all([large.done.promise, small.done.promise]);
  await ensureStreams(bus);
  assert.ok(large.failure instanceof ServiceError);
  assert.equal(large.failure.code, "payload_too_large");
  assert.deepEqual(await inStream("large"), [1]);
  assert.deepEqual(await inStream("small"), [1, 2, 3, 4]);
});

test("an event that is too large for a message keeps its place", async () => {
  const source = new Noting("claims", 3);
  const huge = "x".repeat(600 * 1024);
  relay.push(source, [numbered("claims", 1), numbered("claims", 2, huge), numbered("claims", 3)]);
  await source.done.promise;
  assert.deepEqual(await inStream("claims"), [1, 2, 3]);
});

test("a stream of an older version is reported, and accepts everything once it is updated", async () => {
  troubles.length = 0;
  recoveries = 0;
  await changeStream({ allow_batched: false });
  const source = new Noting("older", 3);
  source.push(1, 2, 3);
  await until(() => troubles.length > 0);
  await ensureStreams(bus);
  await source.done.promise;
  assert.match(String(troubles), /batch publish is disabled.*yard streams ensure/);
  assert.equal(troubles.length, 1);
  assert.equal(recoveries, 1);
  assert.deepEqual(await inStream("older"), [1, 2, 3]);
});

test("continues when the server has lost its record of the batch", async () => {
  const source = new Noting("forgotten", 5);
  source.push(1, 2);
  await until(() => source.stores.length >= 2);
  await changeStream({ allow_batched: false }); // the server forgets every batch
  await ensureStreams(bus);
  source.push(3, 4, 5);
  await source.done.promise;
  assert.deepEqual(await inStream("forgotten"), upTo(5));
});

test("loses nothing and keeps the order when nats-server is killed in the middle; a source that gives up is notified", async () => {
  const leaving = new AbortController();
  const staying = new Noting("staying", 400);
  const left = new Noting("left", 1, leaving.signal);
  staying.push(...upTo(200));
  nats.kill("SIGKILL");
  await nats.exited;
  staying.push(...upTo(400).slice(200));
  left.push(1);
  leaving.abort(new Error("handed over"));
  await left.done.promise;
  assert.match(String(left.failure), /handed over/);
  nats = await testNats({ dataDir, port: Number(new URL(nats.url).port) });
  await staying.done.promise;
  assert.deepEqual(staying.stores, upTo(400));
  assert.deepEqual(await inStream("staying"), upTo(400));
  assert.deepEqual(await inStream("left"), []);
});

for (const [how, before] of [
  ["before it sent anything", []],
  ["after it sent something", [1]],
] as const) {
  const title = `notifies waiting callers when its bus is closed ${how}, and does not try for ever`;
  test(title, { timeout: 120_000 }, async () => {
    const closing = await testBus(nats, "runner");
    const over = newRelay(closing);
    const push = (source: Noting, seqs: readonly number[]): void =>
      over.push(
        source,
        seqs.map((seq) => numbered(source.runId, seq)),
      );
    const sent = new Noting(`sent-${before.length}`, before.length);
    push(sent, before);
    if (before.length > 0) await sent.done.promise;
    await closing.close();
    const left = new Noting(`left-${before.length}`, 2);
    push(left, [1, 2]);
    await left.done.promise;
    assert.equal((left.failure as ServiceError).code, "disconnected");
    assert.deepEqual(await inStream(left.runId), []);
  });
}
