import { promisify } from "node:util";
import { zstdCompress, zstdDecompress } from "node:zlib";
import type { Bus } from "@switchyard/bus/bus";
import { getObject, putObject } from "@switchyard/bus/objects";
import { runArchive } from "@switchyard/topology/payload-stores";
import { essentialWrite } from "@switchyard/service/essential-write";
import type { Log } from "@switchyard/service/log";
import type { OwnerStorage } from "@switchyard/service/owner-storage";
import type { Redis } from "@switchyard/service/redis";
import { fromRedis } from "@switchyard/service/store-error";
import { z } from "zod";
import { JournalCorrupt } from "../core/run-state.ts";
import { ARCHIVE, RESTORE, RUN_BYTES } from "./journal-scripts.ts";
import { OBJECT_FIELD } from "./large-texts.ts";
import { defineScripts } from "./redis-scripts.ts";
import { blobsKey, journalKey, keysOf, stateKey } from "./run-keys.ts";
import { holderOf, runThing } from "./run-storage.ts";

/** A journal as Redis has it: the entries, and the long texts that they refer to, by digest. */
const StoredJournal = z.object({
  entries: z.array(z.string()),
  texts: z.record(z.string(), z.string()),
});
export type StoredJournal = z.infer<typeof StoredJournal>;

/**
 * The journals of runs that ended some time ago, outside of Redis. The state of a run stays in Redis with everything that lists and counts need, and has the
 * name of the object with its journal. A journal is deleted in Redis after the object is stored, and only if the run has not been opened again meanwhile, so it
 * is never in neither place.
 */
export interface RunArchive {
  /** Notes that a run has ended. A note that is lost leaves the journal in Redis for as long as the run is kept. */
  noteEnd(runId: string): void;
  /** Moves journals that are due, many at once; returns how many. After a failure nothing is moved for ten minutes. Rejects with StoreError when what is due cannot be read. */
  move(): Promise<number>;
  /**
   * Returns the journal of a run that was moved; null when it was not. Rejects with StoreError, with a ServiceError while the bucket cannot be read, and with
   * JournalCorrupt when it has lost the journal.
   */
  read(runId: string): Promise<StoredJournal | null>;
  /** Puts the journal of a run back into Redis, for a run that is opened again. Rejects as `read` does. */
  restore(runId: string): Promise<void>;
  /** Stores the objects again that the bucket would delete before their runs; at most once an hour. Rejects with StoreError. */
  renew(): Promise<void>;
}

/** No archive: every journal stays in Redis. */
export const NO_ARCHIVE: Pick<RunArchive, "noteEnd" | "read" | "restore"> = {
  noteEnd: () => {},
  read: async () => null,
  restore: async (runId) => {
    throw new JournalCorrupt(`the journal of ${runId} is in an archive that is not read here`);
  },
};

interface RunArchiveOptions {
  /** The time between the end of a run and the move of its journal. 0: nothing is moved, and what was moved is read. */
  readonly afterMs: number;
  /** The time for which a run is stored after its end. */
  readonly keepSeconds: number;
  readonly storage: Pick<OwnerStorage, "set">;
  readonly now: () => number;
}

export function openRunArchive(
  { bus, redis, log }: { readonly bus: Bus; readonly redis: Redis; readonly log: Log },
  options: RunArchiveOptions,
): RunArchive {
  return new BucketArchive({ bus, redis, log }, options);
}

/** The runs that have ended, by the time at which their journals are to be moved. */
const ENDED = "yard:runs:ended";
/** The objects, by the time at which they are to be stored again. */
const RENEWALS = "yard:runs:archived";
/** The most runs of one object, and about its bytes before compression. A larger journal is alone in its object. */
const MOST_RUNS = 200;
const MOST_BYTES = 4 * 1_024 ** 2;
/** Fewer runs wait so long for others: an object for each run would cost more than the run in Redis. */
const GATHER_MS = 600_000;
const HOUR_MS = 3_600_000;
/** The time without another attempt after one that failed. */
const PAUSE_MS = 600_000;
const MOST_RENEWED = 1_000;
const RENEW_AFTER_MS = runArchive.ttlMs / 2;

const Reference = z.object({ name: z.string(), sizeBytes: z.number(), sha256: z.string() });
const Journals = z.record(z.string(), StoredJournal);
const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

