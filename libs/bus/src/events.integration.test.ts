import assert from "node:assert/strict";
import { connect, createServer, type AddressInfo } from "node:net";
import { after, test } from "node:test";
import { AckPolicy, jetstreamManager } from "@nats-io/jetstream";
import { event } from "@switchyard/contracts/define";
import { runFailed, runLive, runRejected } from "@switchyard/contracts/agent-runner/run-events";
import { startRun } from "@switchyard/contracts/agent-runner/runs";
import { sharedPayloads } from "@switchyard/topology/payload-stores";
import { testNats } from "@switchyard/testing/test-servers";
import { z } from "zod";
import { connectionOf } from "./connection.ts";
import { EventReading } from "./event-reading.ts";
import { readEvents, subscribeLive } from "./events.ts";
import type { ReadEventsOptions, StoredEvent } from "./stored-event.ts";
import { publishCommand, publishEvent, publishLive } from "./publish.ts";
import { ensureStreams } from "./streams.ts";
import { signalled, testBus } from "@switchyard/testing/test-bus";

const nats = await testNats();
const bus = await testBus(nats, "runner");
const missing = await read({ from: "beginning" }).catch((error: unknown) => error);
const unstored = await publish("r0", 1).catch((error: unknown) => error);
await ensureStreams(bus);

const AT = new Date(0).toISOString();

function publish(
  runId: string,
  seq: number,
  message = "boom",
  messageId?: string,
): ReturnType<typeof publishEvent> {
  const payload = {
    runId,
    seq,
    at: new Date(0).toISOString(),
    failure: { code: "internal", message },
    steps: 0,
  };
  return publishEvent(bus, runFailed, { owner: "cli", runId }, payload, {
    correlationId: runId,
    messageId,
  });
}

function seqOf(stored: StoredEvent): number {
  return (stored.payload as { seq: number }).seq; // publish() above put it there
}

async function read(options: Partial<ReadEventsOptions>, count = Infinity): Promise<StoredEvent[]> {
  const events: StoredEvent[] = [];
  for await (const stored of readEvents(bus, {
    filters: ["yard.evt.>"],
    from: "beginning",
    stopAtEnd: true,
    ...options,
  })) {
    events.push(stored);
    if (events.length === count) break;
  }
  return events;
}

test("a missing stream is reported on both sides", () => {
  assert.match(String(missing), /YARD_EVENTS/);
  assert.match(String(unstored), /yard\.evt\.run\.cli\.r0\.failed.*yard streams ensure/);
});

test("an empty stream ends a reading that stops at its end", async () => {
  assert.deepEqual(await read({}), []);
});

test("a reading to the end ends although the server reports more pending events than it has", async () => {
  for (const seq of [1, 2]) await publish("counted-twice", seq);
  const reader = await testBus({ url: `nats://127.0.0.1:${await miscountingProxy()}` }, "watcher");
  const signal = AbortSignal.timeout(60_000);
  const seqs: number[] = [];
  const filters = ["yard.evt.run.cli.counted-twice.>"];
  const options = { filters, from: "beginning", stopAtEnd: true, signal } as const;
  for await (const stored of readEvents(reader, options)) seqs.push(seqOf(stored));
  assert.deepEqual([seqs, signal.aborted], [[1, 2], false]);
});

test("a reading to the end fails when the server delivers neither an event nor the end", async () => {
  const denied = '{ publish: { allow: [">"], deny: ["$JS.API.CONSUMER.MSG.NEXT.>"] } }';
  const authorization = `authorization { users: [{ user: a, password: a, permissions: ${denied} }] }\nno_auth_user: a\n`;
  const mute = await testBus(await testNats({ authorization }), "admin");
  await ensureStreams(mute);
  const reading = { filters: ["yard.evt.run.>"], toEnd: true, stalledMs: 200 };
  const stalled = await EventReading.open(connectionOf(mute), reading, { sequence: 1 });
  await assert.rejects(stalled.next(), { code: "timeout", message: /YARD_EVENTS/ });
  await stalled.close();
});

/**
 * A proxy of nats-server whose counts of pending messages are one too high, as they are after some full disks and crashes. Each digit is
 * replaced by another one, so that no length changes.
 */
async function miscountingProxy(): Promise<number> {
  const oneMore = (_: string, before: string, digit: string): string =>
    `${before}${Number(digit) + 1}`;
  const proxy = createServer((incoming) => {
    const outgoing = connect(Number(new URL(nats.url).port), "127.0.0.1");
    incoming.pipe(outgoing);
    outgoing.on("data", (chunk) => {
      const text = chunk
        .toString("latin1")
        .replace(/("num_pending":)([0-8])(?=\D)/g, oneMore)
        .replace(/(\$JS\.ACK\.\S+\.)([0-8])(?= )/g, oneMore);
      incoming.write(text, "latin1");
    });
    for (const [one, other] of [
      [incoming, outgoing],
      [outgoing, incoming],
    ] as const)
      one.on("error", () => other.destroy()).on("close", () => other.destroy());
  }).listen(0, "127.0.0.1");
  after(() => proxy.close());
  await new Promise((resolve) => proxy.once("listening", resolve));
  return (proxy.address() as AddressInfo).port; // it listens on TCP
}

