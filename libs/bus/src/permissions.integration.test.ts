import assert from "node:assert/strict";
import { test } from "node:test";
import { jetstreamManager } from "@nats-io/jetstream";
import { checkPolicy, filterPolicy } from "@switchyard/contracts/policy/policy";
import { runLive, runRejected } from "@switchyard/contracts/agent-runner/run-events";
import { getRun, startRun } from "@switchyard/contracts/agent-runner/runs";
import { allStreams, auditStream, runCommands } from "@switchyard/topology/streams";
import { testNats } from "@switchyard/testing/test-servers";
import { connect as connectOldClient } from "nats";
import { call } from "./call.ts";
import type { Bus } from "./bus.ts";
import { connectBus } from "./connect.ts";
import { connectionOf } from "./connection.ts";
import { consume } from "./consume.ts";
import type { Delivery } from "./delivery.ts";
import { discoverServices } from "./discovery.ts";
import { readEvents, subscribeLive } from "./events.ts";
import type { StoredEvent } from "./stored-event.ts";
import { createUserKey } from "./keys.ts";
import { publishCommand, publishEvent, publishLive } from "./publish.ts";
import { serve } from "./serve.ts";
import { ensureAudit, ensureStreams } from "./streams.ts";
import { verifyStreams } from "./verify-streams.ts";
import { signalled, testBus } from "@switchyard/testing/test-bus";
import { testUsers } from "@switchyard/testing/test-users";

// Everything in this file runs with the permissions that nats-server gets in production.
const users = testUsers();
const nats = await testNats({ authorization: users.authorization });
const [admin, policy, broker, runner, cli, me] = await Promise.all(
  ["admin", "policy", "broker", "runner", "cli", "me"].map((user) => users.connect(nats, user)),
).then((buses) => buses as [Bus, Bus, Bus, Bus, Bus, Bus]); // one bus for each of the six names

const unknownRun = "01JD0000000000000000000000";
const rejection = {
  runId: unknownRun,
  subject: "yard.cmd.cli.run.start.a",
  caller: "cli",
  code: "unknown_agent",
  message: "there is no agent a",
  problems: [],
  streamSequence: 1,
  messageId: null,
  at: new Date(0).toISOString(),
};

function servePolicy(): { callers: string[]; stop: () => Promise<void> } {
  const callers: string[] = [];
  const service = serve(policy, {
    name: "policy",
    version: "1.0.0",
    description: "Policy service",
    onFault: ({ error }) => assert.fail(String(error)),
  });
  service.handle(filterPolicy, (_request, { caller }) => {
    callers.push(caller);
    return { allowed: [], policyDigest: `sha256:${"0".repeat(64)}` };
  });
  return { callers, stop: () => service.drain() };
}

const question = { onBehalfOf: "cli", tools: [] };

test("the admin makes the streams, and everyone else can check what it needs of them", async () => {
  await ensureStreams(admin);
  await verifyStreams(policy, []);
  await verifyStreams(runner, [runCommands]);
  await assert.rejects(ensureStreams(cli), { code: "forbidden" });
});

test("a user that the topology lets call is served under its own name", async () => {
  const { callers, stop } = servePolicy();
  await policy.flush();
  await call(broker, filterPolicy, question);
  assert.deepEqual(callers, ["broker"]);
  await stop();
});

test("a call outside the topology is forbidden at once", async () => {
  await assert.rejects(call(cli, filterPolicy, question, { timeoutMs: 600_000 }), {
    code: "forbidden",
    message: /cli may not publish yard\.rpc\.cli\.policy\.filter/,
  });
});

test("no client can call under another user's name", async () => {
  const { callers, stop } = servePolicy();
  await policy.flush();
  const { nc, replies } = connectionOf(cli);
  const forged = replies.request({
    subject: "yard.rpc.broker.policy.filter",
    body: JSON.stringify(question),
    timeoutMs: 600_000,
  });
  await assert.rejects(forged, { code: "forbidden" });
  nc.publish("yard.cmd.me.run.start.a", '{"input":"x"}');
  await cli.flush();
  await call(broker, filterPolicy, question); // every message that was sent before has arrived
  assert.deepEqual(callers, ["broker"]);
  await stop();
});

