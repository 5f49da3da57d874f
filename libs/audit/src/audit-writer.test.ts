import assert from "node:assert/strict";
import { test } from "node:test";
import { AUDIT_EVENT_OF, type AuditFact } from "@switchyard/contracts/policy/audit";
import type { AuditBlock } from "@switchyard/contracts/policy/audit-chain";
import { until } from "@switchyard/local-servers/until";
import { AuditUnavailableError, createAuditWriter } from "./audit-writer.ts";

const fact: AuditFact = { kind: "refusal", provider: "broker", caller: "cli", reason: "expired" };

/** A writer whose stream does what the test sets. */
function lab(options: { giveUpAfterMs?: number; refusal?: string; perUserHour?: number } = {}) {
  const blocks: AuditBlock[] = [];
  const ids: string[] = [];
  const reported: string[] = [];
  const stream = { isUp: true };
  const writer = createAuditWriter({
    service: "policy",
    giveUpAfterMs: options.giveUpAfterMs ?? 60_000,
    async publish(json, { kind, messageId }) {
      ids.push(messageId);
      if (!stream.isUp) throw new Error("no stream");
      blocks.push(AUDIT_EVENT_OF[kind].payload.parse(JSON.parse(json)));
    },
    perUserHour: options.perUserHour ?? 0,
    refusalOf: () => options.refusal ?? null,
    onTrouble: (error) => reported.push(String(error)),
    onRecovered: () => reported.push("recovered"),
  });
  return { writer, blocks, ids, told: reported, stream };
}

test("facts that come together share a message, and are numbered in their order", async () => {
  const { writer, blocks } = lab();
  const refs = Array.from({ length: 5 }, () => writer.append(() => fact).ref);
  assert.deepEqual(
    refs,
    [1, 2, 3, 4, 5].map((seq) => `${writer.id}:${seq}`),
  );
  assert.equal(await writer.close(60_000), 0);
  assert.deepEqual(
    blocks.map(({ records }) => records.map(({ seq }) => seq)),
    [[1, 2, 3, 4, 5]],
  );
});

test("a fact is read when its record is made, and later changes do not reach it", async () => {
  const { writer, blocks } = lab();
  let reason = "first";
  const entry = writer.append(() => ({ ...fact, reason }));
  reason = "second";
  assert.equal(entry.isSealed, false);
  await writer.stored(entry);
  assert.equal(entry.isSealed, true);
  reason = "third";
  const [record] = blocks[0]?.records ?? [];
  assert.ok(record?.kind === "refusal");
  assert.equal(record.reason, "second");
});

test("while the stream refuses nothing is lost, and the same message is sent again", async () => {
  const { writer, blocks, ids, told: reported, stream } = lab();
  stream.isUp = false;
  writer.append(() => fact);
  await until(() => ids.length >= 2);
  assert.doesNotThrow(() => writer.admit(), "it may still come back in time");
  assert.equal(writer.state.waiting, 1);
  stream.isUp = true;
  await until(() => writer.state.waiting === 0);
  assert.equal(new Set(ids).size, 1);
  assert.equal(blocks.length, 1);
  assert.deepEqual(reported, ["Error: no stream", "recovered"]);
});

test("a stream that refuses for too long refuses what would have to be recorded, until it is back", async () => {
  const { writer, stream, ids } = lab({ giveUpAfterMs: 0 });
  stream.isUp = false;
  const entry = writer.append(() => fact);
  await assert.rejects(writer.stored(entry), AuditUnavailableError);
  assert.throws(() => writer.admit(), AuditUnavailableError);
  assert.match(writer.state.refusal ?? "", /could not be stored for \d+ s/);
  await assert.rejects(writer.stored(entry), AuditUnavailableError);
  stream.isUp = true;
  await until(() => writer.state.refusal === null);
  assert.doesNotThrow(() => writer.admit());
  assert.ok(ids.length >= 2);
});

test("a failure that waiting does not help against refuses at once, until a record is stored", async () => {
  const { writer, stream, told: reported } = lab({ refusal: "the stream is full" });
  stream.isUp = false;
  const entry = writer.append(() => fact);
  await assert.rejects(writer.stored(entry), /^AuditUnavailableError: the stream is full$/);
  assert.throws(() => writer.admit(), AuditUnavailableError);
  stream.isUp = true;
  await until(() => writer.state.waiting === 0);
  assert.doesNotThrow(() => writer.admit());
  stream.isUp = false;
  assert.doesNotThrow(() => writer.admit(), "it is full only when it reports it again");
  assert.deepEqual(reported, ["Error: no stream", "recovered"]);
});

test("a few large records that wait are too many, too", async () => {
  const { writer, stream } = lab();
  const reason = "x".repeat(8 * 1024 * 1024);
  stream.isUp = false;
  for (let count = 0; count < 8; count += 1) writer.append(() => ({ ...fact, reason }));
  await until(() => writer.state.refusal !== null);
  assert.match(writer.state.refusal ?? "", /^8 audit records wait/);
  assert.equal(await writer.close(0), 8);
  stream.isUp = true;
  await until(() => writer.state.waiting === 0);
  assert.equal(writer.state.refusal, null);
});

test("a full buffer refuses, however long the timeout is", async () => {
  const { writer, stream } = lab();
  stream.isUp = false;
  for (let count = 0; count < 20_000; count += 1) writer.append(() => fact);
  assert.throws(() => writer.admit(), /20000 audit records wait/);
  assert.equal(await writer.close(0), 20_000, "what is lost at a stop is counted");
  stream.isUp = true;
  await until(() => writer.state.waiting === 0);
});

test("a user that has had its number of records in an hour is refused, and no other user is", async () => {
  const { writer } = lab({ perUserHour: 3 });
  for (let index = 0; index < 3; index += 1) writer.admit("team-a");
  assert.throws(() => writer.admit("team-a"), {
    name: "AuditUnavailableError",
    message: /^team-a has had the 3 audit records of an hour/,
  });
  writer.admit("team-b");
  writer.admit();
  await writer.close(0);
});