/** An ended run whose journal is in Redis. */
interface EndedRun {
  readonly runId: string;
  readonly requester: string;
  readonly bytes: number;
}

class BucketArchive implements RunArchive {
  readonly #parts: { readonly bus: Bus; readonly redis: Redis; readonly log: Log };
  readonly #options: RunArchiveOptions;
  readonly #run: ReturnType<
    typeof defineScripts<{ yardRunArchive: string; yardRunRestore: string }>
  >;
  #pausedUntil = 0;
  #renewsAt = 0;

  constructor(
    parts: { readonly bus: Bus; readonly redis: Redis; readonly log: Log },
    options: RunArchiveOptions,
  ) {
    this.#parts = parts;
    this.#options = options;
    this.#run = defineScripts(parts.redis, { yardRunArchive: ARCHIVE, yardRunRestore: RESTORE });
  }

  noteEnd(runId: string): void {
    const { afterMs, now } = this.#options;
    if (afterMs === 0) return;
    const { redis, log } = this.#parts;
    essentialWrite(redis, ["zadd", ENDED, now() + afterMs, runId]).catch((err: unknown) =>
      log.debug({ err, runId }, "the journal of an ended run stays in Redis"),
    );
  }

  async move(): Promise<number> {
    const { afterMs, now } = this.#options;
    if (afterMs === 0 || now() < this.#pausedUntil) return 0;
    const { redis, log } = this.#parts;
    const due = await fromRedis(
      redis.zrangebyscore(ENDED, "-inf", now(), "WITHSCORES", "LIMIT", 0, MOST_RUNS),
    );
    const ids = due.filter((_, index) => index % 2 === 0);
    if (ids.length === 0) return 0;
    const gathersStill = Number(due[1]) > now() - Math.min(GATHER_MS, afterMs);
    if (ids.length < MOST_RUNS && gathersStill) return 0;
    const { chosen, settled } = await this.#choose(ids);
    try {
      const moved = await this.#moveRuns(chosen);
      await fromRedis(redis.zrem(ENDED, ...settled, ...chosen.map(({ runId }) => runId)));
      return moved;
    } catch (err) {
      // A full bucket stays full for a while, and each attempt reads and compresses all journals of an object.
      this.#pausedUntil = now() + PAUSE_MS;
      log.warn({ err }, "journals of ended runs cannot be moved out of Redis");
      return 0;
    }
  }

  async read(runId: string): Promise<StoredJournal | null> {
    const { redis } = this.#parts;
    const id = await fromRedis(redis.hget(stateKey(runId), "archive"));
    return id === null ? null : this.#journalIn(id, runId);
  }

  async restore(runId: string): Promise<void> {
    const { redis } = this.#parts;
    const id = await fromRedis(redis.hget(stateKey(runId), "archive"));
    if (id === null) return;
    const { entries, texts } = await this.#journalIn(id, runId);
    const args = [id, entries.length, ...entries, ...Object.entries(texts).flat()];
    await this.#run("yardRunRestore", keysOf(runId), args);
  }

  async renew(): Promise<void> {
    const { redis, log } = this.#parts;
    const { now } = this.#options;
    if (now() < this.#renewsAt) return;
    this.#renewsAt = now() + HOUR_MS;
    const due = await fromRedis(
      redis.zrangebyscore(RENEWALS, "-inf", now(), "LIMIT", 0, MOST_RENEWED),
    );
    for (const id of due)
      await this.#renewObject(id).catch((err: unknown) =>
        log.warn({ err }, `object ${id} of the archive of runs cannot be stored for longer`),
      );
  }

  /** Returns runs for one object, and those of which there is nothing to move: they run again, were moved, or are gone. */
  async #choose(ids: readonly string[]): Promise<{ chosen: EndedRun[]; settled: string[] }> {
    const { redis } = this.#parts;
    const columns = await Promise.all(
      ids.map((runId) =>
        fromRedis(redis.hmget(stateKey(runId), "status", "archive", "requester", "bytes")),
      ),
    );
    const chosen: EndedRun[] = [];
    const settled: string[] = [];
    let bytes = 0;
    for (const [index, [status, archive, requester, size]] of columns.entries()) {
      const runId = ids[index] ?? "";
      const hasEnded = status && status !== "running" && status !== "waiting";
      if (!hasEnded || archive || !requester) {
        settled.push(runId);
        continue;
      }
      bytes += Number(size);
      if (bytes > MOST_BYTES && chosen.length > 0) break;
      chosen.push({ runId, requester, bytes: Number(size) });
    }
    return { chosen, settled };
  }