test("stored events are read in order with what belongs to them", async () => {
  for (const seq of [1, 2, 3]) await publish("r1", seq);
  const events = await read({ filters: ["yard.evt.run.cli.r1.>"] });
  assert.deepEqual(events.map(seqOf), [1, 2, 3]);
  const [first] = events;
  assert.equal(first?.contract, runFailed);
  assert.deepEqual([first?.subject, first?.correlationId], ["yard.evt.run.cli.r1.failed", "r1"]);
  assert.ok(Math.abs((first?.time.getTime() ?? 0) - Date.now()) < 60_000);
});

test("a filter that nothing matches ends at once, also when other events are stored", async () => {
  assert.deepEqual(await read({ filters: ["yard.evt.run.cli.nobody.>"] }), []);
});

test("several filters select their union", async () => {
  await publish("r2", 1);
  await publish("r3", 1);
  const events = await read({ filters: ["yard.evt.run.cli.r2.>", "yard.evt.run.cli.r3.>"] });
  assert.deepEqual(
    events.map((stored) => stored.correlationId),
    ["r2", "r3"],
  );
});

test("a reading resumes at a sequence", async () => {
  const all = await read({});
  const from = all[1]?.sequence ?? 0;
  assert.deepEqual(
    (await read({ from: { sequence: from } })).map((stored) => stored.sequence),
    all.slice(1).map((stored) => stored.sequence),
  );
});

test("a reading from now on sees what is published later, and nothing from before", async () => {
  const signal = AbortSignal.timeout(60_000);
  const reading = readEvents(bus, { filters: ["yard.evt.run.cli.r4.>"], from: "now", signal });
  await publish("r4", 1); // a generator begins to read with the first next()
  const found: { first: StoredEvent | null } = { first: null };
  const next = (async () => {
    found.first = (await reading.next()).value ?? null;
  })();
  // The position of "now" lies between two of these: the reading does not show when it has begun.
  for (let seq = 2; found.first === null; seq += 1) await publish("r4", seq);
  await next;
  assert.ok(seqOf(found.first) >= 2);
  await reading.return();
});

test("an abort ends a waiting reading without an error", async () => {
  const controller = new AbortController();
  const reading = readEvents(bus, {
    filters: ["yard.evt.run.cli.r5.>"],
    from: "beginning",
    signal: controller.signal,
  });
  await publish("r5", 1);
  assert.equal((await reading.next()).value?.correlationId, "r5");
  const ended = reading.next();
  controller.abort();
  assert.equal((await ended).done, true);
  assert.deepEqual(await read({ signal: AbortSignal.abort() }), []);
});

test("a reading whose consumer is deleted, or drained by another client, misses nothing", async () => {
  const filters = ["yard.evt.run.cli.r14.>"];
  const reading = readEvents(bus, { filters, from: "beginning" });
  const next = async (): Promise<number> => {
    const { value } = await reading.next();
    return value ? seqOf(value) : 0;
  };
  const { nc } = connectionOf(bus);
  const { consumers } = await jetstreamManager(nc);
  const nameNow = async (): Promise<string> => {
    for await (const { name, config } of consumers.list("YARD_EVENTS"))
      if (config.filter_subject === filters[0]) return name;
    return "";
  };
  await publish("r14", 1);
  assert.equal(await next(), 1);
  await consumers.delete("YARD_EVENTS", await nameNow());
  await publish("r14", 2);
  assert.equal(await next(), 2);
  const name = await nameNow();
  // With two requests, the server serves the earlier one; the messages that it still holds for the reading stay there.
  const asked = JSON.stringify({ batch: 40, expires: 2_000_000_000 });
  nc.publish(`$JS.API.CONSUMER.MSG.NEXT.YARD_EVENTS.${name}`, asked, { reply: "_INBOX.thief" });
  for (let seq = 3; seq <= 80; seq += 1) await publish("r14", seq);
  for (let seq = 3; seq <= 80; seq += 1) assert.equal(await next(), seq);
  await reading.return();
  assert.equal(await nameNow(), "");
});

test("many events are all read once and in order", async () => {
  await Promise.all(Array.from({ length: 500 }, (_, seq) => publish("r6", seq + 1)));
  const events = await read({ filters: ["yard.evt.run.cli.r6.>"] });
  const sequences = events.map((stored) => stored.sequence);
  assert.equal(new Set(sequences).size, 500);
  assert.deepEqual(
    sequences,
    sequences.toSorted((a, b) => a - b),
  );
});

