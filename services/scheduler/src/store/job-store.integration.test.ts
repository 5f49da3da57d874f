import assert from "node:assert/strict";
import { after, test } from "node:test";
import { ScheduleJobInput } from "@switchyard/contracts/scheduler/schedules";
import { testRedis } from "@switchyard/testing/test-servers";
import { createLog } from "@switchyard/service/log";
import type { Holding } from "@switchyard/service/owner-storage";
import { connectRedis } from "@switchyard/service/redis";
import { makeJob } from "@switchyard/project/jobs/make-job";
import { skip } from "@switchyard/project/jobs/skip";
import { jobHolding, openJobStore } from "./job-store.ts";

const NOW = Date.parse("2030-01-01T00:00:00.000Z");
const server = await testRedis();
const log = createLog({ service: "test", level: "silent" });
const redis = await connectRedis({ url: server.url, name: "test", log });
after(() => redis.disconnect());
const counted = new Map<string, Holding>();
const storage = {
  set: (owner: string, thing: string, holding: Holding) =>
    void counted.set(`${owner} ${thing}`, holding),
  add: (owner: string, bytes: number) => void counted.set(owner, { bytes, ends: null }),
};
const store = openJobStore(redis, storage, () => NOW);

async function written(message: string) {
  const input = ScheduleJobInput.parse({
    name: "report",
    agentId: "clerk",
    schedule: { kind: "every", everyMs: 3_600_000 },
    sessionTarget: "isolated",
    payload: { kind: "agentTurn", message },
  });
  const record = makeJob(input, { owner: "team-a", now: NOW, hasAgent: true });
  const { entries } = skip(record, { due: NOW, missed: 0, now: NOW, reason: "a test" });
  await store.write(record.job.id, null, { record, entries, events: [] }, { now: NOW });
  return record.job.id;
}

async function remove(id: string): Promise<void> {
  const stored = (await store.load(id)) ?? assert.fail("it is not there");
  await store.write(id, stored, { record: null, entries: [], events: [] }, { now: NOW });
}

test("a job is counted for its owner with its log, and its log for a month after its end", async () => {
  const id = await written("x".repeat(30_000));
  const holding = counted.get(`team-a job:${id}`) ?? assert.fail("it is not counted");
  assert.ok(holding.bytes > 30_000 && holding.bytes < 40_000, String(holding.bytes));
  assert.deepEqual(await jobHolding(redis, `job:${id}`, () => NOW), holding);
  await remove(id);
  const rest = counted.get(`team-a job:${id}`) ?? assert.fail("its log is not counted");
  assert.ok(rest.bytes > 0 && rest.bytes < 5_000, String(rest.bytes));
  assert.equal(rest.ends, NOW + 30 * 86_400_000);
  assert.equal((await jobHolding(redis, `job:${id}`, () => NOW))?.bytes, rest.bytes);
  assert.equal((await store.log(id)).length, 1);
});

test("the oldest logs of removed jobs are deleted when an owner has too many, and are no longer counted", async () => {
  const older = await written("short");
  await remove(older);
  const removed = "yard:{schedules}:removed:team-a";
  await redis.zadd(removed, NOW - 1, older);
  await redis.zadd(removed, ...Array.from({ length: 9_999 }, (_, n) => [NOW, `later-${n}`]).flat());
  await remove(await written("short"));
  assert.equal(counted.get(`team-a job:${older}`)?.bytes, 0);
  assert.equal(await redis.exists(`yard:{schedules}:entries:${older}`), 0);
  assert.equal(await redis.exists(`yard:{schedules}:log:${older}`), 0);
  assert.equal(await redis.zcard(removed), 10_000);
});

test("a job has its latest 200 entries and the marks of its latest 10,000 messages", async () => {
  const id = await written("often");
  const write = async (mark: string) => {
    const stored = (await store.load(id)) ?? assert.fail("it is not there");
    const { record } = stored;
    const { entries } = skip(record, { due: NOW, missed: 0, now: NOW, reason: "x" });
    return store.write(id, stored, { record, entries, events: [] }, { now: NOW, mark });
  };
  const marks = `yard:{schedules}:messages:${id}`;
  const fill = 'for n = 1, 10000 do redis.call("ZADD", KEYS[1], n, "old-" .. n) end';
  await redis.eval(fill, 1, marks);
  for (let n = 0; n < 202; n += 1) await write(`mark-${n}`);
  assert.equal(await redis.zcard(marks), 10_000);
  assert.equal(await write("mark-201"), "repeated");
  const [entries, log_] = ["entries", "log"].map((kind) => `yard:{schedules}:${kind}:${id}`);
  assert.deepEqual([await redis.hlen(entries ?? ""), await redis.zcard(log_ ?? "")], [200, 200]);
});
