import assert from "node:assert/strict";
import { after, test } from "node:test";
import { testRedis } from "@switchyard/testing/test-servers";
import { until } from "@switchyard/local-servers/until";
import { createLog } from "@switchyard/service/log";
import { connectRedis } from "@switchyard/service/redis";
import { StoreError } from "@switchyard/service/store-error";
import { startedEntry } from "../../test-fixtures/journals.ts";
import { applyEntry, startOf } from "../core/replay.ts";
import { openReplicaCopies } from "./replica-copies.ts";
import { openRunStore } from "./run-store.ts";

const primary = await testRedis({ asProgram: true });
const replica = await testRedis({ more: ["--replicaof", primary.host, String(primary.port)] });
const log = createLog({ service: "test", level: "silent" });
const connect = (url: string) => connectRedis({ url, name: "test", log });
const redis = await connect(primary.url);
const copies = await openReplicaCopies(redis, 1);
after(() => {
  copies.close();
  redis.disconnect();
});
await until(async () => (await redis.wait(1, 100)) === 1);

const AT = "2026-01-01T00:00:01.000Z";
const started = startedEntry({ runId: "copied", input: "x" });
const finished = { kind: "finished", at: AT, output: "done" } as const;

test("an entry is written when a replica has it; without one that is an outage, and a repeat writes it once", async () => {
  const store = openRunStore(redis, { holdMs: 60_000, copies });
  const claim = await store.claim({
    runId: "copied",
    commandDigest: "digest",
    delivery: "1",
    started,
  });
  assert.ok(claim.outcome === "claimed");
  const append = () =>
    store.append(claim.hold, [finished], applyEntry(startOf(started), finished), 0);
  replica.kill("SIGSTOP");
  const began = performance.now();
  const failing = Array.from({ length: 20 }, append);
  const outcomes = Promise.allSettled(failing);
  await assert.rejects(failing[0] ?? append(), (error: unknown) => {
    assert.ok(error instanceof StoreError);
    return /0 of 1 replicas of Redis had it after 500 ms/.test(error.message);
  });
  // With a separate request each, this would take ten seconds.
  for (const { status } of await outcomes) assert.equal(status, "rejected");
  assert.ok(performance.now() - began < 9_000);
  replica.kill("SIGCONT");
  await until(() =>
    append().then(
      () => true,
      () => false,
    ),
  );
  assert.equal((await store.load("copied")).length, 2);

  // Confirmed entries outlive the primary.
  primary.kill("SIGKILL");
  await primary.exited;
  const other = redis.duplicate({ host: replica.host, port: replica.port, lazyConnect: true });
  after(() => other.disconnect());
  await other.connect();
  assert.equal(await other.llen("yard:run:{copied}:journal"), 2);
});
