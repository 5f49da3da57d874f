import { randomBytes } from "node:crypto";
import { constant } from "@switchyard/service/constant";
import { ESSENTIAL } from "@switchyard/service/essential-write";
import type { Log } from "@switchyard/service/log";
import type { Redis } from "@switchyard/service/redis";
import { fromRedis, StoreError } from "@switchyard/service/store-error";
import { objectName, type ArchiveObjects } from "./archive-objects.ts";
import { defineScripts } from "./redis-scripts.ts";

/** An object that is stored and has a reference. */
export interface NewObject {
  readonly id: string;
  readonly bytes: number;
  /** The time by Redis' clock until which journals may be deleted that the object has. */
  readonly untilMs: number;
  /** Notes that every journal of the object belongs to a run that refers to it. Otherwise the object is replaced after an hour. */
  settle(): Promise<void>;
}

/** Makes the bytes that replace those of an object: the same buffer when there is nothing to change, null when nothing is left. */
export type ChangeBytes = (packed: Buffer, id: string) => Promise<Buffer | null>;

/**
 * The objects of the archive by id. Runs refer to an id, and Redis has the id's reference, which names the object in its store. So one script replaces an object for all
 * of its runs: first the new object is stored, then the reference changes if it is still the old one, then the old object is deleted. Both objects are noted first, so
 * that the one that no reference names is deleted after an hour, wherever a process dies.
 */
export interface ArchivedObjects {
  /** Stores an object, and its reference for `keepMs`. */
  store(packed: Buffer, keepMs: number): Promise<NewObject>;
  /** Null when there is no such object. */
  get(id: string): Promise<Buffer | null>;
  /** Replaces the bytes of an object, unless they stay the same. Rejects with StoreError; a repeat continues. */
  replace(id: string, change: ChangeBytes): Promise<void>;
  /** Replaces an object within two hours, because a run no longer refers to it. */
  replaceLater(id: string): Promise<void>;
  /**
   * At most once an hour: replaces the objects that their store would delete before their runs, and those that have other journals than those of their runs. Deletes those
   * that no run needs. Rejects with StoreError.
   */
  renew(change: ChangeBytes): Promise<void>;
}

/**
 * The renewal reads these notes by their time: `id` is an object to be replaced, or whose runs are over; `id/name` is an object in its store, to be deleted if the id's reference
 * does not name it.
 */
const NOTES = "yard:runs:archived";
const HOUR_MS = 3_600_000;
const MOST_RENEWED = 1_000;
/** An object that no reference names after this time is of a process that died, and is deleted. */
const UNUSED_MS = HOUR_MS;
/** A replacement that finds another one done begins anew, at most so often. */
const ATTEMPTS = 3;

/** KEYS reference · ARGV the old reference, the new one or '' for none, time by Redis' clock after which nothing is done */
const SWITCH = `${ESSENTIAL}
local time = redis.call('TIME')
if time[1] * 1000 > tonumber(ARGV[3]) then return {'late'} end
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return {'changed'} end
if ARGV[2] == '' then redis.call('DEL', KEYS[1]) else redis.call('SET', KEYS[1], ARGV[2], 'KEEPTTL') end
return {'ok'}
`;

interface Parts {
  readonly redis: Redis;
  readonly log: Log;
  readonly objects: ArchiveObjects;
  readonly now: () => number;
}

export function openArchivedObjects(parts: Parts): ArchivedObjects {
  return new ObjectsById(parts);
}

