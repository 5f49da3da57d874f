import { createHash } from "node:crypto";
import type { ScheduleRun } from "@switchyard/contracts/scheduler/schedules";
import { ownerOfRun } from "@switchyard/contracts/ids";
import { claimDue } from "@switchyard/service/due-list";
import { publishOutbox } from "@switchyard/service/event-outbox";
import type { Holding, OwnerStorage } from "@switchyard/service/owner-storage";
import type { Redis } from "@switchyard/service/redis";
import { fromRedis } from "@switchyard/service/store-error";
import type { HeartbeatTurn } from "../domain/heartbeat.ts";
import {
  wakeTime,
  type Change,
  type JobEvent,
  type JobRecord,
} from "@switchyard/project/jobs/job-record";
import { GIVE_BACK, WEIGH, WRITE } from "./store-scripts.ts";

/** A record, and which of its versions it is. */
export interface Stored {
  readonly record: JobRecord;
  readonly revision: number;
}

/** An event that waits to be published. */
export interface KeptEvent {
  readonly messageId: string;
  readonly kind: JobEvent["kind"];
  readonly owner: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

export interface WriteOptions {
  readonly now: number;
  readonly mostJobs?: number;
  readonly mark?: string;
}

/** The result of a request to add a job, for a repeat of the request. */
export interface AddNote {
  readonly jobId: string;
  /** The digest of the request. */
  readonly digest: string;
  readonly atMs: number;
}

interface Noted {
  readonly noted?: { readonly key: string; readonly note: AddNote } | null;
}

export type WriteAnswer = "ok" | "conflict" | "full" | "repeated";

/** The truth about jobs. Methods reject with StoreError. */
export interface JobStore {
  load(id: string): Promise<Stored | null>;
  /**
   * `conflict`: a concurrent write was faster, and nothing was written. `full`: the owner has reached its limit of jobs.
   * `repeated`: the message that the change is about, by its `mark`, was written before.
   */
  write(
    id: string,
    from: Stored | null,
    change: Change,
    options: WriteOptions,
  ): Promise<WriteAnswer>;
  /** Writes a new job like `write`. With a key it also stores a note of the request for a day; a repeat writes nothing and gets that note. */
  add(
    id: string,
    change: Change,
    options: WriteOptions & { readonly key: string | undefined; readonly note: AddNote },
  ): Promise<WriteAnswer | AddNote>;
  /** The note of a request to add a job; null when there is none, or no longer. */
  added(owner: string, key: string): Promise<AddNote | null>;
  take(now: number, count: number): Promise<string[]>;
  giveBack(id: string, stored: Stored): Promise<void>;
  /** Returns when the next job has to be processed. */
  nextWake(): Promise<number | null>;
  /** Lists the jobs of one owner, or of all. */
  list(owner: string | null): Promise<Stored[]>;
  count(owner: string): Promise<number>;
  /** The log of a job, which may have been removed. */
  log(id: string): Promise<ScheduleRun[]>;
  /** Returns jobs whose log is stored after their removal, the longest removed first. */
  removedJobs(owner: string): Promise<string[]>;
  isRemoved(owner: string, id: string): Promise<boolean>;
  /** True for the first caller within some seconds. */
  isFirst(runId: string): Promise<boolean>;
  /** Returns the stored content of a heartbeat; null when it has not begun. */
  heartbeat(runId: string): Promise<HeartbeatTurn | null>;
  /** Stores the content of a heartbeat for a day and returns it; content that was stored first stays and is returned. */
  beginHeartbeat(runId: string, turn: HeartbeatTurn): Promise<HeartbeatTurn>;
  /** Publishes the events that changes left. A repeat has the same message id. Rejects when Redis or `publish` does. */
  publishEvents(publish: (event: KeptEvent) => Promise<void>): Promise<void>;
}

const PREFIX = "yard:{schedules}:";
const DUE = `${PREFIX}due`;
const ALL = `${PREFIX}all`;
const OUTBOX = `${PREFIX}outbox`;
const LOG = `${PREFIX}log:`;
const ENTRIES = `${PREFIX}entries:`;
const MARKS = `${PREFIX}messages:`;
const ENTRIES_KEPT = 200;
/** The limit for one owner. Their logs expire after 30 days, and so do they. */
const REMOVED_KEPT = 10_000;
const NOTED_SECONDS = 86_400;
/** About the bytes of a note with its key. */
const NOTE_BYTES = 500;
/** The number of messages of one job whose repeats are detected. */
const MARKS_KEPT = 10_000;
const ANSWERS: readonly WriteAnswer[] = ["ok", "full", "repeated"];
/** A replica that took a job and has not written for this long has died. */
const LEASE_MS = 10_000;
const FIRST_MS = 5_000;
const HEARTBEAT_KEPT_MS = 86_400_000;
const HEARTBEAT_BYTES = 200;
/** Must match the lifetime in the scripts. */
const LOG_KEPT_MS = 2_592_000_000;
const THING = "job:";
const AT_ONCE = 200;
const EVENTS_AT_ONCE = 100;

type Script = (keyCount: number, ...args: (string | number)[]) => Promise<string[]>;

function scriptsOf(redis: Redis): Record<"yardScheduleWrite" | "yardScheduleGiveBack", Script> {
  redis.defineCommand("yardScheduleWrite", { lua: WRITE });
  redis.defineCommand("yardScheduleGiveBack", { lua: GIVE_BACK });
  // defineCommand adds the scripts as methods, which the client's type does not contain.
  return redis as unknown as ReturnType<typeof scriptsOf>;
}

/** Counts the bytes of jobs for their owners. */
export function openJobStore(
  redis: Redis,
  storage: Pick<OwnerStorage, "set" | "add">,
  clock: () => number,
): JobStore {
  const scripts = scriptsOf(redis);
  const load = async (id: string): Promise<Stored | null> => {
    const [revision, body] = await fromRedis(redis.hmget(jobKey(id), "rev", "body"));
    if (!revision || !body) return null;
    return { record: JSON.parse(body) as JobRecord, revision: Number(revision) }; // written only below
  };

  const write = countedWrite(scripts, storage, clock);

  return {
    load,

    async write(id, from, change, options) {
      const [answer] = await write(id, from, change, options);
      return ANSWERS.find((known) => known === answer) ?? "conflict";
    },

    async add(id, change, { key, note, ...options }) {
      const noted = key === undefined ? null : { key, note };
      const [answer, found = ""] = await write(id, null, change, { ...options, noted });
      if (answer === "noted") return JSON.parse(found) as AddNote; // written only here
      if (answer === "ok" && noted !== null)
        storage.add(ownerOf(change.record), NOTE_BYTES, NOTED_SECONDS * 1_000);
      return ANSWERS.find((known) => known === answer) ?? "conflict";
    },

    async added(owner, key) {
      const json = await fromRedis(redis.get(addedKey(owner, key)));
      return json === null ? null : (JSON.parse(json) as AddNote); // written only above
    },

    take: (now, limit) => claimDue(redis, DUE, { limit, claimMs: LEASE_MS, now }),

    async giveBack(id, { record, revision }) {
      await fromRedis(
        scripts.yardScheduleGiveBack(2, jobKey(id), DUE, id, revision, wakeTime(record) ?? ""),
      );
    },

    async nextWake() {
      const [, score] = await fromRedis(redis.zrange(DUE, "0", "0", "WITHSCORES"));
      return score === undefined ? null : Number(score);
    },

    async list(owner) {
      const ids = await fromRedis(redis.zrange(owner === null ? ALL : jobsKey(owner), "0", "-1"));
      const found: Stored[] = [];
      for (let from = 0; from < ids.length; from += AT_ONCE) {
        const some = await Promise.all(ids.slice(from, from + AT_ONCE).map(load));
        found.push(...some.filter((stored) => stored !== null));
      }
      return found;
    },

    count: (owner) => fromRedis(redis.zcard(jobsKey(owner))),

    async log(id) {
      const entries = await fromRedis(redis.hvals(ENTRIES + id));
      return entries.map((json) => JSON.parse(json) as ScheduleRun); // written only above
    },

    removedJobs: (owner) => fromRedis(redis.zrange(removedKey(owner), "0", "-1")),

    async isRemoved(owner, id) {
      return (await fromRedis(redis.zscore(removedKey(owner), id))) !== null;
    },

    async isFirst(runId) {
      return (
        (await fromRedis(redis.set(`${PREFIX}seen:${runId}`, 1, "PX", FIRST_MS, "NX"))) === "OK"
      );
    },

    ...heartbeatsIn(redis, storage),

    publishEvents: (publish) =>
      publishOutbox(redis, OUTBOX, {
        atOnce: EVENTS_AT_ONCE,
        publish: (text) => publish(JSON.parse(text) as KeptEvent), // written only above
      }),
  };
}

/** Writes a change, and counts the bytes of its job for its owner. Resolves with the script's reply. */
function countedWrite(
  scripts: ReturnType<typeof scriptsOf>,
  storage: Pick<OwnerStorage, "set">,
  clock: () => number,
) {
  // oxlint-disable-next-line max-params -- as for JobStore.write
  return async (
    id: string,
    from: Stored | null,
    change: Change,
    options: WriteOptions & Noted,
  ): Promise<string[]> => {
    const { keys, args } = writeOf(id, from, change, options);
    const reply = await fromRedis(scripts.yardScheduleWrite(keys.length, ...keys, ...args));
    const [answer, bytes, ...gone] = reply;
    if (answer !== "ok") return reply;
    const owner = ownerOf(from?.record ?? change.record);
    const ends = change.record === null ? clock() + LOG_KEPT_MS : null;
    storage.set(owner, THING + id, { bytes: Number(bytes), ends });
    for (const old of gone) storage.set(owner, THING + old, NOTHING);
    return reply;
  };
}

function heartbeatsIn(
  redis: Redis,
  storage: Pick<OwnerStorage, "add">,
): Pick<JobStore, "heartbeat" | "beginHeartbeat"> {
  const heartbeat = async (runId: string): Promise<HeartbeatTurn | null> => {
    const json = await fromRedis(redis.get(heartbeatKey(runId)));
    return json === null ? null : (JSON.parse(json) as HeartbeatTurn); // written only below
  };
  return {
    heartbeat,
    async beginHeartbeat(runId, turn) {
      const json = JSON.stringify(turn);
      const key = heartbeatKey(runId);
      const isNew = await fromRedis(redis.set(key, json, "PX", HEARTBEAT_KEPT_MS, "NX"));
      const owner = ownerOfRun(runId);
      if (isNew !== null && owner !== null)
        storage.add(owner, Buffer.byteLength(json) + HEARTBEAT_BYTES, HEARTBEAT_KEPT_MS);
      return (await heartbeat(runId)) ?? turn;
    },
  };
}

const NOTHING: Holding = { bytes: 0, ends: null };

/** Returns the size of a job in Redis. Null: it is deleted, or it is a thing of another kind. Rejects with StoreError. */
export async function jobHolding(
  redis: Redis,
  thing: string,
  now: () => number,
): Promise<Holding | null> {
  if (!thing.startsWith(THING)) return null;
  const id = thing.slice(THING.length);
  const weighed = redis.eval(WEIGH, 3, jobKey(id), ENTRIES + id, MARKS + id);
  const [bytes, leftMs] = (await fromRedis(weighed)) as [number, number]; // the script returns this type
  if (bytes === 0) return null;
  return { bytes, ends: leftMs < 0 ? null : now() + leftMs };
}

/** Keys and arguments of the script that writes. */
// oxlint-disable-next-line max-params -- as for write
function writeOf(
  id: string,
  from: Stored | null,
  change: Change,
  { now, mostJobs, mark, noted = null }: WriteOptions & Noted,
): { keys: string[]; args: (string | number)[] } {
  const owner = ownerOf(from?.record ?? change.record);
  const revision = (from?.revision ?? 0) + 1;
  const { record, entries, events } = change;
  const wake = record === null ? null : wakeTime(record);
  const name = (from?.record ?? record)?.job.name ?? "";
  const about = { id, owner, name, now };
  const keys = [
    jobKey(id),
    DUE,
    jobsKey(owner),
    ALL,
    removedKey(owner),
    LOG + id,
    ENTRIES + id,
    OUTBOX,
    MARKS + id,
    addedKey(owner, noted?.key ?? ""),
  ];
  const args = [
    id,
    from?.revision ?? 0,
    record === null ? "" : revision,
    record === null ? "" : JSON.stringify(record),
    wake ?? "",
    record?.job.createdAtMs ?? 0,
    mostJobs ?? "",
    now,
    ENTRIES_KEPT,
    mark ?? "",
    MARKS_KEPT,
    noted === null ? "" : JSON.stringify(noted.note),
    NOTED_SECONDS,
    REMOVED_KEPT,
    LOG,
    ENTRIES,
    MARKS,
    entries.length,
    ...entries.flatMap((entry, index) => [`${revision}-${index}`, entry.ts, JSON.stringify(entry)]),
    ...events.map((event, index) =>
      keptEvent(event, { ...about, messageId: `${id}:${revision}:${index}` }),
    ),
  ];
  return { keys, args };
}

function keptEvent(
  { kind, facts }: JobEvent,
  about: { id: string; owner: string; name: string; now: number; messageId: string },
): string {
  const { id: jobId, owner, name, messageId } = about;
  const payload = { jobId, owner, name, at: new Date(about.now).toISOString(), ...facts };
  return JSON.stringify({ messageId, kind, owner, payload } satisfies KeptEvent);
}

function ownerOf(record: JobRecord | null): string {
  if (record === null) throw new TypeError("a change that is about no job");
  return record.job.owner;
}

const jobKey = (id: string): string => `${PREFIX}job:${id}`;
const heartbeatKey = (runId: string): string => `${PREFIX}heartbeat:${runId}`;
const jobsKey = (owner: string): string => `${PREFIX}jobs:${owner}`;
/** A key may be long, and has any characters. */
const addedKey = (owner: string, key: string): string =>
  `${PREFIX}added:${owner}:${createHash("sha256").update(key).digest("hex")}`;
const removedKey = (owner: string): string => `${PREFIX}removed:${owner}`;
