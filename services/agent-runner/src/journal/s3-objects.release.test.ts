import assert from "node:assert/strict";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { after, test } from "node:test";
import { StoreError } from "@switchyard/service/store-error";
import { freePort } from "@switchyard/local-servers/free-port";
import { replaceConstants } from "@switchyard/testing/test-constants";
import { testS3 } from "@switchyard/testing/test-s3";
import {
  AFTER_MS,
  FAILED,
  KEEP_SECONDS,
  openArchiveWorld,
} from "../../test-fixtures/archive-world.ts";
import { BLOB_BYTES } from "../core/entry-codec.ts";
import { objectName, openArchiveObjects } from "./archive-objects.ts";
import { openRunArchive } from "./run-archive.ts";
import { journalKey, keysOf, stateKey } from "./run-keys.ts";
import { openRunStore } from "./run-store.ts";
import { readS3Url, openS3Objects } from "./s3-objects.ts";

const BUCKET = "runs";
const HOUR_MS = 3_600_000;
const s3 = await testS3(BUCKET);
const skip = "skip" in s3 ? s3.skip : false;
const { endpoint, directory, env } = "skip" in s3 ? { endpoint: "", directory: "", env: {} } : s3;

/** The store at the server of this test, or with something wrong about it. */
function s3Objects({ bucket = BUCKET, at = endpoint, keys = env } = {}) {
  const location = readS3Url(`s3://${bucket}/a/b?endpoint=${at}`) ?? assert.fail();
  return openS3Objects(location, { ...keys });
}

const world = await openArchiveWorld((bus) =>
  openArchiveObjects(bus, skip === false ? s3Objects() : null),
);
const { bus, redis, log, lines, clock, options, archive, store, moveAt, ended, retried } = world;

/** The names of the objects below the prefix. */
async function stored(): Promise<string[]> {
  return readdir(join(directory, BUCKET, "a", "b")).catch(() => []);
}

/** The name of the object that an id refers to now. */
async function nameOf(id: string): Promise<string> {
  return objectName((await redis.get(`yard:runs:archive:${id}`)) ?? "{}");
}

test(
  "journals are objects below the prefix, are read as before, and come back with a retry",
  { skip },
  async () => {
    const [first, second] = [
      await ended({ prompt: "ä".repeat(BLOB_BYTES) }),
      await ended({}, FAILED),
    ];
    const before = await Promise.all([store.load(first), store.load(second)]);
    assert.equal(await moveAt(AFTER_MS), 2);
    assert.equal(await redis.exists(journalKey(first), journalKey(second)), 0);
    assert.deepEqual(await stored(), [await redis.hget(stateKey(first), "archive")]);
    assert.deepEqual(await Promise.all([store.load(first), store.load(second)]), before);
    const { journal } = await retried(second);
    assert.deepEqual(journal.slice(0, -1), before[1]);
  },
);

test(
  "an object is deleted when the last of its runs is over, and not before",
  { skip },
  async () => {
    const runId = await ended();
    assert.equal(await moveAt(AFTER_MS), 1);
    const id = (await redis.hget(stateKey(runId), "archive")) ?? "";
    clock.nowMs += HOUR_MS;
    await archive.renew();
    const name = await nameOf(id);
    assert.ok((await stored()).includes(name), "the run is still stored");
    await redis.del(...keysOf(runId), `yard:runs:archive:${id}`);
    clock.nowMs += HOUR_MS + KEEP_SECONDS * 1_000;
    await archive.renew();
    assert.ok(!(await stored()).includes(name));
    assert.equal(await redis.zscore("yard:runs:archived", id), null);
  },
);

