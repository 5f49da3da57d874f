import assert from "node:assert/strict";
import { after, test } from "node:test";
import { AckPolicy, jetstreamManager } from "@nats-io/jetstream";
import { nanos } from "@nats-io/transport-node";
import { startRun } from "@switchyard/contracts/agent-runner/runs";
import { commandStream, runCommands, type ConsumerDefinition } from "@switchyard/topology/streams";
import { testNats } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { connectionOf } from "./connection.ts";
import { consume, type Consumption } from "./consume.ts";
import type { ConsumeOptions, Delivery } from "./delivery.ts";
import { publishCommand } from "./publish.ts";
import { ensureStreams } from "./streams.ts";
import { signalled, testBus } from "@switchyard/testing/test-bus";

const nats = await testNats();
const publisher = await testBus(nats, "cli");
await ensureStreams(publisher);
const manager = await jetstreamManager(connectionOf(publisher).nc);
// Filters of a work queue must not overlap, and each test here has a queue of its own.
await manager.consumers.delete(runCommands.stream, runCommands.name);

async function queue(name: string, ackWaitMs = 10_000): Promise<ConsumerDefinition> {
  const filterSubject = `yard.cmd.*.run.*.${name}`;
  const config = {
    durable_name: name,
    filter_subject: filterSubject,
    ack_policy: AckPolicy.Explicit,
    ack_wait: nanos(ackWaitMs),
  };
  await manager.consumers.add(commandStream.name, config);
  return { stream: commandStream.name, name, description: "", filterSubject, ackWaitMs };
}

async function worker(
  consumer: ConsumerDefinition,
  options: Partial<ConsumeOptions>,
): Promise<Consumption> {
  const bus = await testBus(nats, "runner");
  const consumption = consume(bus, {
    consumer,
    commands: [startRun],
    concurrency: 1,
    handle: () => Promise.resolve({ outcome: "done" }),
    onFault: ({ error }) => assert.fail(String(error)),
    ...options,
  });
  after(() => consumption.stop(0));
  return consumption;
}

const start = (agent: string, input: string): Promise<unknown> =>
  publishCommand(publisher, startRun, { agent }, { input });

/** Collects deliveries until there are `count`. */
function collector(count: number): {
  deliveries: Delivery[];
  all: Promise<void>;
  take: (delivery: Delivery) => void;
} {
  const { promise: all, resolve } = signalled();
  const deliveries: Delivery[] = [];
  const take = (delivery: Delivery): void => {
    deliveries.push(delivery);
    if (deliveries.length === count) resolve();
  };
  return { deliveries, all, take };
}

function inputOf(delivery: Delivery): unknown {
  assert.equal(delivery.kind, "command");
  return (delivery.payload as { input: unknown }).input; // startRun's schema parsed it
}

async function stored(subject: string): Promise<number> {
  const { state } = await manager.streams.info(commandStream.name, { subjects_filter: subject });
  return state.subjects?.[subject] ?? 0;
}

test("a command arrives with its payload, its caller and the queue's facts about it", async () => {
  const consumer = await queue("facts");
  const { deliveries, all, take } = collector(1);
  const before = Date.now();
  const options = { messageId: "m-1", correlationId: "c-1" };
  const published = await publishCommand(
    publisher,
    startRun,
    { agent: "facts" },
    { input: "hello" },
    options,
  );
  await worker(consumer, {
    handle: (delivery) => {
      take(delivery);
      return Promise.resolve({ outcome: "done" });
    },
  });
  await all;
  const [delivery] = deliveries;
  assert.ok(delivery?.kind === "command");
  assert.equal(delivery.contract, startRun);
  assert.deepEqual(delivery.tokens, { caller: "cli", agent: "facts" });
  assert.deepEqual(delivery.payload, { input: "hello" });
  assert.deepEqual(
    [
      delivery.caller,
      delivery.subject,
      delivery.streamSequence,
      delivery.deliveryCount,
      delivery.messageId,
      delivery.correlationId,
    ],
    ["cli", "yard.cmd.cli.run.start.facts", published.sequence, 1, "m-1", "c-1"],
  );
  assert.ok(
    delivery.publishedAt.getTime() >= before - 1_000 &&
      delivery.publishedAt.getTime() <= Date.now() + 1_000,
  );
});

