import assert from "node:assert/strict";
import { test } from "node:test";
import { jetstreamManager } from "@nats-io/jetstream";
import { commandsOf } from "@switchyard/topology/command-streams";
import { COMMAND_QUOTA } from "@switchyard/contracts/stream-names";
import { eventConsumersOf } from "@switchyard/topology/event-consumers";
import { resumeRun } from "@switchyard/contracts/agent-runner/run-commands";
import { startRun } from "@switchyard/contracts/agent-runner/runs";
import { commandStream, runCommands } from "@switchyard/topology/streams";
import { testNats } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { connectionOf } from "./connection.ts";
import { consume } from "./consume.ts";
import type { Delivery } from "./delivery.ts";
import { publishCommand } from "./publish.ts";
import { ensureStreams } from "./streams.ts";
import { testUsers } from "@switchyard/testing/test-users";
import type { Bus } from "./bus.ts";

const [BUSY, OTHER] = ["team-busy", "team-other"];
const users = testUsers([BUSY, OTHER]);
const nats = await testNats({ authorization: users.authorization });
const admin = await users.connect(nats, "admin");
const { streams } = await jetstreamManager(connectionOf(admin).nc, { checkAPI: false });
const shared = { ...commandStream };

// The stream as an earlier version made it: one for all users' commands, with messages in it.
await streams.add({
  name: shared.name,
  subjects: [...shared.subjects],
  retention: "workqueue",
  discard: "new",
  duplicate_window: 100_000_000,
});
const busy = await users.connect(nats, BUSY);
const other = await users.connect(nats, OTHER);
const runner = await users.connect(nats, "runner");
const start = (bus: Bus, input: string, messageId?: string) =>
  publishCommand(bus, startRun, { agent: "demo" }, { input }, { messageId });
await start(busy, "from before");
const ensured = await ensureStreams(admin);

/** Handles waiting messages, as a runner does, until `isEnough` and none is left; resolves to the deliveries. */
async function worked(isEnough: (found: readonly Delivery[]) => boolean): Promise<Delivery[]> {
  const found: Delivery[] = [];
  const work = consume(runner, {
    consumer: runCommands,
    commands: [startRun, resumeRun],
    concurrency: 50,
    handle: (delivery) => {
      found.push(delivery);
      return Promise.resolve({ outcome: "done" });
    },
    onFault: ({ error }) => assert.fail(String(error)),
  });
  await until(() => isEnough(found));
  // A message that was taken early is delivered once more in its turn.
  await until(
    () => storedIn(shared.name),
    (left) => left === 0,
  );
  await work.stop();
  return found;
}

async function storedIn(stream: string): Promise<number> {
  return (await streams.info(stream)).state.messages;
}

function inputOf(delivery: Delivery): unknown {
  return delivery.kind === "command" ? (delivery.payload as { input?: unknown }).input : null; // startRun's own
}

test("what waits in the queue of an earlier version is worked off, and what comes later, too", async () => {
  assert.ok(ensured.created.includes(commandsOf(BUSY).name), JSON.stringify(ensured));
  assert.ok(ensured.updated.includes(shared.name));
  assert.deepEqual(await ensureStreams(admin), { created: [], updated: [], left: [] });
  const later = await start(busy, "later");
  assert.equal(later.stream, commandsOf(BUSY).name);
  const found = await worked(({ length }) => length >= 2);
  // Its sender got this sequence: the answer to a command is found by it.
  assert.equal(found[1]?.streamSequence, later.sequence);
  assert.deepEqual(found.map(inputOf), ["from before", "later"]);
  assert.deepEqual(
    found.map(({ caller }) => caller),
    [BUSY, BUSY],
  );
});