test(
  "a mover that dies at any step loses no journal, and what it stored is deleted",
  { skip },
  async () => {
    for (let step = 1; step <= 4; step += 1) {
      const runId = await ended();
      const before = await store.load(runId);
      const there = new Set(await stored());
      let steps = 0;
      const dying = world.moverWith(async () => {
        steps += 1;
        if (steps === step) throw new Error("the process died");
      });
      clock.nowMs += 10 * AFTER_MS;
      assert.equal(await dying.move(), 0);
      const unused = (await stored()).filter((name) => !there.has(name));
      assert.equal(unused.length, step >= 3 ? 1 : 0, `died at step ${step}`);
      assert.equal(await archive.move(), 1);
      assert.deepEqual(await store.load(runId), before);
      // The references of these objects expire with Redis' clock.
      for (const id of unused) await redis.del(`yard:runs:archive:${id}`);
      clock.nowMs += 2 * HOUR_MS;
      await archive.renew();
      const left = await stored();
      assert.ok(unused.every((name) => !left.includes(name)));
      assert.deepEqual(await store.load(runId), before);
    }
  },
);

test(
  "while the store cannot be used journals stay in Redis, and the log states why",
  { skip },
  async () => {
    const silent = createServer(() => {}).listen(0, "127.0.0.1");
    await once(silent, "listening");
    after(() => silent.close());
    const address = silent.address();
    const quiet = typeof address === "object" && address !== null ? address.port : 0;
    const restore = replaceConstants({ archiveRequestMs: 2_000 });
    const wrong = [
      [{ bucket: "others" }, /s3:\/\/others\/a\/b\/ of .* cannot be used: there is no such bucket/],
      [{ keys: { ...env, AWS_ACCESS_KEY_ID: "other" } }, /cannot be used: .*access key ID/],
      [
        { keys: { ...env, AWS_SECRET_ACCESS_KEY: "other" } },
        /it refuses the keys: .*SignatureDoesNotMatch/,
      ],
      [{ at: `http://127.0.0.1:${await freePort()}` }, /it cannot be reached: .*ECONNREFUSED/],
      [{ at: `http://127.0.0.1:${quiet}` }, /it has not replied within 2000 ms/],
    ] as const;
    const stores = wrong.map(([what, message]) => [s3Objects(what), message] as const);
    restore();
    const runId = await ended();
    const before = await store.load(runId);
    clock.nowMs += 10 * AFTER_MS;
    for (const [foreign, message] of stores) {
      const mover = world.moverWith(async () => {}, openArchiveObjects(bus, foreign));
      assert.equal(await mover.move(), 0);
      assert.match(lines.at(-1) ?? "", message);
      assert.match(lines.at(-1) ?? "", /journals of ended runs cannot be moved/);
      assert.equal(await redis.exists(journalKey(runId)), 1);
      const count = lines.length;
      assert.equal(await mover.move(), 0);
      assert.equal(lines.length, count, "it pauses after a failure");
    }
    assert.equal(await archive.move(), 1);
    for (const [foreign, message] of stores) {
      const objects = openArchiveObjects(bus, foreign);
      const blind = openRunArchive({ redis, log }, { ...options, objects });
      const reader = openRunStore(redis, { ...world.storeOptions, archive: blind });
      const failure = await reader.load(runId).catch((error: unknown) => error);
      assert.ok(failure instanceof StoreError, "an outage, after which it is read");
      assert.match(failure.message, message);
    }
    assert.deepEqual(await store.load(runId), before);
  },
);

test(
  "what JetStream has is read after a change to S3, and moves there when it is stored again",
  { skip },
  async () => {
    const runId = await ended({}, FAILED);
    const before = await store.load(runId);
    const inBucket = openArchiveObjects(bus, null);
    clock.nowMs += 10 * AFTER_MS;
    assert.equal(await world.moverWith(async () => {}, inBucket).move(), 1);
    const id = (await redis.hget(stateKey(runId), "archive")) ?? "";
    assert.deepEqual(await store.load(runId), before);
    clock.nowMs += 60 * 24 * HOUR_MS;
    await archive.renew();
    assert.ok((await stored()).includes(await nameOf(id)));
    assert.deepEqual(await store.load(runId), before);
    const unset = openRunArchive({ redis, log }, { ...options, objects: inBucket });
    await assert.rejects(unset.read(runId), /is in an S3 store: set YARD_RUN_ARCHIVE_URL/);
  },
);
