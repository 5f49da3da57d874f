import { promisify } from "node:util";
import { zstdCompress, zstdDecompress } from "node:zlib";
import { essentialWrite } from "@switchyard/service/essential-write";
import type { Log } from "@switchyard/service/log";
import type { OwnerStorage } from "@switchyard/service/owner-storage";
import type { Redis } from "@switchyard/service/redis";
import { fromRedis } from "@switchyard/service/store-error";
import { z } from "zod";
import type { Columns } from "../core/packed-columns.ts";
import { JournalCorrupt } from "../core/run-state.ts";
import type { ArchiveObjects } from "./archive-objects.ts";
import { openArchivedObjects, type ArchivedObjects, type ChangeBytes } from "./archived-objects.ts";
import { ARCHIVE, RESTORE } from "./journal-scripts.ts";
import { OBJECT_FIELD } from "./large-texts.ts";
import { defineScripts } from "./redis-scripts.ts";
import { archivedColumns, readArchived, readState } from "./run-columns.ts";
import { blobsKey, journalKey, keysOf, stateKey } from "./run-keys.ts";
import { holderOf, runThing } from "./run-storage.ts";

/** A journal as Redis has it: the entries, and the long texts that they refer to, by digest. */
const StoredJournal = z.object({
  entries: z.array(z.string()),
  texts: z.record(z.string(), z.string()),
});
export type StoredJournal = z.infer<typeof StoredJournal>;

/**
 * The journals of runs that ended some time ago, outside of Redis. The state of a run stays in Redis, packed, with everything that lists and counts need, and has
 * the name of the object with its journal. A journal is deleted in Redis after the object is stored, and only if the run has not been opened again meanwhile, so it
 * is never in neither place.
 */
export interface RunArchive {
  /** Notes that a run has ended. A note that is lost leaves the journal in Redis for as long as the run is kept. */
  noteEnd(runId: string): void;
  /** Moves journals that are due, many at once; returns how many. After a failure nothing is moved for ten minutes. Rejects with StoreError when what is due cannot be read. */
  move(): Promise<number>;
  /**
   * Returns the journal of a run that was moved; null when it was not. Rejects with StoreError, also while the object cannot be read, and with JournalCorrupt
   * when it is lost.
   */
  read(runId: string): Promise<StoredJournal | null>;
  /** Puts the journal of a run back into Redis, for a run that is opened again. Rejects as `read` does. */
  restore(runId: string): Promise<void>;
  /** Replaces an object by one without the journals of runs that are gone. Rejects with StoreError; a repeat continues. */
  erase(id: string): Promise<void>;
  /**
   * Stores the objects again that their store would delete before their runs, without journals whose runs do not refer to them, and deletes those whose runs
   * are all over; at most once an hour. Rejects with StoreError.
   */
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
  readonly objects: ArchiveObjects;
  readonly storage: Pick<OwnerStorage, "set">;
  readonly now: () => number;
}

export function openRunArchive(
  { redis, log }: { readonly redis: Redis; readonly log: Log },
  options: RunArchiveOptions,
): RunArchive {
  return new ObjectArchive({ redis, log }, options);
}

/** The runs that have ended, by the time at which their journals are to be moved. */
const ENDED = "yard:runs:ended";
/** The most runs of one object, and about its bytes before compression. A larger journal is alone in its object. */
const MOST_RUNS = 200;
const MOST_BYTES = 4 * 1_024 ** 2;
/** Fewer runs wait so long for others: an object for each run would cost more than the run in Redis. */
const GATHER_MS = 600_000;
/** The time without another attempt after one that failed. */
const PAUSE_MS = 600_000;

/** The packed state of an archived run, its members of lists and its row in the owner's account, by `MEMORY USAGE` 620 to 820 bytes. */
const ARCHIVED_RUN_BYTES = 820;
const EMPTY: StoredJournal = { entries: [], texts: {} };
const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

/** An ended run whose journal is in Redis. */
interface EndedRun {
  readonly runId: string;
  readonly requester: string;
  readonly bytes: number;
  /** The time until the run is deleted. */
  readonly leftMs: number;
  readonly columns: Columns;
}

class ObjectArchive implements RunArchive {
  readonly #parts: { readonly redis: Redis; readonly log: Log };
  readonly #options: RunArchiveOptions;
  readonly #run: ReturnType<
    typeof defineScripts<{ yardRunArchive: string; yardRunRestore: string }>
  >;
  readonly #objects: ArchivedObjects;
  #pausedUntil = 0;