test("done removes the message from the queue", async () => {
  const consumer = await queue("done");
  await start("done", "x");
  const { all, take } = collector(1);
  const consumption = await worker(consumer, {
    handle: (delivery) => {
      take(delivery);
      return Promise.resolve({ outcome: "done" });
    },
  });
  await all;
  await consumption.stop();
  assert.equal(await stored("yard.cmd.cli.run.start.done"), 0);
});

test("drop removes the message without another delivery", async () => {
  const consumer = await queue("drop");
  await start("drop", "x");
  const { all, take } = collector(1);
  const consumption = await worker(consumer, {
    handle: (delivery) => {
      take(delivery);
      return Promise.resolve({ outcome: "drop", reason: "poison\r\nwith a line break" });
    },
  });
  await all;
  await consumption.stop();
  assert.equal(await stored("yard.cmd.cli.run.start.drop"), 0);
});

test("retry brings the message again after its delay", async () => {
  const consumer = await queue("retry");
  await start("retry", "x");
  const { deliveries, all, take } = collector(2);
  const at: number[] = [];
  await worker(consumer, {
    handle: (delivery) => {
      at.push(performance.now());
      take(delivery);
      return Promise.resolve(
        deliveries.length === 1 ? { outcome: "retry", delayMs: 150 } : { outcome: "done" },
      );
    },
  });
  await all;
  assert.deepEqual(
    deliveries.map((delivery) => delivery.deliveryCount),
    [1, 2],
  );
  assert.ok((at[1] ?? 0) - (at[0] ?? 0) >= 140);
});

test("a handler that throws is reported as a fault, and the message is delivered again after a pause", async () => {
  const consumer = await queue("throws");
  await start("throws", "x");
  const faults: unknown[] = [];
  const { deliveries, all, take } = collector(2);
  await worker(consumer, {
    onFault: ({ error }) => faults.push(error),
    handle: (delivery) => {
      take(delivery);
      if (deliveries.length === 1) throw new Error("bug");
      return Promise.resolve({ outcome: "done" });
    },
  });
  await all;
  assert.equal(String(faults[0]), "Error: bug");
  assert.equal(deliveries[1]?.deliveryCount, 2);
});

test("no more messages are taken than there are free slots, so another replica gets the rest", async () => {
  const consumer = await queue("shared");
  const { promise: released, resolve: release } = signalled();
  const { all, take } = collector(4);
  const held = { a: 0, b: 0 };
  const holding = (name: "a" | "b"): Partial<ConsumeOptions> => ({
    concurrency: 2,
    handle: async (delivery) => {
      held[name] += 1;
      take(delivery);
      await released;
      return { outcome: "done" };
    },
  });
  const a = await worker(consumer, holding("a"));
  const b = await worker(consumer, holding("b"));
  for (let index = 0; index < 6; index += 1) await start("shared", String(index));
  await all;
  assert.deepEqual(held, { a: 2, b: 2 });
  assert.deepEqual([a.inFlight, b.inFlight], [2, 2]);
  await until(async () => {
    const info = await manager.consumers.info(consumer.stream, consumer.name);
    return info.num_ack_pending === 4 && info.num_pending === 2; // the server counts a publish a little later
  });
  release();
  await Promise.all([a.stop(), b.stop()]);
});

test("many messages are each worked off once", async () => {
  const consumer = await queue("many");
  const count = 300;
  const { deliveries, all, take } = collector(count);
  const options: Partial<ConsumeOptions> = {
    concurrency: 7,
    handle: (delivery) => {
      take(delivery);
      return Promise.resolve({ outcome: "done" });
    },
  };
  const workers = [await worker(consumer, options), await worker(consumer, options)];
  await Promise.all(Array.from({ length: count }, (_, index) => start("many", String(index))));
  await all;
  await Promise.all(workers.map((each) => each.stop()));
  assert.equal(new Set(deliveries.map(inputOf)).size, count);
  assert.equal(deliveries.length, count);
  assert.equal(await stored("yard.cmd.cli.run.start.many"), 0);
});

