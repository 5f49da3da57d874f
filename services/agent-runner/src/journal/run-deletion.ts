import type { Bus } from "@switchyard/bus/bus";
import { purgeSubject } from "@switchyard/bus/purge-subject";
import type { RunStatus } from "@switchyard/contracts/agent-runner/runs";
import { runTokens } from "@switchyard/contracts/ids";
import { STREAM_NAMES } from "@switchyard/contracts/stream-names";
import { essentialWrite } from "@switchyard/service/essential-write";
import type { Log } from "@switchyard/service/log";
import type { OwnerStorage } from "@switchyard/service/owner-storage";
import type { Redis } from "@switchyard/service/redis";
import { fromRedis } from "@switchyard/service/store-error";
import { readParent } from "../core/run-summary.ts";
import { byTime } from "./by-time.ts";
import { DELETE } from "./journal-scripts.ts";
import { OBJECT_FIELD, type LargeTexts } from "./large-texts.ts";
import { defineScripts } from "./redis-scripts.ts";
import { mayControl } from "./run-access.ts";
import type { RunArchive } from "./run-archive.ts";
import { ownerKey, type RunIndex } from "./run-index.ts";
import { deletedKey, keysOf, stateKey } from "./run-keys.ts";
import { holderOf, runThing } from "./run-storage.ts";

export type Deletion =
  /** No reader finds the run any more. */
  | { readonly outcome: "deleted" }
  /** The caller has no such run, or has deleted it before. */
  | { readonly outcome: "absent" }
  /** The run, or the one that it works for, has not ended. */
  | { readonly outcome: "not_ended"; readonly status: RunStatus };

/** Some runs of an owner, those that began first. */
export interface OwnedRuns {
  readonly rows: readonly { readonly runId: string; readonly hasEnded: boolean }[];
  /** The cursor of the next page; null at the end. */
  readonly next: string | null;
}

/**
 * Deletes runs by request. One script in the run's own slot deletes all of it that Redis has, so the run is gone for every reader at once. Its other parts are deleted by
 * the sweeper: its journal in the archive, its large texts, and its events. The run is noted before the script, and what the sweeper needs to know is in the run's slot,
 * so a process may die anywhere.
 */
export interface RunDeletion {
  /** Deletes an ended run that the caller may control; a repeat changes nothing. Rejects with StoreError. */
  delete(runId: string, by: string): Promise<Deletion>;
  /** Lists the runs of an owner that `delete` can be called for. Rejects with StoreError. */
  owned(wanted: {
    readonly owner: string;
    readonly before: string | undefined;
    readonly limit: number;
    readonly cursor: string | null;
  }): Promise<OwnedRuns>;
  /** True for a run that was deleted and that the caller could control. Rejects with StoreError. */
  wasDeleted(runId: string, by: string): Promise<boolean>;
  /** Deletes what is left of deleted runs. What fails is tried again after a minute. Rejects with StoreError when what is due cannot be read. */
  erase(): Promise<void>;
}

/** The deleted runs of which something may be left, by the time at which the sweeper looks at them. */
const DELETED = "yard:runs:deleted";
/** A request that has not deleted its run after this time has died. */
const REQUEST_MS = 60_000;
const RETRY_MS = 60_000;
/** Events that a runner had not published when the run was deleted are in the stream after this time. */
const LATE_EVENTS_MS = 600_000;
const AT_ONCE = 200;
/** The sweeper has this time, also for a run that was about to expire. */
const LEAST_TRACE_MS = 7 * 24 * 3_600_000;
/** About the bytes that Redis has of a deleted run. */
const TRACE_BYTES = 300;

interface Parts {
  readonly bus: Bus;
  readonly redis: Redis;
  readonly log: Log;
  readonly archive: Pick<RunArchive, "erase">;
  readonly texts: Pick<LargeTexts, "erase">;
  readonly index: Pick<RunIndex, "remove">;
  readonly storage: Pick<OwnerStorage, "set" | "add">;
  readonly now: () => number;
}