class ObjectsById implements ArchivedObjects {
  readonly #parts: Parts;
  readonly #run: ReturnType<typeof defineScripts<{ yardArchiveSwitch: string }>>;
  /** A move or a replacement ends within this time, so that it uses no object that is deleted as unused at the same time. */
  readonly #workMs = constant("archiveMoveMs", 600_000);
  #renewsAt = 0;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#run = defineScripts(parts.redis, { yardArchiveSwitch: SWITCH });
  }

  async store(packed: Buffer, keepMs: number): Promise<NewObject> {
    const { redis, objects } = this.#parts;
    const id = newName();
    const untilMs = await this.#until();
    await this.#note(id, UNUSED_MS);
    const { reference, storedForMs } = await objects.put(id, packed, keepMs);
    await fromRedis(redis.set(objectKey(id), reference, "PX", keepMs));
    const settle = (): Promise<void> => this.#note(id, lookAfter(keepMs, storedForMs));
    return { id, bytes: packed.length, untilMs, settle };
  }

  async get(id: string): Promise<Buffer | null> {
    return (await this.#find(id))?.packed ?? null;
  }

  async replace(id: string, change: ChangeBytes): Promise<void> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const found = await this.#find(id);
      if (found === null) return;
      const packed = await change(found.packed, id);
      if (packed === found.packed) return;
      if ((await this.#switch(id, found.reference, packed)) !== null) return;
    }
    throw new StoreError(`object ${id} of the archive of runs is being replaced by other runners`);
  }

  replaceLater(id: string): Promise<void> {
    return this.#note(id, UNUSED_MS);
  }

  async renew(change: ChangeBytes): Promise<void> {
    const { redis, log, now } = this.#parts;
    if (now() < this.#renewsAt) return;
    this.#renewsAt = now() + HOUR_MS;
    const due = await fromRedis(
      redis.zrangebyscore(NOTES, "-inf", now(), "LIMIT", 0, MOST_RENEWED),
    );
    for (const note of due) {
      const [id = "", name] = note.split("/");
      const renewed =
        name === undefined ? this.#renewObject(id, change) : this.#deleteUnused(id, name);
      await renewed.catch((err: unknown) =>
        log.warn({ err }, `object ${id} of the archive of runs cannot be stored again, or deleted`),
      );
    }
  }

  /** Reads an object. One that is replaced between the two reads is read again. */
  async #find(id: string): Promise<{ reference: string; packed: Buffer } | null> {
    const { redis, objects } = this.#parts;
    const read = (): Promise<string | null> => fromRedis(redis.get(objectKey(id)));
    let reference = await read();
    while (reference !== null) {
      const packed = await objects.get(reference);
      if (packed !== null) return { reference, packed };
      const before = reference;
      reference = await read();
      if (reference === before) return null;
    }
    return null;
  }

  /**
   * Stores bytes in place of those of a reference, or nothing; then deletes the old ones. Returns for how long the store keeps the new ones; null when another replacement
   * came first.
   */
  async #switch(id: string, old: string, packed: Buffer | null): Promise<number | null> {
    const { redis, objects } = this.#parts;
    const oldName = objectName(old);
    const untilMs = await this.#until();
    const leftMs = await fromRedis(redis.pttl(objectKey(id)));
    if (leftMs <= 0) return 0;
    await this.#note(`${id}/${oldName}`, UNUSED_MS);
    const name = packed === null ? null : newName();
    if (name !== null) await this.#note(`${id}/${name}`, UNUSED_MS);
    const stored =
      name === null || packed === null ? null : await objects.put(name, packed, leftMs);
    const args = [old, stored?.reference ?? "", untilMs];
    const [outcome] = await this.#run("yardArchiveSwitch", [objectKey(id)], args);
    if (outcome !== "ok") {
      if (name !== null) await this.#delete(id, name);
      return null;
    }
    await this.#delete(id, oldName);
    if (name === null) await fromRedis(redis.zrem(NOTES, id));
    else await this.#note(`${id}/${name}`, leftMs);
    return stored?.storedForMs ?? 0;
  }

  /** Replaces an object, or deletes one without a reference: its runs are over, or its move failed. */
  async #renewObject(id: string, change: ChangeBytes): Promise<void> {
    const { redis } = this.#parts;
    const leftMs = await fromRedis(redis.pttl(objectKey(id)));
    if (leftMs <= 0) {
      await this.#parts.objects.delete(id);
      await fromRedis(redis.zrem(NOTES, id));
      return;
    }
    const found = await this.#find(id);
    // One that is lost stays noted: what its store has nevertheless is deleted after its runs.
    if (found === null) return this.#note(id, leftMs);
    const packed = await change(found.packed, id);
    const storedForMs = await this.#switch(id, found.reference, packed);
    if (storedForMs !== null && packed !== null)
      await this.#note(id, lookAfter(leftMs, storedForMs));
  }

  async #deleteUnused(id: string, name: string): Promise<void> {
    const { redis } = this.#parts;
    const reference = await fromRedis(redis.get(objectKey(id)));
    if (reference === null || objectName(reference) !== name) return this.#delete(id, name);
    const leftMs = await fromRedis(redis.pttl(objectKey(id)));
    await this.#note(`${id}/${name}`, Math.max(0, leftMs));
  }

  async #delete(id: string, name: string): Promise<void> {
    await this.#parts.objects.delete(name);
    await fromRedis(this.#parts.redis.zrem(NOTES, `${id}/${name}`));
  }

  async #note(note: string, afterMs: number): Promise<void> {
    const { redis, now } = this.#parts;
    await fromRedis(redis.zadd(NOTES, now() + afterMs, note));
  }

  async #until(): Promise<number> {
    const [seconds] = await fromRedis(this.#parts.redis.time());
    return Number(seconds) * 1_000 + this.#workMs;
  }
}

/** The time until an object is to be stored again or, when its store keeps it for long enough, until its runs are over. */
function lookAfter(keepMs: number, storedForMs: number): number {
  return storedForMs < keepMs ? storedForMs / 2 : keepMs;
}

/** Every run has the name of its object in Redis, so it is as short as chance allows. */
function newName(): string {
  return randomBytes(12).toString("base64url");
}

/** The key with the reference to an object. */
function objectKey(id: string): string {
  return `yard:runs:archive:${id}`;
}
