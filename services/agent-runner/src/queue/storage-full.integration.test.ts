import { call } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { connectBus } from "@switchyard/bus/connect";
import { connectionOf } from "@switchyard/bus/connection";
import { isError, ServiceError } from "@switchyard/contracts/errors";
import { getFile, putFile } from "@switchyard/contracts/agent-runner/files";
import { bucketStream, inputFiles } from "@switchyard/topology/payload-stores";
import { getRun, requestCancel } from "@switchyard/contracts/agent-runner/runs";
import { deleteSession, sendToSession } from "@switchyard/contracts/agent-runner/sessions";
import { until } from "@switchyard/local-servers/until";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { agent, answering, labTool } from "../../test-fixtures/fake-services.ts";
import { startLab } from "../../test-fixtures/runner-lab.ts";

const lab = await startLab();
const { services } = lab;
const log = createLog({ service: "test", level: "silent" });
const redis = await connectRedis({ url: lab.redis.url, name: "test", log });
// The lab has no permissions, so that a client may connect under any name.
const [teamA, teamC, me] = await Promise.all(
  ["team-a", "team-c", "me"].map((user) => connectBus({ servers: lab.nats.url, user })),
);
assert.ok(teamA !== undefined && teamC !== undefined && me !== undefined);
after(async () => {
  await Promise.all([teamA.close(), teamC.close(), me.close()]);
  redis.disconnect();
});

const gates = new Map<string, () => void>();
const reached = new Set<string>();
services.tools.set("gate", async ({ name }) => {
  const { promise, resolve } = Promise.withResolvers<void>();
  gates.set(String(name), resolve);
  reached.add(String(name));
  await promise;
  return "opened";
});
const gateNamed = (name: string) => ({ tool: labTool("gate"), with: { name } });
for (const name of ["first", "second", "third", "fourth"])
  services.agents.set(
    `gated-${name}`,
    agent(`gated-${name}`, { plan: { steps: [{ calls: [gateNamed(name)] }], answer: "done" } }),
  );
services.agents.set("plain", answering("plain", "ok"));
const runner = await lab.runner({ YARD_OWNER_STORAGE_MIB: "1", YARD_FILES_MIB: "1" });
const { healthUrl } = await runner.logged("service ready");

const LARGE = "x".repeat(100_000);
const OF_BROKER = "yard:storage:{team-a}:broker";
const keptBy = async (owner: string) =>
  Number((await redis.hget(`yard:storage:{${owner}}:runner`, "=")) ?? 0);

const fileOf = (bus: Bus, name: string, bytes: Uint8Array) =>
  call(bus, putFile, { name }, { attachment: [bytes] });

test("counts the bytes of files for their owner apart from Redis, and a file that is stored again once", async () => {
  const large = Buffer.alloc(600 * 1024, "x");
  const { file } = await fileOf(lab.bus, "a.txt", large);
  assert.deepEqual((await fileOf(lab.bus, "a.txt", large)).file, file);
  const refused = await fileOf(lab.bus, "b.txt", large).catch((error: unknown) => error);
  assert.ok(isError(refused, putFile, "files_full"), String(refused));
  assert.equal(refused.data.limitBytes, 1024 ** 2);
  await fileOf(me, "b.txt", large);
  assert.deepEqual((await call(lab.bus, getFile, { ref: file.ref })).file, file);
  const foreign = call(me, getFile, { ref: file.ref });
  await assert.rejects(foreign, { code: "unknown_file" });
  await startAs("me", "plain", { runId: "foreign", input: [file] });
  const [rejected] = await lab.eventsUntil("me~foreign", isEnd);
  assert.equal(rejected?.payload["code"], "unknown_file");
});

test("ends a run whose file is missing in the store, and stores the file again when it is sent again", async () => {
  const bytes = Buffer.from("plugh");
  const { file } = await fileOf(lab.bus, "gone.txt", bytes);
  await connectionOf(lab.bus).nc.request(`$JS.API.STREAM.PURGE.${bucketStream(inputFiles)}`);
  await startAs("cli", "plain", {
    runId: "gone",
    input: [{ type: "text", text: "look" }, file],
  });
  assert.equal((await lab.eventsUntil("cli~gone", isEnd)).at(-1)?.name, "finished");
  const again = await fileOf(lab.bus, "gone.txt", bytes);
  assert.notEqual(again.file.ref, file.ref);
});

test("an input above 256 KiB uses the owner's part of the bucket, and Redis where that is used up [41]", async () => {
  const input = "y".repeat(700_000);
  for (const [runId, inRedis] of [
    ["in-bucket", false],
    ["in-redis", true],
  ] as const) {
    await startAs("team-d", "plain", { runId, input: `${runId} ${input}` });
    assert.equal((await lab.eventsUntil(`team-d~${runId}`, isEnd)).at(-1)?.name, "finished");
    await until(async () => (await keptBy("team-d")) > 700_000 === inRedis);
  }
});

test("refuses the starts of an owner whose storage is used up, and no other owner's", async () => {
  await startAs("team-a", "gated-first", { runId: "under-way", input: "x" });
  await until(() => reached.has("first"));
  let refused: string | null = null;
  for (let n = 0; n < 12 && refused === null; n += 1) {
    await startAs("team-a", "plain", { runId: `large-${n}`, input: `${n} ${LARGE}` });
    const last = (await lab.eventsUntil(`team-a~large-${n}`, isEnd)).at(-1);
    if (last?.name === "rejected") refused = String(last.payload["code"]);
  }
  assert.equal(refused, "storage_full");
  assert.ok((await keptBy("team-a")) <= 1024 ** 2, "no more than it may");
  await startAs("team-b", "plain", { runId: "other", input: "x" });
  await lab.eventsUntil("team-b~other", "finished");
});

