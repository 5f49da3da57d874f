import { connectRedis } from "@switchyard/service/redis";
import { createLog } from "@switchyard/service/log";
import { StoreError } from "@switchyard/service/store-error";
import { testRedis } from "@switchyard/testing/test-servers";
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startedEntry } from "../../test-fixtures/journals.ts";
import { BLOB_BYTES } from "../core/entry-codec.ts";
import type { JournalEntry } from "../core/journal-entry.ts";
import type { StartedEntry } from "../core/started-entry.ts";
import { applyEntry, replay, startOf } from "../core/replay.ts";
import type { RunState } from "../core/run-state.ts";
import { openRunControls } from "./run-controls.ts";
import { openRunIndex } from "./run-index.ts";
import type { ClaimResult } from "./run-claim.ts";
import { FenceLost, openRunStore, type Rest } from "./run-store.ts";

const AT_ONCE: Rest = { ms: 0, by: "queue" };
const AT = "2026-01-01T00:00:01.000Z";
const server = await testRedis();
const log = createLog({ service: "test", level: "silent" });
const redis = await connectRedis({ url: server.url, name: "test", log });
after(() => {
  redis.disconnect();
});
const store = openRunStore(redis, { holdMs: 60_000 });

test("creates a run once, however many runners try at the same time", async () => {
  const claims = await Promise.all(
    Array.from({ length: 8 }, () => claim("many", "1", started("many"))),
  );
  const epochs = claims.map((result) => (result.outcome === "claimed" ? result.hold.epoch : ""));
  assert.deepEqual(epochs.toSorted(), ["1", "2", "3", "4", "5", "6", "7", "8"]);
  assert.equal((await store.load("many")).length, 1);
});

test("refuses an old epoch at every function that writes", async () => {
  const old = hold(await claim("fenced", "1", started("fenced")));
  const state = startOf(started("fenced"));
  await claim("fenced", "1");

  await assert.rejects(
    store.append(old, [resumed(2)], applyEntry(state, resumed(2)), 0),
    FenceLost,
  );
  await assert.rejects(store.markPublished(old, 1), FenceLost);
  assert.equal(await store.renew(old), "lost");
  assert.equal(await store.release(old, AT_ONCE), false);
  assert.equal((await store.load("fenced")).length, 1);
});

test("allows only the newest holder to write, renew, mark and release", async () => {
  await claim("newest", "1", started("newest"));
  const newest = hold(await claim("newest", "1"));
  const state = startOf(started("newest"));
  await store.append(newest, [resumed(2)], applyEntry(state, resumed(2)), 0);
  await store.markPublished(newest, 2);
  assert.equal(await store.renew(newest), "held");
  assert.equal(await store.release(newest, AT_ONCE), true);
  const again = await claim("newest", "2");
  assert.equal(again.outcome, "claimed");
  assert.equal(again.outcome === "claimed" && again.published, 2);
  assert.equal(again.outcome === "claimed" && again.attempts, 3);
});

test("accepts the same entry twice as one, and refuses another one at its position", async () => {
  const held = hold(await claim("repeat", "1", started("repeat")));
  const state = startOf(started("repeat"));
  const after1 = applyEntry(state, finished("one"));
  await store.append(held, [finished("one")], after1, 0);
  await store.append(held, [finished("one")], after1, 0);
  await assert.rejects(store.append(held, [finished("two")], after1, 0), FenceLost);
  assert.deepEqual(replay(await store.load("repeat")).end, { status: "succeeded", output: "one" });
});

test("protects the claim of a live holder from another message, and returns the run to a redelivery", async () => {
  await claim("busy", "1", started("busy"));
  const other = await claim("busy", "2");
  assert.equal(other.outcome, "busy");
  assert.ok(other.outcome === "busy" && other.retryMs > 0 && other.retryMs <= 60_000);
  assert.equal((await claim("busy", "1")).outcome, "claimed");
});

test("lets any message claim a run once its holder fell silent", async () => {
  const shortLived = openRunStore(redis, { holdMs: 0 });
  const request = {
    runId: "silent",
    commandDigest: "d",
    delivery: "1",
    started: started("silent"),
  };
  await shortLived.claim(request);
  const taken = await shortLived.claim({ runId: "silent", commandDigest: "d", delivery: "2" });
  assert.equal(taken.outcome, "claimed");
});