test("a large event arrives whole", async () => {
  const message = "m".repeat(700_000);
  await publish("r7", 1, message);
  const [stored] = await read({ filters: ["yard.evt.run.cli.r7.>"] });
  assert.ok(stored);
  assert.equal((stored.payload as { failure: { message: string } }).failure.message, message);
});

test("an event that no contract declares, or that is not valid JSON, is delivered without a contract", async () => {
  const { nc } = connectionOf(bus);
  await nc.request("yard.evt.session.cli.r8.exploded", "{}", { timeout: 30_000 });
  await nc.request("yard.evt.session.cli.r8.ended", "{oops", { timeout: 30_000 });
  const events = await read({ filters: ["yard.evt.session.cli.r8.>"], stopAtEnd: false }, 2);
  assert.deepEqual(
    events.map(({ contract, payload }) => [contract, payload]),
    [
      [null, {}],
      [null, null],
    ],
  );
});

test("a repeated message id is stored once and answered as a duplicate", async () => {
  const first = await publish("r9", 1, "boom", "r9:1");
  const second = await publish("r9", 1, "boom", "r9:1");
  assert.deepEqual([first.stream, first.duplicate, second.duplicate], ["YARD_EVENTS", false, true]);
  assert.equal(second.sequence, first.sequence);
  assert.equal((await read({ filters: ["yard.evt.run.cli.r9.>"] })).length, 1);
});

test("a payload outside its schema is not published", async () => {
  const wrong: unknown = { runId: "r10", surprise: 1 };
  await assert.rejects(
    publishEvent(
      bus,
      runRejected,
      { owner: "cli", runId: "r10" },
      wrong as z.input<typeof runRejected.payload>,
    ),
    {
      code: "invalid_request",
      message: /run\.rejected: .*caller/,
    },
  );
  await assert.rejects(publishCommand(bus, startRun, { agent: "a" }, { input: "" }), {
    code: "invalid_request",
  });
  assert.deepEqual(await read({ filters: ["yard.evt.run.cli.r10.>"] }), []);
});

test("a subject that a foreign subscriber answers is not taken for stored", async () => {
  const foreign = event({
    subject: "yard.evt.stranger.{id}.seen",
    summary: "",
    payload: z.object({}),
  });
  const { nc } = connectionOf(await testBus(nats, "stranger"));
  const answers = ["thanks", "null", "7", "[]", "{}"];
  nc.subscribe("yard.evt.stranger.>", {
    callback: (_error, message) =>
      void message.respond(answers[Number(message.subject.split(".")[3])]),
  });
  await nc.flush();
  for (const id of answers.keys())
    await assert.rejects(publishEvent(bus, foreign, { id: String(id) }, {}), {
      code: "invalid_reply",
    });
});

test("live messages reach those who listen, and what does not fit is dropped", async () => {
  const { promise: received, resolve: receive } = signalled();
  const deltas: string[] = [];
  const live = subscribeLive(bus, runLive, { owner: "cli", runId: "r11" }, ({ delta }) => {
    deltas.push(delta);
    if (delta === "end") receive();
  });
  const { nc } = connectionOf(bus);
  nc.publish("yard.live.run.cli.r11", "{oops");
  nc.publish("yard.live.run.cli.r11", '{"delta":1}');
  publishLive(bus, runLive, { owner: "cli", runId: "r11" }, { runId: "r11", step: 1, delta: "Hi" });
  publishLive(
    bus,
    runLive,
    { owner: "cli", runId: "r12" },
    { runId: "r12", step: 1, delta: "other run" },
  );
  publishLive(
    bus,
    runLive,
    { owner: "cli", runId: "r11" },
    { runId: "r11", step: 1, delta: "end" },
  );
  await received;
  assert.deepEqual(deltas, ["Hi", "end"]);
  live.stop();
});

test("a stored message that a push consumer delivers to a live subject is not taken for a live message", async () => {
  const { nc } = connectionOf(bus);
  const deltas: string[] = [];
  const live = subscribeLive(bus, runLive, { owner: "cli", runId: "r13" }, ({ delta }) =>
    deltas.push(delta),
  );
  const { promise: delivered, resolve: deliver } = signalled();
  nc.subscribe("yard.live.run.cli.r13", { max: 1, callback: () => deliver() });
  const manager = await jetstreamManager(nc);
  const subject = `$O.${sharedPayloads.bucket}.C.forged.0`;
  nc.publish(subject, JSON.stringify({ runId: "r13", step: 1, delta: "forged" }));
  await manager.consumers.add(`OBJ_${sharedPayloads.bucket}`, {
    name: "forger",
    filter_subject: subject,
    deliver_subject: "yard.live.run.cli.r13",
    ack_policy: AckPolicy.None,
  });
  await delivered;
  assert.deepEqual(deltas, []);
  live.stop();
});

test("a live message on a closed bus is dropped without a word", async () => {
  const own = await testBus(nats, "runner");
  await own.close();
  publishLive(own, runLive, { owner: "cli", runId: "r" }, { runId: "r", step: 1, delta: AT });
});