test("refuses messages for sessions, too, when the storage that several services count together is used up", async () => {
  await redis.hset(OF_BROKER, "=", 1024 ** 2);
  // The storage counted by other services is read every five seconds.
  await until(async () => {
    const error = await say(teamA).then(() => "", String);
    return /team-a keeps (1\.[5-9]|2\.\d) MiB and may keep 1\.0/.test(error);
  });
  await assert.rejects(say(teamA), (refusal) => isStorageFull(refusal, "owner"));
});

test("lets a run of such an owner end, and accepts a cancel only for a run that exists", async () => {
  gates.get("first")?.();
  const failed = (await lab.eventsUntil("team-a~under-way", "failed")).at(-1);
  assert.match(JSON.stringify(failed?.payload), /"code":"storage_full"/);
  const { outcome } = await call(teamA, requestCancel, { runId: "under-way" });
  assert.equal(outcome, "ended");
  const never = call(teamA, requestCancel, { runId: "never-begun" });
  await assert.rejects(never, (error) => isStorageFull(error, "owner"));
});

test("accepts new work when storage was freed, and counts a session until it is deleted", async () => {
  await redis.del(OF_BROKER);
  const [key = ""] = await redis.keys("yard:run:{team-a~large-0}:state");
  assert.notEqual(key, "");
  for (const part of ["state", "journal", "blobs"]) await redis.del(key.replace(/state$/, part));
  // The entry is made to expire: an object that was not set for a day is looked up.
  await redis.hset("yard:storage:{team-a}:runner", "run:team-a~large-0", "110000 1");
  await until(async () => {
    await startAs("team-a", "plain", { runId: `again-${Date.now()}`, input: "x" });
    return (await redis.hexists("yard:storage:{team-a}:runner", "run:team-a~large-0")) === 0;
  });
  const { sessionId } = await until(() => say(teamA).catch(() => null));
  await until(async () => (await countedSessions("team-a")) === 1);
  await call(teamA, deleteSession, { session: sessionId });
  await until(async () => (await countedSessions("team-a")) === 0);
});

test("refuses new work of all owners from 85 % of maxmemory on, while work in progress continues", async () => {
  await startAs("team-c", "gated-second", { runId: "near", input: "x" });
  await until(() => reached.has("second"));
  await fillTo(0.87);
  await startAs("team-c", "plain", { runId: "not-now", input: "x" });
  const rejected = (await lab.eventsUntil("team-c~not-now", isEnd)).at(-1);
  assert.equal(rejected?.payload["code"], "storage_full");
  await assert.rejects(say(teamC), (error) => isStorageFull(error, "redis"));
  gates.get("second")?.();
  await lab.eventsUntil("team-c~near", "finished");
});

test("suspends runs from 92 % on, and resumes them when there is room again", async () => {
  await fillTo(0);
  await startAs("team-c", "gated-third", { runId: "resting", input: "x" });
  await until(() => reached.has("third"));
  await fillTo(0.95);
  gates.get("third")?.();
  await lab.eventsUntil("team-c~resting", "tool-completed");
  await until(async () => (await redis.zscore("yard:runs:parked", "team-c~resting")) !== null);
  const { run } = await call(lab.bus, getRun, { runId: "team-c~resting" });
  assert.equal(run.status, "running");
  await fillTo(0);
  await lab.eventsUntil("team-c~resting", "finished");
});

test("stores the result of a call, and ends a run by a cancel, while Redis is over its maxmemory", async () => {
  await startAs("team-c", "gated-fourth", { runId: "over", input: "x" });
  await until(() => reached.has("fourth"));
  await fillTo(1.5);
  await assert.rejects(redis.set("yard:test:{x}", "1"), /^ReplyError: OOM/);
  gates.get("fourth")?.();
  await lab.eventsUntil("team-c~over", "tool-completed");
  const cancelled = await call(teamC, requestCancel, { runId: "over" });
  assert.deepEqual(cancelled, { outcome: "requested" });
  await lab.eventsUntil("team-c~over", "cancelled");
  assert.equal(await redis.hget("yard:run:{team-c~over}:state", "status"), "cancelled");
  await fillTo(0);
});

/** Sets maxmemory so that the used memory is this share of it, and waits until the runner has noticed; 0: no limit. */
async function fillTo(share: number): Promise<void> {
  const info = await redis.info("memory");
  const used = Number(/^used_memory:(\d+)/m.exec(info)?.[1]);
  const limit = share === 0 ? 0 : Math.floor(used / share);
  await redis.config("SET", "maxmemory", String(limit));
  await until(async () => {
    const metrics = await (await fetch(`${String(healthUrl)}/metrics`)).text();
    const known = Number(/^yard_redis_fill_ratio\S* (\S+)$/m.exec(metrics)?.[1]);
    return share === 0 ? known === 0 : Math.abs(known - share) < 0.02;
  });
}

function startAs(owner: string, name: string, body: unknown): Promise<void> {
  return lab.publish(`yard.cmd.${owner}.run.start.${name}`, JSON.stringify(body));
}

function isEnd({ name }: { readonly name: string }): boolean {
  return ["finished", "failed", "rejected"].includes(name);
}

function say(bus: Bus) {
  return call(bus, sendToSession, { session: "s", agent: "plain", message: "hello" });
}

async function countedSessions(owner: string): Promise<number> {
  const things = await redis.hkeys(`yard:storage:{${owner}}:runner`);
  return things.filter((thing) => thing.startsWith("session:")).length;
}

function isStorageFull(error: unknown, scope: "owner" | "redis"): boolean {
  assert.ok(error instanceof ServiceError);
  assert.equal(error.code, "storage_full");
  assert.equal((error.data as { scope: string }).scope, scope); // the contract guarantees it
  return true;
}