  constructor(parts: { readonly redis: Redis; readonly log: Log }, options: RunArchiveOptions) {
    this.#parts = parts;
    this.#options = options;
    const { objects, now } = options;
    this.#objects = openArchivedObjects({ ...parts, objects, now });
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
    const archived = await readArchived(this.#parts.redis, runId);
    if (archived === null) return;
    const { id } = archived;
    const columns = Object.entries(archived.columns).flat();
    const { entries, texts } = await this.#journalIn(id, runId);
    const counts = [entries.length, columns.length];
    const args = [id, ...counts, ...entries, ...columns, ...Object.entries(texts).flat()];
    await this.#objects.replaceLater(id);
    await this.#run("yardRunRestore", keysOf(runId), args);
  }

  async erase(id: string): Promise<void> {
    // A run without an archive may be about to refer to the object: only those that are gone cannot.
    await this.#objects.replace(
      id,
      this.#keeping(({ status }) => status !== null),
    );
  }

  async renew(): Promise<void> {
    // An object that is due here is older than any move that is under way.
    await this.#objects.renew(this.#keeping(({ archive }, id) => archive === id));
  }

  /** Returns runs for one object, and those of which there is nothing to move: they run again, were moved, or are gone. */
  async #choose(ids: readonly string[]): Promise<{ chosen: EndedRun[]; settled: string[] }> {
    const { redis } = this.#parts;
    const found = await Promise.all(
      ids.map((runId) =>
        Promise.all([readState(redis, runId), fromRedis(redis.pttl(stateKey(runId)))]),
      ),
    );
    const chosen: EndedRun[] = [];
    const settled: string[] = [];
    let bytes = 0;
    for (const [index, [columns, leftMs]] of found.entries()) {
      const runId = ids[index] ?? "";
      const { status, archive, requester, bytes: size } = columns;
      const hasEnded = status && status !== "running" && status !== "waiting" && leftMs > 0;
      if (!hasEnded || archive || !requester) {
        settled.push(runId);
        continue;
      }
      bytes += Number(size);
      if (bytes > MOST_BYTES && chosen.length > 0) break;
      chosen.push({ runId, requester, bytes: Number(size), leftMs, columns });
    }
    return { chosen, settled };
  }

  /** Stores the journals as one object, and then deletes each of them in Redis whose run is as it was read. */
  async #moveRuns(runs: readonly EndedRun[]): Promise<number> {
    if (runs.length === 0) return 0;
    const journals = await Promise.all(
      runs.map(async ({ runId }) => [runId, await this.#journalInRedis(runId)] as const),
    );
    const keepMs = Math.max(...runs.map(({ leftMs }) => leftMs));
    const object = await this.#objects.store(await pack(journals), keepMs);
    const total = runs.reduce((sum, { bytes }) => sum + bytes, 1);
    const moved = await Promise.all(
      runs.map(async ({ runId, requester, bytes, columns }, index) => {
        const [, { entries, texts } = EMPTY] = journals[index] ?? [];
        const size = ARCHIVED_RUN_BYTES + Math.round((object.bytes * bytes) / total);
        const digests = Object.keys(texts);
        const [outcome, leftMs] = await this.#run("yardRunArchive", keysOf(runId), [
          entries.length,
          columns["epoch"] ?? "",
          columns["published"] ?? "",
          object.untilMs,
          digests.length,
          ...digests,
          ...archivedColumns(columns, { archive: object.id, bytes: size }),
        ]);
        if (outcome !== "ok") return 0;
        const holding = { bytes: size, ends: this.#options.now() + Number(leftMs) };
        this.#options.storage.set(holderOf(runId, requester), runThing(runId), holding);
        return 1;
      }),
    );
    const count = moved.reduce<number>((sum, one) => sum + one, 0);
    // A run that was opened again or deleted meanwhile has a journal in the object that it does not refer to.
    if (count === runs.length) await object.settle();
    return count;
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
    const packed = await this.#objects.get(id);
    const journals = packed === null ? {} : await unpack(packed);
    // The other journals of the object are not checked, which would take longer than all the rest of a read.
    const journal = Object.hasOwn(journals, runId) ? journals[runId] : undefined;
    if (journal === undefined)
      throw new JournalCorrupt(`the archive has lost the journal of ${runId}`);
    return StoredJournal.parse(journal);
  }

  /** Returns the change of an object that leaves out the journals of runs for which `isLeft` is false. */
  #keeping(
    isLeft: (run: { status: string | null; archive: string | null }, id: string) => boolean,
  ): ChangeBytes {
    const { redis } = this.#parts;
    return async (packed, id) => {
      const all = Object.entries(await unpack(packed));
      const columns = await Promise.all(
        all.map(([runId]) => fromRedis(redis.hmget(stateKey(runId), "status", "archive"))),
      );
      const left = all.filter((_, index) => {
        const [status = null, archive = null] = columns[index] ?? [];
        return isLeft({ status, archive }, id);
      });
      if (left.length === all.length) return packed;
      return left.length === 0 ? null : pack(left);
    };
  }
}

function pack(journals: readonly (readonly [string, unknown])[]): Promise<Buffer> {
  return compress(Buffer.from(JSON.stringify(Object.fromEntries(journals))));
}

async function unpack(packed: Buffer): Promise<Record<string, unknown>> {
  return JSON.parse((await decompress(packed)).toString());
}
