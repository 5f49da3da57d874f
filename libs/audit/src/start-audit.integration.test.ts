import assert from "node:assert/strict";
import { after, test } from "node:test";
import { auditBounds, auditFill, readAudit } from "@switchyard/bus/audit-log";
import type { Bus } from "@switchyard/bus/bus";
import { publishEvent } from "@switchyard/bus/publish";
import { ensureStreams } from "@switchyard/bus/streams";
import { testUsers } from "@switchyard/testing/test-users";
import { auditChain, auditDecision } from "@switchyard/contracts/policy/audit";
import { recordsOf, type AuditBlock } from "@switchyard/contracts/policy/audit-chain";
import { testDirectory, testNats, testRedis } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { Registry } from "prom-client";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { AuditUnavailableError } from "./audit-writer.ts";
import { startAudit, type Audit } from "./start-audit.ts";
import { createAuditVerifier } from "./verify-audit.ts";
import { replaceConstants } from "@switchyard/testing/test-constants";

// Everything here runs with the permissions that nats-server gets in production.
const users = testUsers();
const dataDir = await testDirectory();
let nats = await testNats({ authorization: users.authorization, dataDir });
const port = Number(new URL(nats.url).port);
const redisServer = await testRedis();
const log = createLog({ service: "test", level: "silent" });
const redis = await connectRedis({ url: redisServer.url, name: "test", log });
after(() => redis.disconnect());
const [admin, policyBus, brokerBus, auditor, cli] = await Promise.all(
  ["admin", "policy", "broker", "auditor", "cli"].map((user) => users.connect(nats, user)),
).then((buses) => buses as [Bus, Bus, Bus, Bus, Bus]); // one for each name
await ensureStreams(admin);

const refusal = {
  kind: "refusal",
  provider: "broker",
  caller: "cli",
  reason: "expired",
} as const;

replaceConstants({ auditGiveUpMs: 200, auditPerUserHour: 0 });

async function start(bus: Bus, service: string, mode: "on" | "strict" = "on"): Promise<Audit> {
  const audit = await startAudit({
    bus,
    redis,
    log,
    service,
    metrics: new Registry(),
    instance: "here",
    version: "1",
    config: { YARD_AUDIT: mode },
  });
  assert.ok(audit !== null);
  return audit;
}

async function report() {
  const extent = await auditBounds(auditor);
  const verifier = createAuditVerifier(extent, Date.now());
  const from = { sequence: extent.first };
  for await (const message of readAudit(auditor, { from, upTo: extent.last }))
    verifier.message(message);
  return verifier.finish();
}

test("a process that stops in order has a chain with an end, and the next one names it", async () => {
  const first = await start(policyBus, "policy");
  first.writer.append(() => refusal);
  await first.stop();
  const second = await start(policyBus, "policy");
  await second.stop();
  const { breaks, chains } = await report();
  assert.deepEqual(breaks, []);
  assert.deepEqual(
    chains.map(({ to, hasEnded }) => [to, hasEnded]),
    [
      [3, true],
      [2, true],
    ],
  );
  const heads = await redis.hgetall("yard:audit:{policy}:heads");
  assert.deepEqual(Object.keys(heads).toSorted(), [first.writer.id, second.writer.id].toSorted());
  const messages: AuditBlock[] = [];
  for await (const { payload } of readAudit(auditor, { from: { sequence: 1 }, upTo: 99 }))
    messages.push(payload as AuditBlock); // a chain to which nothing else was written
  const begin = messages
    .flatMap(recordsOf)
    .find(({ writer, seq }) => writer === second.writer.id && seq === 1);
  assert.ok(begin?.kind === "chain");
  assert.deepEqual(
    begin.others?.map(({ writer, seq }) => [writer, seq]),
    [[first.writer.id, 3]],
  );
});