  /** Stores the journals as one object, and then deletes each of them in Redis whose run is as it was read. */
  async #moveRuns(runs: readonly EndedRun[]): Promise<number> {
    if (runs.length === 0) return 0;
    const { redis } = this.#parts;
    const { keepSeconds, now } = this.#options;
    const journals = await Promise.all(
      runs.map(async ({ runId }) => [runId, await this.#journalInRedis(runId)] as const),
    );
    const packed = await compress(Buffer.from(JSON.stringify(Object.fromEntries(journals))));
    const reference = await this.#put(packed);
    await fromRedis(redis.zadd(RENEWALS, now() + RENEW_AFTER_MS, reference.name));
    await fromRedis(
      redis.set(objectKey(reference.name), JSON.stringify(reference), "EX", keepSeconds),
    );
    const total = runs.reduce((sum, { bytes }) => sum + bytes, 1);
    const moved = await Promise.all(
      journals.map(async ([runId, { entries, texts }], index) => {
        const { requester = "", bytes = 0 } = runs[index] ?? {};
        const size = RUN_BYTES + Math.round((packed.length * bytes) / total);
        const args = [entries.length, reference.name, size, ...Object.keys(texts)];
        const [outcome, leftMs] = await this.#run("yardRunArchive", keysOf(runId), args);
        if (outcome !== "ok") return 0;
        const holding = { bytes: size, ends: now() + Number(leftMs) };
        this.#options.storage.set(holderOf(runId, requester), runThing(runId), holding);
        return 1;
      }),
    );
    return moved.reduce<number>((sum, one) => sum + one, 0);
  }

  /** References to large texts stay in Redis, where the texts' own renewal finds them. */
  async #journalInRedis(runId: string): Promise<StoredJournal> {
    const { redis } = this.#parts;
    const [entries, blobs] = await Promise.all([
      fromRedis(redis.lrange(journalKey(runId), 0, -1)),
      fromRedis(redis.hgetall(blobsKey(runId))),
    ]);
    const texts = Object.entries(blobs).filter(([field]) => !field.startsWith(OBJECT_FIELD));
    return { entries, texts: Object.fromEntries(texts) };
  }

  async #journalIn(id: string, runId: string): Promise<StoredJournal> {
    const packed = await this.#get(id);
    const journals =
      packed === null ? {} : Journals.parse(JSON.parse((await decompress(packed)).toString()));
    const journal = journals[runId];
    if (journal === undefined)
      throw new JournalCorrupt(`the archive has lost the journal of ${runId}`);
    return journal;
  }

  async #put(packed: Buffer): Promise<z.infer<typeof Reference>> {
    const { name, sizeBytes, sha256 } = await putObject(this.#parts.bus, runArchive.bucket, [
      packed,
    ]);
    return { name, sizeBytes, sha256 };
  }

  async #get(id: string): Promise<Buffer | null> {
    const { redis, bus } = this.#parts;
    const reference = await fromRedis(redis.get(objectKey(id)));
    if (reference === null) return null;
    return getObject(bus, { bucket: runArchive.bucket, ...Reference.parse(JSON.parse(reference)) });
  }

  /** Stores an object under a new name to which its id refers from then on, or forgets one that no run refers to any more. */
  async #renewObject(id: string): Promise<void> {
    const { redis } = this.#parts;
    const packed = await this.#get(id);
    if (packed === null) {
      await fromRedis(redis.zrem(RENEWALS, id));
      return;
    }
    const renewed = JSON.stringify(await this.#put(packed));
    await fromRedis(redis.set(objectKey(id), renewed, "KEEPTTL"));
    await fromRedis(redis.zadd(RENEWALS, this.#options.now() + RENEW_AFTER_MS, id));
  }
}

/** The key with the reference to an object. */
function objectKey(id: string): string {
  return `yard:runs:archive:${id}`;
}
