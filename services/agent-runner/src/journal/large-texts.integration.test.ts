import assert from "node:assert/strict";
import { after, test } from "node:test";
import { connectionOf } from "@switchyard/bus/connection";
import { ensureStreams } from "@switchyard/bus/streams";
import { ServiceError } from "@switchyard/contracts/errors";
import { bucketStream, inputFiles } from "@switchyard/topology/payload-stores";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { testBus } from "@switchyard/testing/test-bus";
import { testNats, testRedis } from "@switchyard/testing/test-servers";
import { startedEntry } from "../../test-fixtures/journals.ts";
import type { StartedEntry } from "../core/started-entry.ts";
import { applyEntry, startOf } from "../core/replay.ts";
import { JournalCorrupt } from "../core/run-state.ts";
import { LARGE_BYTES, openLargeTexts } from "./large-texts.ts";
import { blobsKey } from "./run-keys.ts";
import { openRunControls } from "./run-controls.ts";
import { openRunStore } from "./run-store.ts";

const nats = await testNats();
await ensureStreams(await testBus(nats, "admin"));
const bus = await testBus(nats, "runner");
const server = await testRedis();
const log = createLog({ service: "test", level: "silent" });
const redis = await connectRedis({ url: server.url, name: "test", log });
after(() => redis.disconnect());

const counted = new Map<string, number>();
let hasRoom = true;
let nowMs = Date.parse("2026-01-01T00:00:00.000Z");
const storage = {
  reserve: async () => {
    if (!hasRoom) throw new ServiceError("storage_full", "no room");
  },
  set: (_owner: string, thing: string, { bytes }: { readonly bytes: number }) =>
    void counted.set(thing, bytes),
};
const options = { storage, now: () => nowMs };
const texts = openLargeTexts({ bus, redis, log }, options);
const store = openRunStore(redis, { holdMs: 60_000, keepSeconds: 600, texts });

const LARGE = "ä".repeat(LARGE_BYTES / 2 + 1);
const RENEWALS = "yard:runs:texts";

test("a text above 256 KiB is in the bucket, and Redis has a reference [41]", async () => {
  const { runId, hold, state } = await begun("team-a~large", { prompt: LARGE });
  const answer = {
    kind: "finished",
    at: "2026-01-01T00:00:02.000Z",
    output: `${LARGE}?`,
  } as const;
  const steered = {
    kind: "steered",
    at: "2026-01-01T00:00:01.000Z",
    by: "team-a",
    message: `${LARGE}!`,
  } as const;
  const news = { runId, entry: steered, by: "team-a", expected: null, command: null };
  const controls = openRunControls(redis, undefined, undefined, { texts });
  assert.equal(await controls.append(news), "taken");
  const after1 = applyEntry(state, steered);
  await store.append(hold, [answer], applyEntry(after1, answer), 0);
  assert.ok(Number(await redis.memory("USAGE", blobsKey(runId))) < 2_000);
  assert.ok(Number(await redis.hget(`yard:run:{${runId}}:state`, "bytes")) < 20_000);
  const [first, ...others] = await store.load(runId);
  assert.ok(first?.kind === "started" && first.prompt === LARGE);
  assert.deepEqual(others, [steered, answer]);
  const bytes = [...counted.values()].reduce((sum, size) => sum + size, 0);
  assert.equal(bytes, 3 * (LARGE_BYTES + 2) + 2, "what the owner has in the bucket");
});

test("a text of 256 KiB, and one for which there is no room or no bucket, are in Redis", async () => {
  hasRoom = false;
  const full = await begun("team-a~full", { prompt: LARGE });
  hasRoom = true;
  const fits = await begun("team-a~fits", { prompt: LARGE.slice(1) });
  for (const { runId } of [full, fits]) {
    const [field = ""] = await redis.hkeys(blobsKey(runId));
    assert.match(field, /^[0-9a-f]{64}$/);
    const [first] = await store.load(runId);
    assert.ok(first?.kind === "started" && LARGE.startsWith(first.prompt));
  }
});

test("a run whose text is gone is corrupt, and one whose bucket cannot be read is not", async () => {
  const { runId } = await begun("team-a~gone", { prompt: `${LARGE}gone` });
  const closed = await testBus(nats, "runner");
  const lonely = openLargeTexts({ bus: closed, redis, log }, options);
  await closed.close();
  await assert.rejects(openRunStore(redis, { holdMs: 1, texts: lonely }).load(runId), ServiceError);
  await connectionOf(bus).nc.request(`$JS.API.STREAM.PURGE.${bucketStream(inputFiles)}`);
  await assert.rejects(store.load(runId), JournalCorrupt);
});

test("texts are stored again before the bucket deletes them, while their run exists", async () => {
  const kept = await begun("team-a~kept", { prompt: `${LARGE}kept` });
  const over = await begun("team-a~over", { prompt: `${LARGE}over` });
  const before = await redis.hvals(blobsKey(kept.runId));
  await texts.renew();
  assert.deepEqual(await redis.hvals(blobsKey(kept.runId)), before, "not yet");
  await redis.del(blobsKey(over.runId));
  nowMs += inputFiles.ttlMs / 2;
  await texts.renew();
  const renewed = await redis.hvals(blobsKey(kept.runId));
  assert.notDeepEqual(renewed, before);
  const [first] = await store.load(kept.runId);
  assert.ok(first?.kind === "started" && first.prompt === `${LARGE}kept`);
  assert.equal(await redis.exists(blobsKey(over.runId)), 0, "it is not created again");
  assert.equal(await redis.zscore(RENEWALS, over.runId), null);
  assert.equal(Number(await redis.zscore(RENEWALS, kept.runId)), nowMs + inputFiles.ttlMs / 2);
});

async function begun(runId: string, fields: Partial<StartedEntry>) {
  const started = startedEntry({ runId, requester: "team-a", ...fields });
  const claimed = await store.claim({ runId, commandDigest: "d", delivery: "1", started });
  assert.ok(claimed.outcome === "claimed");
  return { runId, hold: claimed.hold, state: startOf(started) };
}