test("no client can take another service's calls, in its queue group or beside it", async () => {
  const { callers, stop } = servePolicy();
  await policy.flush();
  const { nc } = connectionOf(cli);
  const subject = "yard.rpc.*.policy.filter";
  const taps = [
    nc.subscribe(subject, { queue: "policy" }),
    nc.subscribe(subject),
    nc.subscribe(">"),
  ];
  const endings = await Promise.all(taps.map((tap) => tap.closed));
  for (const ending of endings) assert.match(String(ending), /Permissions Violation/);
  await call(broker, filterPolicy, question);
  assert.deepEqual(callers, ["broker"]);
  await stop();
});

test("no client can read another user's inbox", async () => {
  const ending = await connectionOf(cli).nc.subscribe("_INBOX_broker.>").closed;
  assert.match(String(ending), /Permissions Violation/);
});

test("a forged reply subject makes a service do and publish nothing", async () => {
  const { callers, stop } = servePolicy();
  await policy.flush();
  const forgedTargets = [
    "yard.cmd.cli.run.start.a",
    "yard.evt.run.cli.r.finished",
    "yard.evt.audit.policy.decision",
    "_INBOX_cli.answer",
    "$JS.API.STREAM.DELETE.YARD_EVENTS",
  ];
  for (const reply of forgedTargets) {
    connectionOf(broker).nc.publish("yard.rpc.broker.policy.filter", JSON.stringify(question), {
      reply,
    });
  }
  await broker.flush();
  await call(broker, filterPolicy, question);
  assert.equal(callers.length, 1, "only the call of one who waits for the answer is served");
  await policy.flush();
  const manager = await jetstreamManager(connectionOf(admin).nc, { checkAPI: false });
  for (const stream of allStreams) {
    const { state } = await manager.streams.info(stream.name);
    assert.equal(state.messages, 0, stream.name);
  }
  await stop();
});

test("a service that may not subscribe to a subject reports it, and nothing else breaks", async () => {
  const { promise: reported, resolve: report } = signalled<unknown>();
  const service = serve(broker, {
    name: "broker",
    version: "1.0.0",
    description: "",
    onFault: ({ error }) => report(error),
  });
  service.handle(checkPolicy, () => assert.fail("ran"));
  assert.match(String(await reported), /broker may not subscribe/);
  await service.drain();
});

test("wrong credentials are refused at once, with the user and the server in the message", async () => {
  const stranger = createUserKey();
  await assert.rejects(
    connectBus({
      servers: nats.url,
      user: "cli",
      nkeySeed: () => stranger.seed,
      connectTimeoutMs: 600_000,
    }),
    {
      code: "forbidden",
      message: /127\.0\.0\.1.*refused user cli/,
    },
  );
});

test("a key that belongs to another user is reported as such, not as a server without JetStream", async () => {
  const borrowed = users.seedOf("broker");
  await assert.rejects(connectBus({ servers: nats.url, user: "cli", nkeySeed: () => borrowed }), {
    code: "forbidden",
    message: /takes this client for another user than cli/,
  });
  await assert.rejects(connectBus({ servers: nats.url, user: "cli" }), { code: "forbidden" });
});

test("a command of any client reaches the runner, of the frozen npm client too, with plain publish and no headers", async () => {
  const deliveries: Delivery[] = [];
  const { promise: all, resolve } = signalled();
  const consumption = consume(runner, {
    consumer: runCommands,
    commands: [startRun],
    concurrency: 8,
    handle: (delivery) => {
      deliveries.push(delivery);
      if (deliveries.length === 3) resolve();
      return Promise.resolve({ outcome: "done" });
    },
    onFault: ({ error }) => assert.fail(String(error)),
  });
  const old = await connectOldClient({ servers: nats.url });
  old.publish(
    "yard.cmd.me.run.start.greeter",
    new TextEncoder().encode('{"input":"from nats 2.29.3"}'),
  );
  await old.flush();
  await old.close();
  await publishCommand(cli, startRun, { agent: "greeter" }, { input: "from the bus" });
  await publishCommand(me, startRun, { agent: "greeter" }, { input: "x".repeat(700_000) });
  await all;
  await consumption.stop();
  const inputs = deliveries.map((delivery) =>
    delivery.kind === "command" ? (delivery.payload as { input: string }).input : delivery.message,
  );
  assert.deepEqual(
    deliveries
      .map((delivery, index) => [delivery.caller, inputs[index]?.slice(0, 20)])
      .toSorted((a, b) => String(a).localeCompare(String(b))),
    [
      ["cli", "from the bus"],
      ["me", "from nats 2.29.3"],
      ["me", "x".repeat(20)],
    ],
  );
});

