import assert from "node:assert/strict";
import { after } from "node:test";
import type { Bus } from "@switchyard/bus/bus";
import { ensureStreams } from "@switchyard/bus/streams";
import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import { createLog } from "@switchyard/service/log";
import { connectRedis, type Redis } from "@switchyard/service/redis";
import { testBus } from "@switchyard/testing/test-bus";
import { testNats, testRedis } from "@switchyard/testing/test-servers";
import type { JournalEntry } from "../src/core/journal-entry.ts";
import { applyEntry, startOf } from "../src/core/replay.ts";
import type { ArchiveObjects } from "../src/journal/archive-objects.ts";
import { openLargeTexts } from "../src/journal/large-texts.ts";
import { openRunArchive, type RunArchive } from "../src/journal/run-archive.ts";
import { openRunControls } from "../src/journal/run-controls.ts";
import { openRunDeletion, type RunDeletion } from "../src/journal/run-deletion.ts";
import { openRunIndex } from "../src/journal/run-index.ts";
import { openRunStore } from "../src/journal/run-store.ts";
import { startedEntry } from "./journals.ts";

export const AFTER_MS = 60_000;
export const KEEP_SECONDS = 600;
/** The digest of the command of every run. */
export const COMMAND_DIGEST = canonicalDigest("a command");
export const AT = "2026-01-01T00:00:02.000Z";
const FINISHED: JournalEntry = { kind: "finished", at: AT, output: "done" };
export const FAILED: JournalEntry = {
  kind: "failed",
  at: AT,
  failure: { code: "model_error", message: "no answer" },
};

/** Runs in a Redis of its own, an archive of them, and a clock that the test sets. */
export async function openArchiveWorld(objectsWith: (bus: Bus) => ArchiveObjects) {
  const nats = await testNats();
  await ensureStreams(await testBus(nats, "admin"));
  const bus = await testBus(nats, "runner");
  const server = await testRedis();
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  const log = createLog({ service: "test", level: "warn", destination });
  const redis = await connectRedis({ url: server.url, name: "test", log });
  after(() => redis.disconnect());

  const clock = { nowMs: Date.parse("2026-01-01T00:00:00.000Z") };
  const now = (): number => clock.nowMs;
  const counted = new Map<string, number>();
  const storage = {
    reserve: async () => {},
    set: (_owner: string, thing: string, { bytes }: { readonly bytes: number }) =>
      void counted.set(thing, bytes),
  };
  const texts = openLargeTexts({ bus, redis, log }, { storage, now });
  const options = { objects: objectsWith(bus), afterMs: AFTER_MS, storage, now };
  const archive = openRunArchive({ redis, log }, options);
  const storeOptions = { holdMs: 60_000, keepSeconds: KEEP_SECONDS, texts, archive };
  const store = openRunStore(redis, storeOptions);
  const controls = openRunControls(redis, undefined, undefined, { texts, archive });
  const index = openRunIndex(redis, store, { keepSeconds: KEEP_SECONDS, now });
  const deletionWith = (client: Redis, by: Pick<RunArchive, "erase"> = archive): RunDeletion =>
    openRunDeletion({
      bus,
      redis: client,
      log,
      archive: by,
      texts,
      index,
      storage: { ...storage, add: () => {} },
      now,
    });

  let runs = 0;
  return {
    nats,
    bus,
    redis,
    log,
    lines,
    clock,
    counted,
    options,
    archive,
    storeOptions,
    store,
    controls,
    index,
    deletion: deletionWith(redis),

    /** A deletion of runs, and of their journals, with a step before each command of Redis that changes something. */
    deletionBy: (before: (command: string) => Promise<void>): RunDeletion => {
      const client = intercepted(redis, before, CHANGES);
      return deletionWith(client, openRunArchive({ redis: client, log }, options));
    },

    /** Moves what ended so long ago, with the time for which few runs wait for others. */
    moveAt: async (afterMs: number): Promise<number> => {
      const endedMs = clock.nowMs;
      clock.nowMs = endedMs + afterMs + (afterMs < AFTER_MS ? 0 : AFTER_MS);
      const moved = await archive.move();
      if (afterMs < AFTER_MS) clock.nowMs = endedMs;
      return moved;
    },

    /** A run that has ended now; returns its id. */
    ended: async (
      fields: Partial<Parameters<typeof startedEntry>[0]> = {},
      ...entries: readonly JournalEntry[]
    ): Promise<string> => {
      runs += 1;
      const runId = `team-a~run-${runs}`;
      const started = startedEntry({ runId, requester: "team-a", ...fields });
      const claimed = await store.claim({
        runId,
        commandDigest: COMMAND_DIGEST,
        delivery: "1",
        started,
      });
      assert.ok(claimed.outcome === "claimed");
      const ends = entries.length === 0 ? [FINISHED] : entries;
      await store.append(claimed.hold, ends, ends.reduce(applyEntry, startOf(started)), 0);
      return runId;
    },

    retried: async (runId: string) => {
      const retry = { runId, by: "team-a", at: AT, limits: {}, command: "c", streamSequence: 2 };
      assert.equal(await controls.retry(retry), "ok");
      const claimed = await store.claim({ runId, commandDigest: null, delivery: "2" });
      assert.ok(claimed.outcome === "claimed");
      return { hold: claimed.hold, journal: await store.load(runId) };
    },

    /** A mover that does something before each of some commands of Redis. */
    moverWith: (
      before: (command: string) => Promise<void>,
      objects = options.objects,
      commands = MOVES,
    ) =>
      openRunArchive({ redis: intercepted(redis, before, commands), log }, { ...options, objects }),
  };
}

const MOVES: readonly string[] = ["set", "zadd", "time", "yardRunArchive", "yardRunRestore"];
const CHANGES = ["eval", "yardRunDelete", "yardArchiveSwitch", "zadd", "zrem", "hdel"];

/** A client with a step before its commands. */
function intercepted(
  redis: Redis,
  before: (command: string) => Promise<void>,
  commands: readonly string[],
): Redis {
  return new Proxy(redis, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      if (!commands.includes(String(name))) return value.bind(target);
      return async (...args: unknown[]) => {
        await before(String(name));
        return value.apply(target, args);
      };
    },
  });
}
