import { randomUUID } from "node:crypto";
import type { Bus } from "@switchyard/bus/bus";
import { deleteObject, getObject, putObject } from "@switchyard/bus/objects";
import { ownerOfRun } from "@switchyard/contracts/ids";
import { inputFiles } from "@switchyard/topology/payload-stores";
import type { Log } from "@switchyard/service/log";
import type { OwnerStorage } from "@switchyard/service/owner-storage";
import type { Redis } from "@switchyard/service/redis";
import { fromRedis } from "@switchyard/service/store-error";
import { z } from "zod";
import type { EncodedEntry } from "../core/entry-codec.ts";
import { defineScripts } from "./redis-scripts.ts";
import { blobsKey } from "./run-keys.ts";

/** Texts above this size are in the bucket of files, if it has room for them. */
export const LARGE_BYTES = 256 * 1_024;

/** The large texts of journals: their bytes are in the bucket of files, and the run has a reference among its blobs. */
export interface LargeTexts {
  /**
   * Stores the large ones of texts by digest. Returns the blobs to write instead: references for what the bucket has taken, and the
   * texts themselves where it has no room or does not answer. Never rejects.
   */
  place(runId: string, texts: ReadonlyMap<string, string>): Promise<ReadonlyMap<string, string>>;
  /** Returns the texts of a run by digest, without those that are gone. Rejects with StoreError, and with a ServiceError while the bucket cannot be read. */
  read(runId: string, digests: readonly string[]): Promise<Map<string, string>>;
  /** Deletes the bytes of a run's references, and forgets the run. Rejects with StoreError, and with a ServiceError while the bucket cannot be reached. */
  erase(runId: string, references: readonly string[]): Promise<void>;
  /** Stores the texts again whose bucket would delete them before their run is deleted; at most once an hour. Rejects with StoreError. */
  renew(): Promise<void>;
}

/** Returns an entry with the blobs to write for it. */
export async function withPlacedTexts(
  texts: Pick<LargeTexts, "place">,
  runId: string,
  { json, blobs }: EncodedEntry,
): Promise<EncodedEntry> {
  return { json, blobs: await texts.place(runId, blobs) };
}

/** All texts in Redis, for journals without a bucket. */
export function textsInRedis(redis: Redis): Pick<LargeTexts, "place" | "read"> {
  return {
    place: async (_runId, texts) => texts,
    read: async (runId, digests) => {
      if (digests.length === 0) return new Map();
      const texts = await fromRedis(redis.hmget(blobsKey(runId), ...digests));
      return new Map(digests.flatMap((sha, index) => pairIfPresent(sha, texts[index])));
    },
  };
}

function pairIfPresent(sha: string, text: string | null | undefined): [string, string][] {
  return text === null || text === undefined ? [] : [[sha, text]];
}

/** An older runner does not find such a blob, and gives the run up, instead of giving the reference to a model. */
export const OBJECT_FIELD = "object:";
const Reference = z.object({ name: z.string(), sizeBytes: z.number(), sha256: z.string() });

/** The runs with large texts, by the time at which these are to be stored again. */
const RENEWALS = "yard:runs:texts";
/** A run is deleted 30 days after its last change at the earliest, and the bucket keeps its objects for 60. */
const RENEW_AFTER_MS = inputFiles.ttlMs / 2;
const RENEW_EVERY_MS = 3_600_000;
const RUNS_AT_ONCE = 1_000;

/** A run that has been deleted in the meantime is not created again. KEYS blobs · ARGV field, reference */
const REPLACE = `
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then redis.call('HSET', KEYS[1], ARGV[1], ARGV[2]) end
return {}
`;

interface LargeTextsOptions {
  /** Counts the bytes of the bucket. */
  readonly storage: Pick<OwnerStorage, "reserve" | "set">;
  readonly now: () => number;
}

