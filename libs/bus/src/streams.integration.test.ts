import assert from "node:assert/strict";
import { test } from "node:test";
import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { nanos } from "@nats-io/transport-node";
import { startRun } from "@switchyard/contracts/agent-runner/runs";
import {
  allConsumers,
  allStreams,
  auditStream,
  commandStream,
  runCommands,
} from "@switchyard/topology/streams";
import { until } from "@switchyard/local-servers/until";
import { testNatsCluster } from "@switchyard/testing/test-cluster";
import { testDirectory, testNats } from "@switchyard/testing/test-servers";
import { connectionOf } from "./connection.ts";
import { publishCommand } from "./publish.ts";
import { bucketStream, runArchive } from "@switchyard/topology/payload-stores";
import { ensureAudit, ensureStreams } from "./streams.ts";
import { verifyStreams } from "./verify-streams.ts";
import { testBus } from "@switchyard/testing/test-bus";

const nats = await testNats();
const bus = await testBus(nats, "admin");

test("what is missing is named together with the command that makes it", async () => {
  await assert.rejects(verifyStreams(bus, [runCommands]), {
    message: /OBJ_YARD_PAYLOADS.*YARD_COMMANDS\/agent-runner.*yard streams ensure/,
  });
});

test("everything is created once, and a second time changes nothing", async () => {
  const made = await ensureStreams(bus);
  const expected = [
    ...allStreams.map((stream) => stream.name).filter((name) => name !== commandStream.name),
    ...["", "_SERVICES"].map((end) => `OBJ_YARD_PAYLOADS${end}`),
    "OBJ_YARD_FILES",
    "OBJ_YARD_ARCHIVE",
    ...["_cli", "_auditor", "_me"].map((end) => `OBJ_YARD_PAYLOADS${end}`),
    commandStream.name,
    ...allConsumers.map((consumer) => `${consumer.stream}/${consumer.name}`),
  ];
  assert.deepEqual(made, { created: expected, updated: [], left: [] });
  assert.deepEqual(await ensureStreams(bus), { created: [], updated: [], left: [] });
  await verifyStreams(bus, allConsumers);
});

test("the streams keep their messages on disk, and the work queue forgets what is done", async () => {
  const manager = await jetstreamManager(connectionOf(bus).nc);
  const { config } = await manager.streams.info(commandStream.name);
  assert.deepEqual(
    [config.storage, config.retention, config.discard],
    ["file", "workqueue", "new"],
  );
  const consumer = await manager.consumers.info(runCommands.stream, runCommands.name);
  assert.deepEqual([consumer.config.ack_policy, consumer.config.max_deliver], ["explicit", -1]);
});

test("room that an operator granted to the archive of runs is kept", async () => {
  const manager = await jetstreamManager(connectionOf(bus).nc);
  const name = bucketStream(runArchive);
  await manager.streams.update(name, { max_bytes: 2 * runArchive.maxBytes });
  assert.deepEqual(await ensureStreams(bus), { created: [], updated: [], left: [] });
  assert.equal((await manager.streams.info(name)).config.max_bytes, 2 * runArchive.maxBytes);
});

test("only what differs in a field of ours is updated", async () => {
  const manager = await jetstreamManager(connectionOf(bus).nc);
  await manager.streams.update(commandStream.name, {
    max_age: nanos(60_000),
    duplicate_window: nanos(60_000),
  });
  await manager.consumers.update(runCommands.stream, runCommands.name, { ack_wait: nanos(1_000) });
  assert.deepEqual(await ensureStreams(bus), {
    created: [],
    updated: [commandStream.name, `${runCommands.stream}/${runCommands.name}`],
    left: [],
  });
  const { config } = await manager.streams.info(commandStream.name);
  assert.equal(config.max_age, nanos(commandStream.maxAgeMs));
});