export function openRunDeletion(parts: Parts): RunDeletion {
  const { redis, storage, now } = parts;
  const run = defineScripts(redis, { yardRunDelete: DELETE });
  const note = async (runId: string, afterMs: number): Promise<void> => {
    await essentialWrite(redis, ["zadd", DELETED, now() + afterMs, runId]);
  };
  return {
    async delete(runId, by) {
      const found = await readRun(redis, runId);
      if (found !== null) {
        if (!mayControl(by, found)) return { outcome: "absent" };
        const status = await openStatus(redis, found);
        if (status !== null) return { outcome: "not_ended", status };
        await note(runId, REQUEST_MS);
      }
      const keys = [...keysOf(runId), deletedKey(runId)];
      const [outcome, more] = await run("yardRunDelete", keys, [by, LEAST_TRACE_MS, OBJECT_FIELD]);
      // The script returns the status only with this outcome.
      if (outcome === "not_ended") return { outcome, status: more as RunStatus };
      if (outcome === "absent") return { outcome };
      await note(runId, 0);
      if (outcome !== "deleted" || found === null) return { outcome: "absent" };
      const owner = holderOf(runId, found.requester);
      storage.set(owner, runThing(runId), { bytes: 0, ends: null });
      storage.add(owner, TRACE_BYTES, Number(more));
      await parts.index.remove(runId, found);
      return { outcome };
    },

    async owned({ owner, before, limit, cursor }) {
      const part = { cursor, count: limit, to: before, isOldestFirst: true };
      const page = await byTime(redis, ownerKey(owner), part);
      const rows = await Promise.all(
        page.rows.map(async ({ member: runId }) => {
          const found = await readRun(redis, runId);
          if (found === null) return [];
          return [{ runId, hasEnded: (await openStatus(redis, found)) === null }];
        }),
      );
      return { rows: rows.flat(), next: page.isLast ? null : (page.rows.at(-1)?.cursor ?? null) };
    },

    async wasDeleted(runId, by) {
      const requester = await fromRedis(redis.hget(deletedKey(runId), "requester"));
      return requester !== null && mayControl(by, { requester });
    },

    erase: () => eraseDue(parts, note),
  };
}

interface FoundRun {
  readonly status: RunStatus;
  readonly requester: string;
  readonly parent: string;
}

async function readRun(redis: Redis, runId: string): Promise<FoundRun | null> {
  const [status, requester, parent] = await fromRedis(
    redis.hmget(stateKey(runId), "status", "requester", "parent"),
  );
  if (!status || !requester) return null;
  return { status: status as RunStatus, requester, parent: parent ?? "" };
}

/** Returns the status of a run that has not ended, or of the run that waits for its answer; null when both have ended. */
async function openStatus(redis: Redis, { status, parent }: FoundRun): Promise<RunStatus | null> {
  if (isOpen(status)) return status;
  const above = readParent(parent);
  const found = above === null ? null : await readRun(redis, above.runId);
  return found !== null && isOpen(found.status) ? found.status : null;
}

function isOpen(status: RunStatus): boolean {
  return status === "running" || status === "waiting";
}

/** The columns in the run's slot that remain after the deletion; `open` remains until everything but late events is deleted. */
type Trace = Readonly<Record<string, string>>;

async function eraseDue(
  parts: Parts,
  note: (runId: string, afterMs: number) => Promise<void>,
): Promise<void> {
  const { redis, log, archive, now } = parts;
  const due = await fromRedis(redis.zrangebyscore(DELETED, "-inf", now(), "LIMIT", 0, AT_ONCE));
  const traces = await Promise.all(
    due.map(async (runId): Promise<[string, Trace]> => [
      runId,
      await fromRedis(redis.hgetall(deletedKey(runId))),
    ]),
  );
  const failed = new Map<string, unknown>();
  // The runs of one object leave it together.
  for (const id of new Set(traces.flatMap(([, { archive: object }]) => object ?? [])))
    await archive.erase(id).catch((error: unknown) => failed.set(id, error));
  for (const [runId, trace] of traces) {
    try {
      if (trace["archive"] !== undefined && failed.has(trace["archive"]))
        throw failed.get(trace["archive"]);
      await eraseRun(runId, trace, { ...parts, note });
    } catch (err) {
      log.warn({ err, runId }, "parts of a deleted run cannot be deleted; this is tried again");
      await note(runId, RETRY_MS);
    }
  }
}

/** Deletes the texts and events of one run. The second time, some minutes later, it finds the events that were published late. */
async function eraseRun(
  runId: string,
  trace: Trace,
  {
    bus,
    redis,
    texts,
    index,
    note,
  }: Parts & { readonly note: (runId: string, afterMs: number) => Promise<void> },
): Promise<void> {
  const { requester } = trace;
  if (requester !== undefined) {
    const references = Object.entries(trace).filter(([field]) => field.startsWith(OBJECT_FIELD));
    await texts.erase(
      runId,
      references.map(([, reference]) => reference),
    );
    const tokens = runTokens(runId, requester);
    const events = `yard.evt.run.${tokens.owner}.${tokens.runId}.>`;
    await purgeSubject(bus, STREAM_NAMES.events, events);
    await index.remove(runId, { requester });
    if (trace["open"] !== undefined) {
      await note(runId, LATE_EVENTS_MS);
      const fields = references.map(([field]) => field);
      await fromRedis(redis.hdel(deletedKey(runId), "open", "archive", ...fields));
      return;
    }
  }
  await fromRedis(redis.zrem(DELETED, runId));
}
