import assert from "node:assert/strict";
import { requestCancel } from "@switchyard/contracts/agent-runner/runs";
import { after, test } from "node:test";
import { testRedis } from "@switchyard/testing/test-servers";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { startedEntry } from "../../test-fixtures/journals.ts";
import type { JournalEntry } from "../core/journal-entry.ts";
import { applyEntry, startOf } from "../core/replay.ts";
import { openDeadLetters } from "../commands/dead-letters.ts";
import { cancelsKey, keysOf, stateKey } from "./run-keys.ts";
import { openRunStore } from "./run-store.ts";
import { openRunControls } from "./run-controls.ts";
import { openUnsyncedEvents } from "./unsynced-events.ts";

const AT = "2026-01-01T00:00:01.000Z";
const server = await testRedis();
const log = createLog({ service: "test", level: "silent" });
const redis = await connectRedis({ url: server.url, name: "test", log });
after(() => {
  redis.disconnect();
});
const store = openRunStore(redis, { holdMs: 60_000, keepSeconds: 600 });
const controls = openRunControls(redis);
const steered: JournalEntry = { kind: "steered", at: AT, by: "cli", message: "and more" };

async function begun(runId: string) {
  const first = startedEntry({ runId });
  const claim = { runId, commandDigest: "d", delivery: "1", started: first };
  const result = await store.claim(claim);
  assert.ok(result.outcome === "claimed", result.outcome);
  return { first, hold: result.hold, claim, request: result.cancel };
}

test("a retried run is stored for the whole time again, however soon it would have expired", async () => {
  const { first, hold } = await begun("again");
  const failed: JournalEntry = {
    kind: "failed",
    at: AT,
    failure: { code: "internal", message: "x" },
  };
  await store.append(hold, [failed], applyEntry(startOf(first), failed), 0);
  const lives = () => Promise.all(keysOf("again").map((key) => redis.ttl(key)));
  // The run has no long texts, so there is no key of them.
  assert.deepEqual(
    (await lives()).map((seconds) => seconds > 0),
    [true, true, false],
  );
  const asked = { runId: "again", by: "cli", at: AT, limits: {}, streamSequence: 2 };
  assert.equal(await controls.retry({ ...asked, by: "mallory", command: "2:1" }), "not_allowed");
  assert.equal(await controls.retry({ ...asked, command: "2:2" }), "ok");
  const [state, journal] = await lives();
  assert.deepEqual([state, journal], [-1, -1]);
});

test("an entry is accepted once, and only when it is expected; none is accepted from a caller that may not control the run", async () => {
  await begun("news");
  // Sets the state that the entry of a parked call leaves.
  await redis.hset(stateKey("news"), "open:c1", 1);
  const report = (expected: string | null, by: string | null = null) =>
    controls.append({ runId: "news", entry: steered, by, expected, command: null });
  assert.equal(await report("c2"), "gone");
  assert.equal(await report("c1", "mallory"), "not_allowed");
  assert.deepEqual((await Promise.all(Array.from({ length: 8 }, () => report("c1")))).toSorted(), [
    ...Array.from({ length: 7 }, () => "gone"),
    "taken",
  ]);
  assert.equal((await store.load("news")).length, 2);
});

test("a command is applied once, however often the queue delivers it", async () => {
  await begun("command");
  const report = (command: string) =>
    controls.append({ runId: "command", entry: steered, by: "cli", expected: null, command });
  assert.deepEqual(
    [await report("1:1"), await report("1:1"), await report("1:2")],
    ["taken", "known", "taken"],
  );
  assert.equal((await store.load("command")).length, 3);
});

test("a cancel that came before its run ends it once, however often the queue delivers it", async () => {
  const cancel = { runId: "ahead", by: "cli", at: AT, reason: null };
  assert.equal(await controls.cancel({ ...cancel, command: "3:1" }), "remembered");
  const { first, hold, request } = await begun("ahead");
  assert.ok(request !== null);
  const asked = applyEntry(startOf(first), request);
  const cancelled: JournalEntry = { kind: "cancelled", at: AT };
  await store.append(hold, [cancelled], applyEntry(asked, cancelled), 0);
  const retry = { runId: "ahead", by: "cli", at: AT, limits: {}, streamSequence: 4 };
  assert.equal(await controls.retry({ ...retry, command: "4:1" }), "ok");
  assert.equal(await controls.cancel({ ...cancel, command: "3:1" }), "ended");
  assert.equal(await controls.cancel({ ...cancel, command: "5:1" }), "requested");
});

test("the position of a run's published events in the stream never decreases", async () => {
  const { hold, claim } = await begun("published");
  await store.markPublished(hold, 5);
  await store.markPublished(hold, 3);
  const next = await store.claim(claim);
  assert.equal(next.outcome === "claimed" && next.published, 5);
});

test("a cancel that waits for its run is one short text for each caller, and expires", async () => {
  for (const reason of ["first", "second"])
    await controls.cancel({ runId: "not-begun", by: "cli", at: AT, reason, command: null });
  const key = cancelsKey("not-begun");
  assert.equal(await redis.hlen(key), 1);
  const seconds = await redis.ttl(key);
  assert.ok(seconds > 0 && seconds <= 86_400, String(seconds));
  const { request } = requestCancel;
  const fits = (length: number) =>
    request.safeParse({ runId: "cli~a", reason: "x".repeat(length) }).success;
  assert.deepEqual([fits(512), fits(513)], [true, false]);
});

test("10,000 events are stored until the stream has them, and the latest ones stay", async () => {
  const unwritten = openUnsyncedEvents(redis);
  const key = "yard:runs:events";
  const fill = 'for n = 1, 10000 do redis.call("ZADD", KEYS[1], n, "old-" .. n) end';
  await redis.eval(fill, 1, key);
  const event = { subject: "s", payload: {}, messageId: "m", correlationId: "c" };
  await unwritten.addEvent(event, 20_000);
  assert.equal(await redis.zcard(key), 10_000);
  assert.equal(await redis.zscore(key, "old-1"), null);
  assert.deepEqual(JSON.parse((await redis.zrevrange(key, 0, 0))[0] ?? ""), event);
});

test("1,000 dead commands are stored, the oldest leave with their texts, and no text above 64 KiB is stored", async () => {
  const letters = openDeadLetters(redis);
  const now = Date.now();
  const letter = (n: number) => ({
    runId: `cli~dead-${n}`,
    subject: "yard.cmd.cli.run.start",
    caller: "cli",
    streamSequence: n,
    sentAt: new Date(now - 1_000 + n).toISOString(),
    failure: { code: "internal", message: "x" },
  });
  const text = (size: number) => {
    const command = { agent: "a", payload: { input: "x".repeat(size) } };
    return { digest: "d", command } as unknown as Parameters<typeof letters.add>[1]; // stored as it is
  };
  await letters.add(letter(0), text(10));
  await letters.add(letter(1), text(64 * 1024));
  const older = Array.from({ length: 999 }, (_, index) => letter(index + 2));
  await redis.zadd(
    "yard:runs:letters",
    ...older.flatMap((one) => [Date.parse(one.sentAt), JSON.stringify(one)]),
  );
  await letters.add(letter(2_000), text(10));
  const listed = await letters.list();
  assert.equal(listed.length, 1_000);
  assert.deepEqual([listed[0]?.runId, listed[0]?.canRedrive], ["cli~dead-2000", true]);
  assert.equal(await redis.hlen("yard:runs:letters:texts"), 1, "neither the oldest nor the large");
});