test("counts picks without progress, starts again at progress, and forgives a release", async () => {
  const stalledAt = async (): Promise<{ stalled: number; held: ReturnType<typeof hold> }> => {
    const result = await claim("stalled", "1");
    assert.ok(result.outcome === "claimed");
    return { stalled: result.stalled, held: result.hold };
  };
  await claim("stalled", "1", started("stalled"));
  assert.equal((await stalledAt()).stalled, 2);
  const third = await stalledAt();
  assert.equal(third.stalled, 3);
  await store.release(third.held, AT_ONCE);
  const fourth = await stalledAt();
  assert.equal(fourth.stalled, 3);

  let state: RunState = startOf(started("stalled"));
  state = applyEntry(state, resumed(4));
  await store.append(fourth.held, [resumed(4)], state, 0);
  assert.equal((await stalledAt()).stalled, 4, "a takeover is no progress");
  const sixth = await stalledAt();
  state = applyEntry(state, answer);
  await store.append(sixth.held, [answer], state, 0);
  assert.equal((await stalledAt()).stalled, 1);
});

test("counts how often a run was released to rest since its last progress", async () => {
  const next = async () => {
    const result = await claim("resting", "1");
    assert.ok(result.outcome === "claimed");
    return result;
  };
  const first = await claim("resting", "1", started("resting"));
  assert.ok(first.outcome === "claimed" && first.rests === 0);
  await store.release(first.hold, { ms: 250, by: "sweeper" });
  const second = await next();
  assert.equal(second.rests, 1);
  await store.release(second.hold, AT_ONCE);
  const third = await next();
  assert.equal(third.rests, 1, "handed over is no rest");
  const answered = applyEntry(startOf(started("resting")), answer);
  await store.append(third.hold, [answer], answered, 0);
  const fourth = await next();
  assert.equal(fourth.rests, 0);
  // The sweeper wakes no run that has ended, whatever events are still to be published.
  const end = finished("x");
  await store.append(fourth.hold, [end], applyEntry(answered, end), 0);
  assert.equal(await store.release(fourth.hold, { ms: 250, by: "sweeper" }), false);
});

test("distinguishes absent, taken and ended runs", async () => {
  assert.equal((await claim("told", "1")).outcome, "absent");
  const held = hold(await claim("told", "1", started("told")));
  const taken = await store.claim({ runId: "told", commandDigest: "other", delivery: "1" });
  assert.equal(taken.outcome, "taken");
  await store.append(held, [finished("x")], applyEntry(startOf(started("told")), finished("x")), 1);
  const ended = await claim("told", "1");
  assert.deepEqual(ended, { outcome: "ended", hold: held, published: 1 });
});

test("stores long texts beside the journal and restores them", async () => {
  const prompt = "long ".repeat(BLOB_BYTES);
  const first = started("blobs", { prompt });
  const held = hold(
    await store.claim({ runId: "blobs", commandDigest: "d", delivery: "1", started: first }),
  );
  const end = finished(`${prompt} end`);
  await store.append(held, [end], applyEntry(startOf(first), end), 0);
  assert.deepEqual(await store.load("blobs"), [first, end]);
  assert.equal(await redis.hlen("yard:run:{blobs}:blobs"), 2);
});

test("lists runs newest first, by agent and status, and repairs the list when a run is read", async () => {
  const index = openRunIndex(redis, store);
  const make = async (runId: string, at: string, agent: string): Promise<void> => {
    await store.claim({
      runId,
      commandDigest: "d",
      delivery: runId,
      started: started(runId, { at, agent }),
    });
    await index.add(runId, at);
  };
  await make("list-1", "2026-02-01T00:00:00.000Z", "alpha");
  await make("list-2", "2026-02-02T00:00:00.000Z", "beta");
  await make("list-3", "2026-02-03T00:00:00.000Z", "alpha");
  const ids = async (filter: Parameters<typeof index.list>[0]): Promise<string[]> =>
    (await index.list(filter)).runs.map(({ runId }) => runId);
  assert.deepEqual(await ids({ limit: 2 }), ["list-3", "list-2"]);
  assert.deepEqual(await ids({ limit: 9, agent: "alpha", status: "running" }), [
    "list-3",
    "list-1",
  ]);
  assert.deepEqual(await ids({ limit: 9, status: "failed" }), []);

  await redis.del("yard:runs");
  assert.equal((await index.get("list-2"))?.agent, "beta");
  assert.deepEqual(await ids({ limit: 9 }), ["list-2"]);
  assert.equal(await index.get("nobody"), null);
});