test("only the auditor and the admin read the audit, and no service writes another one's records", async () => {
  await assert.rejects(auditBounds(cli), { code: "forbidden" });
  // A service that writes records may query how full the stream is, and reads none of them.
  assert.ok((await auditFill(brokerBus)) < 1);
  const first = { from: { sequence: 1 }, upTo: 1 } as const;
  assert.equal((await readAudit(auditor, first).next()).done, false);
  // The server refuses the request without an answer to it.
  for (const bus of [brokerBus, cli])
    await assert.rejects(readAudit(bus, first).next(), { code: "timeout" });
  await assert.rejects(auditFill(cli), { code: "forbidden" });
  assert.ok((await auditBounds(admin)).last > 0);
  const head = { v: 1 as const, service: "policy", writer: `policy-${"0".repeat(16)}`, prev: null };
  const place = { seq: 1, at: new Date().toISOString(), hash: `sha256:${"0".repeat(64)}` };
  const forged = { ...head, records: [{ ...refusal, ...place }] };
  const started = { kind: "chain", change: "started", instance: "i", version: "1" } as const;
  const begin = { ...head, records: [{ ...started, ...place }] };
  for (const bus of [cli, auditor, admin, brokerBus])
    await assert.rejects(publishEvent(bus, auditDecision, { service: "policy" }, forged), {
      code: "forbidden",
    });
  await assert.rejects(publishEvent(brokerBus, auditChain, { service: "policy" }, begin), {
    code: "forbidden",
  });
  assert.deepEqual((await report()).breaks, []);
});

test("with the setting strict a record is stored before anything continues", async () => {
  const audit = await start(policyBus, "policy", "strict");
  const { last } = await auditBounds(auditor);
  await audit.writer.stored(audit.writer.append(() => refusal));
  assert.equal((await auditBounds(auditor)).last, last + 1);
  await audit.stop();
});

test("while NATS is away records wait, then calls are refused, and all is stored when it is back", async () => {
  const audit = await start(brokerBus, "broker");
  const { writer } = audit;
  await nats.stop();
  for (let count = 0; count < 100; count += 1)
    writer.append(() => ({ kind: "outcome", of: 1, outcome: "result", durationMs: count }));
  await until(() => writer.state.refusal !== null);
  assert.throws(() => writer.admit(), AuditUnavailableError);
  nats = await testNats({ authorization: users.authorization, dataDir, port });
  await until(() => writer.state.refusal === null && writer.state.waiting === 0);
  assert.doesNotThrow(() => writer.admit());
  await audit.stop();
  await until(async () => (await auditBounds(auditor).catch(() => null)) !== null);
  const { breaks, chains } = await report();
  assert.deepEqual(breaks, []);
  assert.deepEqual(chains.find((chain) => chain.writer === writer.id)?.to, 102);
});

test("a message that is a bad record is reported as a break", async () => {
  const { last } = await auditBounds(auditor);
  const payload = { v: 2, writer: "broker-1", records: [] };
  const foreign = { subject: "yard.evt.audit.broker.decision", payload, sequence: last + 1 };
  const extent = { ...(await auditBounds(auditor)), last: last + 1 };
  const verifier = createAuditVerifier(extent, Date.now());
  for await (const message of readAudit(auditor, { from: { sequence: extent.first }, upTo: last }))
    verifier.message(message);
  verifier.message(foreign);
  const { breaks } = verifier.finish();
  assert.deepEqual(
    [breaks.length, breaks[0]?.kind, breaks[0]?.sequence],
    [1, "unreadable", last + 1],
  );
});

test("a range of time is read from where it begins, and may be empty", async () => {
  const read = async (time: Date) => {
    const found = [];
    for await (const message of readAudit(auditor, { from: { time }, upTo: 10_000 }))
      found.push(message);
    return found.length;
  };
  const { last } = await auditBounds(auditor);
  assert.equal(await read(new Date(0)), last);
  assert.equal(await read(new Date(Date.now() + 3_600_000)), 0);
});
