import { connectRedis } from "@switchyard/service/redis";
import { createLog } from "@switchyard/service/log";
import { testRedis } from "@switchyard/testing/test-servers";
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startedEntry } from "../../test-fixtures/journals.ts";
import type { JournalEntry } from "../core/journal-entry.ts";
import type { StartedEntry } from "../core/started-entry.ts";
import { applyEntry, startOf } from "../core/replay.ts";
import { openRunControls } from "./run-controls.ts";
import { openRunIndex, type RunFilter, type RunIndex } from "./run-index.ts";
import { openRunStore } from "./run-store.ts";

const server = await testRedis();
const log = createLog({ service: "test", level: "silent" });
const redis = await connectRedis({ url: server.url, name: "test", log });
after(() => {
  redis.disconnect();
});
const store = openRunStore(redis, { holdMs: 60_000 });
const BEGIN = Date.parse("2026-03-01T00:00:00.000Z");
const inAnHour = { now: () => BEGIN + 3_600_000 };
/** Two replicas of the runner, each with a cache of its own. */
const one = openRunIndex(redis, store, inAnHour);
const other = openRunIndex(redis, store, inAnHour);
const DAY = { fromMs: BEGIN, toMs: BEGIN + 86_400_000 };

test("totals have as many runs of each status as the list, also after a retry that another replica accepted", async () => {
  for (let n = 0; n < 12; n += 1) await make(`same~r${n}`, { end: ends[n % 3], minute: n });
  await same("same");
  assert.equal((await one.totals({ owner: "same", ...DAY })).statuses.failed, 4);

  const retry = { runId: "same~r1", by: "same", at: at(60), limits: {}, command: "1:1" };
  const outcome = await openRunControls(redis).retry({ ...retry, streamSequence: 1 });
  assert.equal(outcome, "ok");
  for (const index of [one, other]) {
    const { statuses, now, errors } = await index.totals({ owner: "same", ...DAY });
    assert.deepEqual([statuses.failed, statuses.running, now.running], [3, 5, 5]);
    assert.deepEqual(
      errors.map(({ name, runs }) => [name, runs]),
      [["model_error", 3]],
    );
  }
  await same("same");
});

test("a retry of a run that its sender may not control leaves no trace", async () => {
  await make("mine~r", { end: ends[1], minute: 0 });
  const retry = { by: "foreign", at: at(1), limits: {}, command: "1:1", streamSequence: 1 };
  const controls = openRunControls(redis);
  assert.equal(await controls.retry({ ...retry, runId: "mine~r" }), "not_allowed");
  assert.equal(await controls.retry({ ...retry, runId: "mine~absent" }), "unknown");
  for (const runId of ["mine~r", "mine~absent"])
    assert.equal(await redis.zscore("yard:runs:retried", runId), null);
});

test("a run whose time to live has passed is not counted from a cache", async () => {
  await make("gone~a", { end: ends[0], minute: 1 });
  await make("gone~b", { end: ends[0], minute: 1 });
  let nowMs = BEGIN + 70_000;
  const brief = openRunIndex(redis, store, { keepSeconds: 60, now: () => nowMs });
  const totalOf = async (): Promise<number> =>
    (await brief.totals({ owner: "gone", ...DAY })).total.runs;
  assert.equal(await totalOf(), 2);
  nowMs = BEGIN + 200_000;
  await redis.del("yard:run:{gone~a}:state");
  assert.equal(await totalOf(), 1);
});

test("lists by model, code, statuses, time and text of the input, in every order, page by page", async () => {
  await make("all~quick", { end: ends[0], minute: 0, tookMs: 5, costUsd: 0.3 });
  await make("all~slow", { end: ends[1], minute: 1, tookMs: 5_000, costUsd: 0.1 });
  await make("all~plain", { end: ends[0], minute: 2, tookMs: 50, costUsd: null, model: "x/y" });
  await make("all~words", { end: ends[0], minute: 3, tookMs: 500, input: "Pay\n the  Invoice 7" });
  const ids = async (filter: Partial<RunFilter>): Promise<string> => {
    const { runs } = await one.list({ limit: 9, owner: "all", ...filter });
    return runs.map(({ runId }) => runId.replace("all~", "")).join(" ");
  };
  assert.equal(await ids({ model: "x/y" }), "plain");
  assert.equal(await ids({ errorCode: "model_error" }), "slow");
  assert.equal(await ids({ statuses: ["failed", "dead"] }), "slow");
  assert.equal(await ids({ text: "pay the invoice" }), "words");
  assert.equal(await ids({ from: at(1), to: at(3) }), "plain slow");
  assert.equal(await ids({ from: at(1), to: at(3), sort: "oldest" }), "slow plain");
  for (const [sort, expected] of [
    ["newest", "words plain slow quick"],
    ["oldest", "quick slow plain words"],
    ["longest", "slow words plain quick"],
    ["dearest", "quick slow plain words"],
  ] as const) {
    const seen: string[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < 5; page += 1) {
      const { runs, next } = await one.list({ limit: 1, owner: "all", sort, cursor });
      seen.push(...runs.map(({ runId }) => runId.replace("all~", "")));
      if (next === null) break;
      cursor = next;
    }
    assert.equal(seen.join(" "), expected, sort);
  }
  const named = ["all~slow", "all~words", "all~absent", "same~r0"];
  assert.equal(await ids({ ids: named }), "words slow");
  assert.equal(await ids({ ids: named, status: "failed" }), "slow");
  const { runs } = await one.list({ limit: 9, owner: "all" });
  assert.equal(runs[0]?.inputStart, "Pay the Invoice 7");
  assert.equal(runs[2]?.errorCode, "model_error");
});

const ends = [
  { kind: "finished", output: "done" },
  { kind: "failed", failure: { code: "model_error", message: "no answer" } },
  null,
] as const;

interface Made {
  /** Null: it has not ended. */
  readonly end: (typeof ends)[number] | undefined;
  readonly minute: number;
  readonly tookMs?: number;
  readonly costUsd?: number | null;
  readonly model?: string;
  readonly input?: string;
}

async function make(runId: string, made: Made): Promise<void> {
  const { end, minute, tookMs = 10, costUsd = null, ...fields } = made;
  const [requester = ""] = runId.split("~");
  const first: StartedEntry = startedEntry({ runId, requester, at: at(minute), ...fields });
  const claimed = await store.claim({
    runId,
    commandDigest: "d",
    delivery: runId,
    started: first,
  });
  assert.ok(claimed.outcome === "claimed");
  await one.add(runId, first.at);
  if (end === null || end === undefined) return;
  const last: JournalEntry = { ...end, at: new Date(Date.parse(first.at) + tookMs).toISOString() };
  const ended = { ...applyEntry(startOf(first), last), costUsd };
  await store.append(claimed.hold, [last], ended, 0);
}

/** Checks that both replicas count what the list has. */
async function same(owner: string): Promise<void> {
  for (const index of [one, other] satisfies RunIndex[]) {
    const { statuses, total } = await index.totals({ owner, ...DAY });
    const listed = await index.list({ limit: 200, owner });
    const counts = Object.entries(statuses).map(([status, runs]) => [
      runs,
      listed.runs.filter((run) => run.status === status).length,
    ]);
    for (const [counted, found] of counts) assert.equal(counted, found);
    assert.equal(total.runs, listed.runs.length);
  }
}

function at(minute: number): string {
  return new Date(BEGIN + minute * 60_000).toISOString();
}