test("a list of runs continues after a cursor, whatever is added in the meantime and however many began at once", async () => {
  const index = openRunIndex(redis, store);
  const make = async (runId: string, at: string): Promise<void> => {
    await claim(runId, "1", started(runId, { at, requester: "pager" }));
    await index.add(runId, at);
  };
  const at = "2026-03-01T00:00:00.000Z";
  // More runs begin in one millisecond than one read returns.
  const names = Array.from({ length: 130 }, (_, n) => `pager~p${String(n).padStart(3, "0")}`);
  for (const name of names) await make(name, at);
  await make("pager~older", "2026-02-28T00:00:00.000Z");
  const seen: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await index.list({ limit: 50, owner: "pager", cursor });
    seen.push(...page.runs.map(({ runId }) => runId));
    await make(`pager~new${seen.length}`, "2026-03-02T00:00:00.000Z");
    cursor = page.next ?? undefined;
    assert.ok(seen.length <= names.length + 1, "the list begins again");
  } while (cursor !== undefined);
  assert.deepEqual(seen, [...names.toReversed(), "pager~older"]);
  const all = await index.list({ limit: 200, owner: "pager" });
  assert.deepEqual([all.runs.length, all.next], [134, null]);
  const none = await index.list({ limit: 5, owner: "pager", agent: "nobody" });
  assert.deepEqual(none, { runs: [], next: null });
  await redis.del("yard:runs");
});

test("removes expired runs from the list, and no others", async () => {
  const index = openRunIndex(redis, store);
  for (const [day, runId] of ["gone", "kept"].entries()) {
    const at = `2020-01-0${day + 1}T00:00:00.000Z`;
    await claim(runId, "1", started(runId, { at }));
    await index.add(runId, at);
  }
  await redis.del("yard:run:{gone}:state"); // Redis does the same at expiry
  await index.trim();
  assert.equal(await redis.zscore("yard:runs", "gone"), null);
  assert.notEqual(await redis.zscore("yard:runs", "kept"), null);
});

test("old runs that wait keep no other one on the list", async () => {
  const index = openRunIndex(redis, store, { keepSeconds: 60 });
  const at = "2025-01-01T00:00:00.000Z";
  const waiting = Array.from({ length: 25 }, (_, n) => `waiting-${n}`);
  for (const runId of waiting) {
    await claim(runId, "1", started(runId));
    await index.add(runId, at);
  }
  await index.add("behind-them", "2025-01-01T00:00:01.000Z");
  for (let look = 0; look < 4; look += 1) await index.trim();
  assert.equal(await redis.zscore("yard:runs", "behind-them"), null);
  await index.add("added-again", at);
  for (let look = 0; look < 4; look += 1) await index.trim();
  assert.equal(await redis.zscore("yard:runs", "added-again"), null);
  for (const runId of waiting) assert.notEqual(await redis.zscore("yard:runs", runId), null);
});

test("lets a run expire after its end, and not before", async () => {
  const brief = openRunStore(redis, { holdMs: 60_000, keepSeconds: 500 });
  const first = started("expiring", { prompt: "long ".repeat(BLOB_BYTES) });
  const held = hold(
    await brief.claim({ runId: "expiring", commandDigest: "d", delivery: "1", started: first }),
  );
  const keys = ["state", "journal", "blobs"].map((part) => `yard:run:{expiring}:${part}`);
  for (const key of keys) assert.equal(await redis.ttl(key), -1, key);
  await brief.append(held, [finished("x")], applyEntry(startOf(first), finished("x")), 0);
  for (const key of keys) assert.ok((await redis.ttl(key)) > 400, key);
});

test("returns the request to cancel that came before its entry to the holder, and writes nothing", async () => {
  const controls = openRunControls(redis);
  const first = started("asked");
  const held = hold(await claim("asked", "1", first));
  const asked = { runId: "asked", by: "cli", at: AT, reason: "why", command: "1:1" };
  assert.equal(await controls.cancel({ ...asked, by: "mallory" }), "not_allowed");
  assert.equal(await controls.cancel(asked), "requested");
  assert.equal(await controls.cancel(asked), "requested");
  assert.equal(await store.renew(held), "cancelled");
  const requests = await store.append(held, [answer], applyEntry(startOf(first), answer), 0);
  assert.deepEqual(requests, [{ kind: "cancel-requested", at: AT, by: "cli", reason: "why" }]);
  assert.deepEqual(await store.requestsAfter(held, 1), requests);
  assert.deepEqual(await store.load("asked"), [first, ...requests]);
});