test("a client without credentials gets live messages of its own runs and of no other user's", async () => {
  const plain = await connectOldClient({ servers: nats.url });
  const { promise: refusal, resolve: refuse } = signalled<string>();
  plain.subscribe("yard.live.>", { callback: (error) => refuse(String(error)) });
  assert.match(await refusal, /Permissions Violation/);
  await plain.close();

  const { promise: received, resolve: receive } = signalled<string>();
  const live = subscribeLive(me, runLive, { owner: "me", runId: unknownRun }, ({ delta }) =>
    receive(delta),
  );
  await me.flush();
  const delta = { runId: unknownRun, step: 1, delta: "mine" };
  publishLive(runner, runLive, { owner: "me", runId: unknownRun }, delta);
  assert.equal(await received, "mine");
  live.stop();
});

test("events and live messages of the runner are read by clients, and no other user may write them", async () => {
  const { promise: received, resolve: receive } = signalled<string>();
  const live = subscribeLive(cli, runLive, { owner: "cli", runId: unknownRun }, ({ delta }) =>
    receive(delta),
  );
  await cli.flush();
  publishLive(
    runner,
    runLive,
    { owner: "cli", runId: unknownRun },
    { runId: unknownRun, step: 1, delta: "Hel" },
  );
  assert.equal(await received, "Hel");
  live.stop();

  await publishEvent(runner, runRejected, { owner: "cli", runId: unknownRun }, rejection, {
    correlationId: unknownRun,
  });
  for (const reader of [cli, me]) {
    const events: StoredEvent[] = [];
    for await (const event of readEvents(reader, {
      filters: [`yard.evt.run.cli.${unknownRun}.>`],
      from: "beginning",
      stopAtEnd: true,
    })) {
      events.push(event);
    }
    assert.deepEqual(
      events.map(({ contract, correlationId }) => [contract?.name, correlationId]),
      [["run.rejected", unknownRun]],
    );
    assert.deepEqual(events[0]?.payload, rejection);
  }
  await assert.rejects(
    publishEvent(cli, runRejected, { owner: "cli", runId: unknownRun }, rejection),
    {
      code: "forbidden",
    },
  );
});

test("a reply that is too large for a message arrives whole", async () => {
  const service = serve(runner, {
    name: "runner",
    version: "1.0.0",
    description: "",
    onFault: ({ error }) => assert.fail(String(error)),
  });
  const message = "m".repeat(900_000);
  service.handle(getRun, ({ runId }, { fail }) => {
    throw fail.unknown_run(message, { runId });
  });
  await runner.flush();
  await assert.rejects(call(cli, getRun, { runId: unknownRun }), { code: "unknown_run", message });
  await service.drain();
});

test("a client discovers the services and what they serve", async () => {
  const { stop } = servePolicy();
  await policy.flush();
  await call(broker, filterPolicy, question);
  const found = await discoverServices(cli);
  assert.deepEqual(
    found.map(({ name, version }) => [name, version]),
    [["policy", "1.0.0"]],
  );
  const [endpoint] = found[0]?.endpoints ?? [];
  assert.deepEqual(
    [endpoint?.name, endpoint?.subject, endpoint?.queue, endpoint?.requests, endpoint?.errors],
    ["policy-filter", "yard.rpc.*.policy.filter", "policy", 1, 0],
  );
  assert.ok((endpoint?.averageMs ?? 0) > 0);
  await stop();
  assert.deepEqual(await discoverServices(cli), []);
});

test("a key made by createUserKey has the shape of an NKey user", async () => {
  const key = createUserKey();
  assert.match(key.publicKey, /^U[A-Z2-7]{55}$/);
  assert.match(key.seed, /^SU[A-Z2-7]{56}$/);
  await assert.rejects(testBus(nats, "cli", { nkeySeed: () => key.seed }), { code: "forbidden" });
});

test("only the operator changes how much of the audit is kept, and may do nothing else", async () => {
  const auditBytes = 2 * auditStream.maxBytes;
  const { left } = await ensureStreams(admin, { auditBytes });
  assert.deepEqual(left, [auditStream.name]);
  await assert.rejects(ensureAudit(admin, { auditBytes }), { code: "forbidden" });
  const operator = await users.connect(nats, "operator");
  await assert.rejects(ensureStreams(operator), { code: "forbidden" });
  assert.deepEqual((await ensureAudit(operator, { auditBytes })).updated, [auditStream.name]);
  assert.deepEqual((await ensureStreams(admin, { auditBytes })).left, []);
  const manager = await jetstreamManager(connectionOf(operator).nc, { checkAPI: false });
  await assert.rejects(manager.streams.purge(auditStream.name), /[Pp]ermissions/);
});