test("however many messages wait for a later attempt, the next one is delivered", async () => {
  const { stream, name } = runCommands;
  const manager = await jetstreamManager(connectionOf(bus).nc);
  // An older version, or an administrator, may have left it in this state.
  await manager.consumers.update(stream, name, { max_ack_pending: 2 });
  const queue = await jetstream(connectionOf(bus).nc).consumers.get(stream, name);
  const publish = (agent: string): Promise<unknown> =>
    publishCommand(bus, startRun, { agent }, { input: agent });
  for (const agent of ["first", "second"]) {
    await publish(agent);
    (await queue.next())?.nak(600_000);
  }
  await publish("third");
  await until(async () => (await manager.consumers.info(stream, name)).num_ack_pending === 2);
  assert.equal(await queue.next({ expires: 1_000 }), null);
  await ensureStreams(bus);
  assert.match((await queue.next({ expires: 10_000 }))?.subject ?? "nothing", /third/);
  assert.equal((await manager.consumers.info(stream, name)).config.max_ack_pending, -1);
  await manager.streams.purge(stream);
});

test("the audit is never made smaller, and nothing can be deleted from it", async () => {
  const manager = await jetstreamManager(connectionOf(bus).nc);
  const max_bytes = 2 * auditStream.maxBytes;
  await manager.streams.update(auditStream.name, { max_bytes });
  assert.deepEqual(await ensureStreams(bus), { created: [], updated: [], left: [] });
  const { config } = await manager.streams.info(auditStream.name);
  assert.deepEqual([config.max_bytes, config.discard], [max_bytes, "new"]);
  const auditBytes = 3 * auditStream.maxBytes;
  const left = { created: [], updated: [], left: [auditStream.name] };
  assert.deepEqual(await ensureStreams(bus, { auditBytes }), left);
  const grown = { created: [], updated: [auditStream.name], left: [] };
  assert.deepEqual(await ensureAudit(bus, { auditBytes }), grown);
  assert.deepEqual(await ensureStreams(bus, { auditBytes: 1 }), {
    created: [],
    updated: [],
    left: [],
  });
  assert.equal((await manager.streams.info(auditStream.name)).config.max_bytes, auditBytes);
  await assert.rejects(manager.streams.purge(auditStream.name), /purge/);
  await assert.rejects(manager.streams.deleteMessage(auditStream.name, 1), /delete/);
});

test("more replicas than servers is refused with the name of the stream", async () => {
  const alone = await testBus(await testNats(), "admin");
  await assert.rejects(ensureStreams(alone, { replicas: 3 }), { message: /YARD_TIMERS/ });
});

test("without a number of replicas, each stream keeps its own and a new one gets as many as the others", async () => {
  const admin = await testBus(await testNatsCluster(2), "admin");
  await ensureStreams(admin, { replicas: 2 });
  const { streams } = await jetstreamManager(connectionOf(admin).nc);
  await streams.delete(commandStream.name);
  const remade = [
    commandStream.name,
    ...allConsumers.map(({ stream, name }) => `${stream}/${name}`),
  ];
  assert.deepEqual(await ensureStreams(admin), { created: remade, updated: [], left: [] });
  for (const name of [...allStreams.map((stream) => stream.name), "OBJ_YARD_PAYLOADS"])
    assert.equal((await streams.info(name)).config.num_replicas, 2, name);
  const fewer = await ensureStreams(admin, { replicas: 1 });
  assert.deepEqual([fewer.updated.length, fewer.left], [11, [auditStream.name]]);
  assert.deepEqual((await ensureAudit(admin, { replicas: 1 })).updated, [auditStream.name]);
});

test("a server without room for a stream is refused with what to do about it", async () => {
  const dataDir = await testDirectory();
  const config = `jetstream { store_dir: ${JSON.stringify(dataDir)}, max_file_store: 1GB }`;
  const small = await testNats({ dataDir, authorization: config });
  await assert.rejects(ensureStreams(await testBus(small, "admin")), {
    code: "internal",
    message: /YARD_\w+: insufficient storage .*larger disk.*max_file_store/,
  });
});