test("a long job keeps its message by renewing it", async () => {
  const consumer = await queue("long", 300);
  await start("long", "x");
  const { promise: released, resolve: release } = signalled();
  const { promise: renewedOften, resolve: renewOften } = signalled();
  let deliveries = 0;
  let renewals = 0;
  const consumption = await worker(consumer, {
    concurrency: 2,
    handle: async () => {
      deliveries += 1;
      await released;
      return { outcome: "done" };
    },
    renew: () => {
      renewals += 1;
      if (renewals === 9) renewOften(); // three times the ack wait
      return Promise.resolve(true);
    },
  });
  await renewedOften;
  release();
  await consumption.stop();
  assert.equal(deliveries, 1);
});

test("the message of a worker that falls silent goes to another one", async () => {
  const consumer = await queue("silent", 300);
  await start("silent", "x");
  const silent = await testBus(nats, "runner");
  const { promise: taken, resolve: take } = signalled();
  consume(silent, {
    consumer,
    commands: [startRun],
    concurrency: 1,
    handle: async () => {
      take();
      await silent.close();
      return new Promise<never>(() => {});
    },
    onFault: () => {},
  });
  await taken;
  const { deliveries, all, take: takeOver } = collector(1);
  await worker(consumer, {
    handle: (delivery) => {
      takeOver(delivery);
      return Promise.resolve({ outcome: "done" });
    },
  });
  await all;
  assert.equal(deliveries[0]?.deliveryCount, 2);
});

test("a refused renewal aborts the work and leaves the message to its new holder", async () => {
  const consumer = await queue("refused", 300);
  await start("refused", "x");
  const { all, take } = collector(2);
  const outcomes: string[] = [];
  await worker(consumer, {
    renew: (delivery) => Promise.resolve(delivery.deliveryCount > 1),
    handle: async (delivery) => {
      if (delivery.deliveryCount === 1) {
        await new Promise((resolve) => delivery.signal.addEventListener("abort", resolve));
        outcomes.push("aborted");
      }
      take(delivery);
      return { outcome: "done" }; // of the first delivery it must not count
    },
  });
  await all;
  assert.deepEqual(outcomes, ["aborted"]);
});

test("a renewal that throws or hangs aborts the work too", async () => {
  const renewals: [string, () => Promise<boolean>][] = [
    ["failing", () => Promise.reject(new Error("redis is away"))],
    ["hanging", () => new Promise<never>(() => {})],
  ];
  for (const [name, renew] of renewals) {
    const consumer = await queue(name, 300);
    await start(name, "x");
    const { promise: aborted, resolve: abort } = signalled();
    const consumption = await worker(consumer, {
      renew,
      onFault: () => {},
      handle: async (delivery) => {
        await new Promise((resolve) => delivery.signal.addEventListener("abort", resolve));
        abort();
        return { outcome: "done" };
      },
    });
    await aborted;
    await consumption.stop();
    assert.equal(await stored(`yard.cmd.cli.run.start.${name}`), 1);
  }
});

test("renewals that fail for less than the ack wait take no work away", async () => {
  const consumer = await queue("flaky", 900);
  await start("flaky", "x");
  let asked = 0;
  const faults: unknown[] = [];
  const { promise: renewed, resolve: renew } = signalled();
  const { all, take, deliveries } = collector(1);
  await worker(consumer, {
    onFault: (fault) => faults.push(fault),
    // Each third one succeeds, so that every ack wait has one.
    renew: () => {
      asked += 1;
      if (asked === 9) renew();
      return asked % 3 === 0 ? Promise.resolve(true) : Promise.reject(new Error("redis is away"));
    },
    handle: async (delivery) => {
      await renewed;
      take(delivery);
      return { outcome: "done" };
    },
  });
  await all;
  assert.equal(deliveries[0]?.signal.aborted, false);
  assert.equal(deliveries[0]?.deliveryCount, 1);
  assert.equal(faults.length, 3, "a row of failures is logged once");
});

test("work that is left keeps no slot, and its message comes again after the ack wait", async () => {
  const consumer = await queue("left", 600);
  await start("left", "x");
  const { all, take, deliveries } = collector(2);
  await worker(consumer, {
    handle: (delivery) => {
      take(delivery);
      return Promise.resolve({ outcome: delivery.deliveryCount === 1 ? "left" : "done" });
    },
  });
  await all;
  assert.equal(deliveries[1]?.deliveryCount, 2);
});

