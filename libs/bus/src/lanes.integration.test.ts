import assert from "node:assert/strict";
import { after, test } from "node:test";
import { jetstreamManager } from "@nats-io/jetstream";
import { cancelRun, startRun } from "@switchyard/contracts/agent-runner/runs";
import { commandStream, runCommands } from "@switchyard/topology/streams";
import { testNats } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import type { Bus } from "./bus.ts";
import { connectionOf } from "./connection.ts";
import { consume, type Consumption } from "./consume.ts";
import type { Delivery, Outcome } from "./delivery.ts";
import { publishCommand } from "./publish.ts";
import { ensureStreams } from "./streams.ts";
import { testBus } from "@switchyard/testing/test-bus";
import { testUsers } from "@switchyard/testing/test-users";

const FLOOD = 300;

const nats = await testNats();
const noisy = await testBus(nats, "noisy");
const quiet = await testBus(nats, "quiet");
await ensureStreams(noisy);
const manager = await jetstreamManager(connectionOf(noisy).nc);

/** Deliveries in progress, each of which ends when the test releases it. */
class Gate {
  readonly begun: Delivery[] = [];
  #waiting: ((outcome: Outcome) => void)[] = [];
  #isOpen = false;

  readonly handle = (delivery: Delivery): Promise<Outcome> => {
    this.begun.push(delivery);
    if (this.#isOpen) return Promise.resolve({ outcome: "done" });
    return new Promise((resolve) => this.#waiting.push(resolve));
  };

  /** Ends the delivery that has waited longest. */
  async endOne(outcome: Outcome = { outcome: "done" }): Promise<void> {
    const before = this.begun.length;
    this.endOldest(outcome);
    await until(() => this.begun.length > before);
  }

  endOldest(outcome: Outcome = { outcome: "done" }): void {
    this.#waiting.shift()?.(outcome);
  }

  open(): void {
    this.#isOpen = true;
    for (const end of this.#waiting.splice(0)) end({ outcome: "done" });
  }

  of(bus: Bus): Delivery[] {
    const { user } = connectionOf(bus);
    return this.begun.filter(({ caller }) => caller === user);
  }
}

async function worker(handle: Gate["handle"], concurrency: number): Promise<Consumption> {
  const consumption = consume(await testBus(nats, "runner"), {
    consumer: runCommands,
    commands: [startRun, cancelRun],
    concurrency,
    handle,
    onFault: ({ error }) => assert.fail(String(error)),
  });
  after(() => consumption.stop(0));
  return consumption;
}

const start = (bus: Bus, input: string): Promise<unknown> =>
  publishCommand(bus, startRun, { agent: "helper" }, { input });

async function flood(): Promise<void> {
  await Promise.all(Array.from({ length: FLOOD }, (_, i) => start(noisy, String(i))));
}

async function isEmpty(): Promise<boolean> {
  return (await manager.streams.info(commandStream.name)).state.messages === 0;
}

function sequencesOf(deliveries: readonly Delivery[]): number[] {
  return deliveries.map(({ streamSequence }) => streamSequence);
}

test("a caller with hundreds of commands in the queue delays another one by nothing [run-goal-10]", async () => {
  await flood();
  const gate = new Gate();
  const consumption = await worker(gate.handle, 2);
  await until(() => gate.begun.length === 2);
  await start(quiet, "first");
  await until(() => gate.begun.length === 3);
  const [early] = gate.of(quiet);
  assert.ok(early?.kind === "command" && early.isEarly, "who has none gets a slot more at once");
  assert.deepEqual(early.payload, { input: "first" });
  await start(quiet, "second");
  gate.endOldest(); // pays the slot back
  for (let n = 0; n < 2; n += 1) await gate.endOne();
  assert.equal(gate.of(quiet).length, 2, "and then they take turns");

  gate.open();
  await until(isEmpty);
  await consumption.stop();
  const sequences = sequencesOf(gate.begun);
  assert.equal(sequences.length, FLOOD + 2);
  assert.equal(new Set(sequences).size, FLOOD + 2, "what was taken early is not handled again");
  const inputs = gate.of(noisy).map(({ payload }) => Number((payload as { input: string }).input));
  assert.deepEqual(
    inputs,
    inputs.toSorted((a, b) => a - b),
    "a caller's own stay in order",
  );
});

test("what is said about a run waits behind no start, not even of the same caller [run-goal-10]", async () => {
  await flood();
  const gate = new Gate();
  const consumption = await worker(gate.handle, 1);
  await until(() => Promise.resolve(gate.begun.length === 1));
  await publishCommand(noisy, cancelRun, { runId: "run-1" }, {});
  await until(() => gate.begun.length === 2);
  const cancel = gate.begun.at(-1);
  assert.ok(cancel?.kind === "command" && cancel.contract.name === cancelRun.name);
  gate.open();
  await until(isEmpty);
  await consumption.stop();
});

test("an early delivery without an outcome is handled in its turn, by the replica that gets it [run-goal-10]", async () => {
  await flood();
  const gate = new Gate();
  const consumption = await worker(gate.handle, 1);
  await until(() => Promise.resolve(gate.begun.length === 1));
  await start(quiet, "hurt");
  await until(() => gate.begun.length === 2);
  gate.endOldest();
  gate.endOldest({ outcome: "retry", delayMs: 0 });
  gate.open();
  await until(isEmpty);
  await consumption.stop();
  const [early, inTurn, ...others] = gate.of(quiet);
  assert.ok(early?.isEarly && inTurn?.isEarly === false);
  assert.equal(others.length, 0);
  assert.deepEqual(
    [inTurn.streamSequence, inTurn.publishedAt, inTurn.deliveryCount],
    [early.streamSequence, early.publishedAt, 1],
  );
  assert.notEqual(inTurn.holder, early.holder, "both may be in work at once");
});

test("several workers take turns, too, and nothing stays behind [run-goal-10]", async () => {
  await flood();
  const gates = [new Gate(), new Gate()];
  const consumptions = await Promise.all(gates.map(({ handle }) => worker(handle, 2)));
  const begun = (): Delivery[] => gates.flatMap((gate) => gate.begun);
  await until(() => Promise.resolve(begun().length === 4));
  await start(quiet, "x");
  await until(() => gates.some((gate) => gate.of(quiet).length === 1));
  for (const gate of gates) gate.open();
  await until(isEmpty);
  await Promise.all(consumptions.map((consumption) => consumption.stop()));
  assert.equal(new Set(sequencesOf(begun())).size, FLOOD + 1);
});

test("with all slots taken and nothing in the queue, another caller's first command begins at once", async () => {
  const gate = new Gate();
  const consumption = await worker(gate.handle, 2);
  for (const input of ["a", "b"]) await start(noisy, input);
  await until(() => gate.begun.length === 2);
  await start(noisy, "c");
  await start(quiet, "x");
  await until(() => gate.of(quiet).length === 1);
  assert.equal(gate.of(noisy).length, 2);
  gate.open();
  await until(isEmpty);
  await consumption.stop();
  assert.equal(gate.begun.length, 4);
});

test("without the right to read the stream, the queue is worked off in its order, and that is reported once", async () => {
  const users = testUsers();
  const right = "$JS.API.STREAM.MSG.GET.YARD_COMMANDS";
  assert.ok(users.authorization.includes(right));
  const old = await testNats({ authorization: users.authorization.replaceAll(right, "none") });
  const admin = await users.connect(old, "admin");
  await ensureStreams(admin);
  const { streams } = await jetstreamManager(connectionOf(admin).nc, { checkAPI: false });
  const cli = await users.connect(old, "cli");
  const inputs = Array.from({ length: 20 }, (_, i) => String(i));
  for (const input of inputs) await start(cli, input);
  await publishCommand(cli, cancelRun, { runId: "run-1" }, {});
  // They come from the user's own stream, and only what waits behind others is a backlog.
  const isQueued = async (): Promise<boolean> =>
    (await streams.info(commandStream.name)).state.messages > inputs.length;
  await until(isQueued);
  const handled: unknown[] = [];
  const faults: string[] = [];
  const consumption = consume(await users.connect(old, "runner"), {
    consumer: runCommands,
    commands: [startRun, cancelRun],
    concurrency: 1,
    handle: (delivery) => {
      if (delivery.kind === "command")
        handled.push((delivery.payload as { input?: string }).input ?? "cancel");
      return Promise.resolve({ outcome: "done" });
    },
    onFault: ({ error }) => faults.push(String(error)),
  });
  await until(() => Promise.resolve(handled.length > inputs.length));
  await consumption.stop();
  assert.deepEqual(handled, [...inputs, "cancel"]);
  assert.equal(faults.length, 1);
  assert.match(faults[0] ?? "", /runner.*STREAM\.MSG\.GET\.YARD_COMMANDS/);
});
