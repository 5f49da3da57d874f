import assert from "node:assert/strict";
import { after, test } from "node:test";
import { testRedis } from "@switchyard/local-servers/test-servers";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { startedEntry } from "../../test-fixtures/journals.ts";
import type { JournalEntry } from "../core/journal-entry.ts";
import { applyEntry, startOf } from "../core/replay.ts";
import { keysOf, stateKey } from "./run-keys.ts";
import { openRunStore } from "./run-store.ts";
import { openRunControls } from "./run-controls.ts";

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
  const tell = (expected: string | null, by: string | null = null) =>
    controls.tell({ runId: "news", entry: steered, by, expected, command: null });
  assert.equal(await tell("c2"), "gone");
  assert.equal(await tell("c1", "mallory"), "not_allowed");
  assert.deepEqual((await Promise.all(Array.from({ length: 8 }, () => tell("c1")))).toSorted(), [
    ...Array.from({ length: 7 }, () => "gone"),
    "taken",
  ]);
  assert.equal((await store.load("news")).length, 2);
});

test("a command is applied once, however often the queue delivers it", async () => {
  await begun("command");
  const tell = (command: string) =>
    controls.tell({ runId: "command", entry: steered, by: "cli", expected: null, command });
  assert.deepEqual(
    [await tell("1:1"), await tell("1:1"), await tell("1:2")],
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