test("what is not a command is delivered as rejected, with the reason and every problem", async () => {
  const consumer = await queue("rejects");
  const { nc } = connectionOf(publisher);
  const { deliveries, all, take } = collector(5);
  nc.publish("yard.cmd.cli.run.start.rejects", "{oops");
  nc.publish("yard.cmd.cli.run.start.rejects", "");
  nc.publish(
    "yard.cmd.cli.run.start.rejects",
    '{"input":1,"inputt":"typo","limits":{"maxSteps":0}}',
  );
  nc.publish("yard.cmd.cli.run.explode.rejects", "{}");
  nc.publish("yard.cmd.n\u00fcrnberg.run.start.rejects", '{"input":"x"}');
  await worker(consumer, {
    handle: (delivery) => {
      take(delivery);
      return Promise.resolve({ outcome: "drop", reason: "rejected" });
    },
  });
  await all;
  const seen = deliveries.map((delivery) =>
    delivery.kind === "rejected" ? delivery : assert.fail("accepted"),
  );
  assert.deepEqual(
    seen.map((delivery) => delivery.code),
    ["malformed_json", "malformed_json", "invalid_command", "unknown_command", "invalid_command"],
  );
  const problems = seen[2]?.problems.join("\n") ?? "";
  for (const expected of [/^input: /m, /inputt/, /^limits\.maxSteps: /m])
    assert.match(problems, expected);
  assert.match(seen[3]?.message ?? "", /yard\.cmd\.cli\.run\.explode\.rejects/);
  assert.match(seen[4]?.problems[0] ?? "", /\{caller\}/);
});

test("stopping waits for the work, takes nothing new and leaves the rest for others", async () => {
  const consumer = await queue("stops");
  for (const input of ["first", "second", "third"]) await start("stops", input);
  const { promise: begun, resolve: begin } = signalled();
  const { promise: released, resolve: release } = signalled();
  const seen: unknown[] = [];
  const consumption = await worker(consumer, {
    handle: async (delivery) => {
      seen.push(inputOf(delivery));
      begin();
      await released;
      return { outcome: "done" };
    },
  });
  await begun;
  const stopped = consumption.stop();
  release();
  await stopped;
  assert.deepEqual(seen, ["first"]);
  const info = await manager.consumers.info(consumer.stream, consumer.name);
  assert.deepEqual([info.num_ack_pending, info.num_pending], [0, 2]);
  const { deliveries, all, take } = collector(2);
  await worker(consumer, {
    handle: (delivery) => {
      take(delivery);
      return Promise.resolve({ outcome: "done" });
    },
  });
  await all;
  assert.deepEqual(deliveries.map(inputOf), ["second", "third"]);
});

test("work that outlives the deadline of a stop is aborted and released at once", async () => {
  const consumer = await queue("aborts", 60_000);
  await start("aborts", "x");
  const { promise: begun, resolve: begin } = signalled();
  const consumption = await worker(consumer, {
    handle: async ({ signal }) => {
      const { promise, reject } = Promise.withResolvers<never>();
      signal.addEventListener("abort", () =>
        reject(new Error("stopped", { cause: signal.reason })),
      );
      begin();
      return promise;
    },
  });
  await begun;
  await consumption.stop(10);
  const { deliveries, all, take } = collector(1);
  await worker(consumer, {
    handle: (delivery) => {
      take(delivery);
      return Promise.resolve({ outcome: "done" });
    },
  });
  await all;
  assert.equal(deliveries[0]?.deliveryCount, 2);
});

test("a missing consumer is reported once, and the work begins when it is there", async () => {
  const { promise: reported, resolve: report } = signalled<unknown>();
  const { all, take } = collector(1);
  const consumer: ConsumerDefinition = {
    ...runCommands,
    name: "comes-late",
    filterSubject: "yard.cmd.*.run.*.comes-late",
  };
  let complaints = 0;
  await worker(consumer, {
    onFault: ({ error }) => {
      complaints += 1;
      report(error);
    },
    handle: (delivery) => {
      take(delivery);
      return Promise.resolve({ outcome: "done" });
    },
  });
  assert.match(String(await reported), /comes-late.*yard streams ensure/);
  await start("comes-late", "x");
  await queue("comes-late");
  await all;
  assert.equal(complaints, 1);
});

test("a concurrency that cannot work is refused", async () => {
  const consumer = await queue("zero");
  for (const concurrency of [0, -1, 1.5, Number.NaN])
    await assert.rejects(worker(consumer, { concurrency }), RangeError);
});