test("a user's quota is used up by its own commands alone, the refusal names a remedy, and handled commands free it", async () => {
  const outcomes = new Map<string, number>();
  const count = (key: string): void => void outcomes.set(key, (outcomes.get(key) ?? 0) + 1);
  for (let sent = 0; sent <= COMMAND_QUOTA.messages; sent += 500)
    await Promise.all(
      Array.from({ length: 500 }, () =>
        start(busy, "x").then(
          () => count("stored"),
          ({ code }: { code: string }) => count(code),
        ),
      ),
    );
  assert.deepEqual(Object.fromEntries(outcomes), {
    stored: COMMAND_QUOTA.messages,
    overloaded: 500,
  });
  await assert.rejects(start(busy, "x"), /team-busy .*10000.*runs\.cancel/);
  await start(other, "of somebody else");
  await publishCommand(runner, resumeRun, { runId: `${OTHER}~r1` }, {});

  const found = await worked(({ length }) => length >= COMMAND_QUOTA.messages + 2);
  assert.ok(found.some((delivery) => inputOf(delivery) === "of somebody else"));
  for (const stream of [shared.name, commandsOf(BUSY).name, commandsOf(OTHER).name])
    await until(
      () => storedIn(stream),
      (left) => left === 0,
    );
  await start(busy, "again");
  assert.deepEqual((await worked(({ length }) => length >= 1)).map(inputOf), ["again"]);
});

test("a user uses up the bytes of its quota alone", async () => {
  const input = "x".repeat(400_000);
  const most = Math.floor(COMMAND_QUOTA.bytes / input.length);
  let stored = 0;
  const refused: unknown[] = [];
  for (let sent = 0; sent <= most; sent += 1)
    await start(busy, input).then(
      () => (stored += 1),
      (error: unknown) => refused.push(error),
    );
  assert.ok(stored > 100 && refused.length > 0, `${stored} stored`);
  assert.match(String(refused[0]), /64 MiB/);
  await start(other, "of somebody else");
  await worked(({ length }) => length >= stored + 1);
});

test("a message id is its sender's own, and sent twice it is one command", async () => {
  const sent = await Promise.all([
    start(busy, "one", "order-1"),
    start(other, "two", "order-1"),
    start(busy, "one", "order-1"),
  ]);
  assert.deepEqual(
    sent.map(({ duplicate }) => duplicate),
    [false, false, true],
  );
  const found = await worked(({ length }) => length >= 2);
  assert.deepEqual(new Set(found.map(inputOf)), new Set(["one", "two"]));
});

test("what a reader of events has the server put into the queue is refused by a runner, and does not lie there", async () => {
  const subject = `yard.evt.run.${BUSY}.r1.started`;
  await connectionOf(runner).nc.request(subject, "{}");
  const [name = ""] = eventConsumersOf(BUSY);
  const filter = `yard.evt.run.${BUSY}.>`;
  const { replies, nc } = connectionOf(busy);
  const config = { name, filter_subject: filter, ack_policy: "none", deliver_policy: "all" };
  await replies.request({
    subject: `$JS.API.CONSUMER.CREATE.YARD_EVENTS.${name}.${filter}`,
    body: JSON.stringify({ stream_name: "YARD_EVENTS", config }),
    timeoutMs: 10_000,
  });
  const ask = (reply: string): void =>
    nc.publish(`$JS.API.CONSUMER.MSG.NEXT.YARD_EVENTS.${name}`, "", { reply });
  for (const reply of [`yard.cmd.${OTHER}.run.start.demo`, "yard.cmd.runner.run.spawn.demo"]) {
    await connectionOf(runner).nc.request(subject, "{}");
    ask(reply);
  }
  const found = await worked(({ length }) => length >= 2);
  assert.deepEqual(
    found.map(({ kind }) => kind),
    ["rejected", "rejected"],
  );
  for (const stream of [shared.name, commandsOf(OTHER).name])
    await until(
      () => storedIn(stream),
      (left) => left === 0,
    );
});

test("a command that was stored before the queue took from its stream is worked off, whatever the queue has stored since", async () => {
  const { config } = await streams.info(shared.name);
  const sources = config.sources?.filter(({ name }) => name !== commandsOf(OTHER).name) ?? [];
  await streams.update(shared.name, { sources });
  await start(other, "stored early");
  await publishCommand(runner, resumeRun, { runId: `${OTHER}~r2` }, {});
  await worked(({ length }) => length >= 1);
  assert.ok((await ensureStreams(admin)).updated.includes(shared.name));
  assert.deepEqual((await worked(({ length }) => length >= 1)).map(inputOf), ["stored early"]);
});