export function openLargeTexts(
  { bus, redis, log }: { readonly bus: Bus; readonly redis: Redis; readonly log: Log },
  { storage, now }: LargeTextsOptions,
): LargeTexts {
  const store = new BucketOfTexts(bus, redis, now);

  /** Rejects when the owner or the bucket has no room. */
  const putCounted = async (owner: string, runId: string, bytes: Buffer): Promise<string> => {
    const thing = `text:${randomUUID()}`;
    await storage.reserve(owner, { thing, bytes: bytes.length });
    try {
      const reference = await store.put(runId, bytes);
      storage.set(owner, thing, { bytes: bytes.length, ends: now() + inputFiles.ttlMs });
      return reference;
    } catch (error) {
      storage.set(owner, thing, { bytes: 0, ends: now() });
      throw error;
    }
  };

  let renewsAt = 0;
  return {
    async place(runId, texts) {
      const owner = ownerOfRun(runId);
      const placed = new Map<string, string>();
      for (const [sha, text] of texts) {
        const bytes = Buffer.from(text);
        const reference =
          owner === null || bytes.length <= LARGE_BYTES
            ? null
            : await putCounted(owner, runId, bytes).catch((err: unknown) => {
                log.debug({ err, runId }, "a large text stays in the journal");
                return null;
              });
        if (reference === null) placed.set(sha, text);
        else placed.set(OBJECT_FIELD + sha, reference);
      }
      return placed;
    },

    async read(runId, digests) {
      if (digests.length === 0) return new Map();
      const names = digests.flatMap((sha) => [sha, OBJECT_FIELD + sha]);
      const stored = await fromRedis(redis.hmget(blobsKey(runId), ...names));
      const texts = digests.map(async (sha, index) => {
        const [text, reference] = stored.slice(2 * index, 2 * index + 2);
        return pairIfPresent(sha, text ?? (reference ? await store.get(reference) : null));
      });
      return new Map((await Promise.all(texts)).flat());
    },

    erase: (runId, references) => store.erase(runId, references),

    async renew() {
      if (now() < renewsAt) return;
      renewsAt = now() + RENEW_EVERY_MS;
      for (const runId of await store.due())
        await store.renew(runId).catch((err: unknown) => {
          log.warn({ err, runId }, "large texts of a run cannot be stored for longer");
        });
    },
  };
}

class BucketOfTexts {
  readonly #bus: Bus;
  readonly #redis: Redis;
  readonly #now: () => number;
  readonly #run: ReturnType<typeof defineScripts<{ yardRunReplaceText: string }>>;

  constructor(bus: Bus, redis: Redis, now: () => number) {
    this.#bus = bus;
    this.#redis = redis;
    this.#now = now;
    this.#run = defineScripts(redis, { yardRunReplaceText: REPLACE });
  }

  /** Returns a reference. The run is noted first, so that no text of a run is deleted before it. */
  async put(runId: string, bytes: Buffer): Promise<string> {
    await fromRedis(this.#redis.zadd(RENEWALS, this.#now() + RENEW_AFTER_MS, runId));
    const { name, sizeBytes, sha256 } = await putObject(this.#bus, inputFiles.bucket, [bytes]);
    return JSON.stringify({ name, sizeBytes, sha256 });
  }

  async get(reference: string): Promise<string | null> {
    const { bucket } = inputFiles;
    const object = { bucket, ...Reference.parse(JSON.parse(reference)) };
    return (await getObject(this.#bus, object))?.toString("utf8") ?? null;
  }

  async erase(runId: string, references: readonly string[]): Promise<void> {
    for (const reference of references) {
      const { name } = Reference.parse(JSON.parse(reference));
      await deleteObject(this.#bus, { bucket: inputFiles.bucket, name });
    }
    await fromRedis(this.#redis.zrem(RENEWALS, runId));
  }

  due(): Promise<string[]> {
    const most = this.#redis.zrangebyscore(RENEWALS, "-inf", this.#now(), "LIMIT", 0, RUNS_AT_ONCE);
    return fromRedis(most);
  }

  /** Stores the texts of a run once more, or forgets a run that has none. */
  async renew(runId: string): Promise<void> {
    const key = blobsKey(runId);
    const fields = (await fromRedis(this.#redis.hkeys(key))).filter((f) =>
      f.startsWith(OBJECT_FIELD),
    );
    for (const field of fields) {
      const reference = await fromRedis(this.#redis.hget(key, field));
      const text = reference === null ? null : await this.get(reference);
      if (text === null) continue;
      const renewed = await this.put(runId, Buffer.from(text));
      await this.#run("yardRunReplaceText", [key], [field, renewed]);
    }
    if (fields.length === 0) await fromRedis(this.#redis.zrem(RENEWALS, runId));
  }
}