test("writes several entries all or none, and accepts the same ones again", async () => {
  const controls = openRunControls(redis);
  const first = started("together");
  const held = hold(await claim("together", "1", first));
  const text = "long ".repeat(BLOB_BYTES);
  const entries = [resumed(2), { ...answer, servedModel: text }, finished(`${text}!`)];
  const whole = entries.reduce(applyEntry, startOf(first));
  const steered: JournalEntry = { kind: "steered", at: AT, by: "cli", message: "and more" };
  const news = { runId: "together", by: "cli", expected: null, command: null };
  assert.equal(await controls.append({ ...news, entry: steered }), "taken");
  assert.deepEqual(await store.append(held, entries, whole, 0), [steered]);
  assert.deepEqual(await store.load("together"), [first, steered]);

  const known = applyEntry(startOf(first), steered);
  const written = entries.slice(0, 2);
  const state = written.reduce(applyEntry, known);
  assert.deepEqual(await store.append(held, written, state, 0), []);
  assert.deepEqual(await store.append(held, written, state, 0), []);
  assert.deepEqual(await store.load("together"), [first, steered, ...written]);
  const other = [resumed(2), resumed(3)];
  await assert.rejects(store.append(held, other, other.reduce(applyEntry, known), 0), FenceLost);
  const longer = [...written, resumed(3)];
  await assert.rejects(store.append(held, longer, longer.reduce(applyEntry, known), 0), FenceLost);
  assert.deepEqual(await store.load("together"), [first, steered, ...written]);
  const { stalled } = await claim("together", "1").then((result) => {
    assert.ok(result.outcome === "claimed");
    return result;
  });
  assert.equal(stalled, 1, "one of the entries was progress");
});

test("applies a command once, also when it comes again after a retry", async () => {
  const controls = openRunControls(redis);
  const first = started("lives");
  const held = hold(await claim("lives", "1", first));
  const cancel = { runId: "lives", by: "cli", at: AT, reason: null, command: "1:1" };
  const retry = {
    runId: "lives",
    by: "cli",
    at: AT,
    limits: {},
    command: "2:2",
    streamSequence: 2,
  };
  assert.equal(await controls.retry(retry), "running");
  const requests = await controls.cancel(cancel).then(() => store.requestsAfter(held, 1));
  const asked = requests.reduce(applyEntry, startOf(first));
  const end: JournalEntry = { kind: "cancelled", at: AT };
  await store.append(held, [end], applyEntry(asked, end), 0);
  assert.equal(await controls.retry(retry), "ok");
  assert.equal(await controls.retry(retry), "ok");
  assert.equal(await controls.cancel(cancel), "ended");
  const { end: now, cancellation, length } = replay(await store.load("lives"));
  assert.deepEqual([now, cancellation, length], [null, null, 4]);
});

test("names an outage of Redis as one", async () => {
  const other = await testRedis();
  const client = await connectRedis({ url: other.url, name: "outage", log });
  after(() => {
    client.disconnect();
  });
  await other.stop();
  const down = openRunStore(client, { holdMs: 1_000 });
  await assert.rejects(down.load("any"), StoreError);
  await assert.rejects(down.renew({ runId: "any", epoch: "1" }), StoreError);
});

function claim(runId: string, delivery: string, first?: StartedEntry): Promise<ClaimResult> {
  return store.claim({
    runId,
    commandDigest: "d",
    delivery,
    ...(first === undefined ? {} : { started: first }),
  });
}

function hold(result: ClaimResult) {
  assert.ok(result.outcome === "claimed", result.outcome);
  return result.hold;
}

function started(runId: string, fields: Partial<StartedEntry> = {}): StartedEntry {
  return startedEntry({ runId, ...fields });
}

function resumed(attempt: number): JournalEntry {
  return { kind: "resumed", at: AT, attempt, journalEntries: 1 };
}

function finished(output: string): JournalEntry {
  return { kind: "finished", at: AT, output };
}

const answer: JournalEntry = {
  kind: "model-responded",
  at: AT,
  step: 1,
  content: [{ type: "text", text: "hello" }],
  usage: { inputTokens: 1, outputTokens: 1 },
  finishReason: "stop",
  servedModel: "m",
  durationMs: 0,
};
