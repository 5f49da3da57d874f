import { dirname, join } from "node:path";
import { publishOutbox } from "@switchyard/service/event-outbox";
import type { Redis } from "@switchyard/service/redis";
import { allFromRedis, fromRedis } from "@switchyard/service/store-error";
import type {
  Catalogue,
  CatalogueChange,
  KindEntries,
} from "@switchyard/skills/catalogue/catalogue";
import { z } from "zod";
import {
  Announcement,
  commitScript,
  IMPORTED,
  LISTED,
  OUTBOX,
  REVISION,
  TRUST,
  WITHHELD,
} from "./catalogue-commit.ts";
import {
  IMPORTED_ROOT,
  isCalled,
  Kind,
  SCHEMAS,
  TrustRecord,
  versionOfEntry,
  WithheldEntry,
  type Entry,
  type EntryOf,
  type StoredOf,
  type StoredSkill,
} from "@switchyard/skills/catalogue/definition";
import { CacheLeases } from "./cache-leases.ts";
import { jsonOf, StoredValues } from "./stored-values.ts";
import { textKey } from "./version-store.ts";

/** Some names of one kind; an upload must not cost as much as the catalogue is large. */
export interface SomeNames {
  readonly kind: Kind;
  readonly names: readonly string[];
}

/** Replies of HGETALL and HMGET. */
type Hash = Readonly<Record<string, string>>;
type Texts = readonly (string | null)[];

const EMPTY: KindEntries = { listed: [], imported: [], size: 0 };

/**
 * The catalogue in Redis. The listed entries change in one step, guarded by a revision, so that two importers never mix their
 * results. Every version that was ever listed stays readable, see {@link VersionStore}.
 */
export class CatalogueStore {
  readonly #redis: Redis;
  readonly #promises: CacheLeases;
  readonly #stored: StoredValues;

  /** `onCorrupt` is called for every stored value that cannot be read; it counts as absent. */
  constructor(redis: Redis, onCorrupt: (key: string) => void) {
    this.#redis = redis;
    this.#promises = new CacheLeases(redis);
    this.#stored = new StoredValues(onCorrupt);
  }

  /** Loads the whole catalogue, or its entries for some names. */
  async load(some?: SomeNames): Promise<Catalogue> {
    const transaction = this.#redis.multi().get(REVISION).hgetall(WITHHELD).hgetall(TRUST);
    // HMGET wants at least one name; no definition is called so.
    const names = some?.names.length === 0 ? ["-"] : (some?.names ?? []);
    const kinds = some === undefined ? Kind.options : [some.kind];
    for (const kind of kinds) {
      for (const key of [LISTED[kind], IMPORTED[kind]])
        if (some === undefined) transaction.hgetall(key);
        else transaction.hmget(key, ...names);
      transaction.hlen(IMPORTED[kind]);
    }
    const [revision, waiting, trust, ...entriesByKind] = await allFromRedis(transaction.exec());
    const withheld = this.#stored.values(WithheldEntry, WITHHELD, waiting as Hash);
    const found = { skill: EMPTY, agent: EMPTY };
    for (const [index, kind] of kinds.entries()) {
      const [listed, imported, size] = entriesByKind.slice(index * 3);
      const entries = (key: string, answer: unknown): Entry[] => {
        const texts = names.map((name, at) => [name, (answer as Texts)[at] ?? null] as const);
        const hash = some === undefined ? (answer as Hash) : Object.fromEntries(texts);
        return this.#stored.values<Entry>(SCHEMAS[kind].entry, key, hash);
      };
      const sent = withheld.filter(
        (item) => item.kind === kind && item.entry.root === IMPORTED_ROOT,
      );
      found[kind] = {
        listed: entries(LISTED[kind], listed),
        imported: entries(IMPORTED[kind], imported),
        size: Number(size) + sent.length,
      };
    }
    return {
      revision: typeof revision === "string" ? revision : "0",
      ...found,
      withheld,
      trust: this.#stored.values(TrustRecord, TRUST, trust as Hash),
    };
  }

  /**
   * Writes the change in one step, together with the work that follows it. False: the catalogue changed since its `revision` was
   * loaded, and nothing was written.
   */
  async commit(
    { revision }: Pick<Catalogue, "revision">,
    change: CatalogueChange,
    outbox: readonly Announcement[],
  ): Promise<boolean> {
    const script = commitScript(revision, change, outbox);
    if (script === null) return true;
    return (await this.#promises.change(() => fromRedis(this.#redis.eval(...script)))) === 1;
  }

  /** Returns how many milliseconds a later read may be cached, counted from before its request; null when it may not be. */
  promise(): Promise<number | null> {
    return this.#promises.grant();
  }

  async list<K extends Kind>(kind: K): Promise<EntryOf<K>[]> {
    const key = LISTED[kind];
    return this.#stored.values(SCHEMAS[kind].entry, key, await fromRedis(this.#redis.hgetall(key)));
  }

  async listWithheld(): Promise<WithheldEntry[]> {
    return this.#stored.values(
      WithheldEntry,
      WITHHELD,
      await fromRedis(this.#redis.hgetall(WITHHELD)),
    );
  }

  /** Without a digest the current version. Null when there is none. */
  async read<K extends Kind>(kind: K, name: string, digest?: string): Promise<StoredOf<K> | null> {
    const found = await this.#versionOf(kind, name, digest);
    if (found === null) return null;
    const key = textKey(kind, name, found.version);
    const text = await fromRedis(this.#redis.get(key));
    const stored = text === null ? null : this.#stored.parse(SCHEMAS[kind].stored, key, text);
    return stored === null || found.entry === null ? stored : placed(kind, stored, found.entry);
  }

  /** True when this version waits for trust. */
  async isWithheld(kind: Kind, name: string, version: string): Promise<boolean> {
    return (await this.listWithheld()).some((item) => isCalled(item, { kind, name, version }));
  }

  /** True when the version is listed, was sent by a client, or waits for trust. */
  async isNamed(kind: Kind, name: string, version: string): Promise<boolean> {
    const named = await this.#named(kind, name);
    if (named.some((entry) => versionOfEntry(entry) === version)) return true;
    // The digest is searched in the text: parsing thousands of entries would cost more, and nearly none matches.
    return (await fromRedis(this.#redis.hvals(WITHHELD))).some((text) => text.includes(version));
  }

  /** Publishes the announcements one after the other, oldest first; one that cannot be read is dropped. Rejects when Redis or `publish` does. */
  publishAnnouncements(
    publish: (announcement: Announcement) => Promise<void>,
    isStopped?: () => boolean,
  ): Promise<void> {
    return publishOutbox(this.#redis, OUTBOX, {
      atOnce: 1,
      publish: async (text) => {
        const announcement = this.#stored.parse(Announcement, OUTBOX, text);
        if (announcement !== null) await publish(announcement);
      },
      ...(isStopped && { isStopped }),
    });
  }

  /**
   * The id that a version is stored under, with the entry that names it now. The digest of a SKILL.md is that of
   * several versions when other files differ: the current one counts, then the last that was current.
   */
  async #versionOf<K extends Kind>(
    kind: K,
    name: string,
    digest: string | undefined,
  ): Promise<{ version: string; entry: EntryOf<K> | null } | null> {
    const used = await this.#named(kind, name);
    const known = used.find(
      (entry) =>
        digest === undefined || versionOfEntry(entry) === digest || entry.summary.digest === digest,
    );
    if (known !== undefined) return { version: versionOfEntry(known), entry: known };
    if (digest === undefined) return null;
    const pointer = Pointer.safeParse(
      jsonOf((await fromRedis(this.#redis.get(textKey(kind, name, digest)))) ?? ""),
    );
    return { version: pointer.success ? pointer.data.version : digest, entry: null };
  }

  /** Returns the listed entry of a name, then the one that a client sent; without those that wait for trust. */
  async #named<K extends Kind>(kind: K, name: string): Promise<EntryOf<K>[]> {
    const keys = [LISTED[kind], IMPORTED[kind]];
    const texts = await fromRedis(Promise.all(keys.map((key) => this.#redis.hget(key, name))));
    return texts.flatMap((text, index) => {
      const key = `${keys[index] ?? ""} ${name}`;
      const entry = text === null ? null : this.#stored.parse(SCHEMAS[kind].entry, key, text);
      return entry === null ? [] : [entry];
    });
  }
}

/** Equal files at two paths are one version, stored once with the path of the last read: the path of a version in use comes from its entry. */
function placed<K extends Kind>(kind: K, stored: StoredOf<K>, entry: EntryOf<K>): StoredOf<K>;
function placed(kind: Kind, stored: StoredOf<Kind>, entry: Entry) {
  if (kind === "agent") return { ...stored, ...entry.summary };
  const skill = stored as StoredSkill; // of this kind
  const directory =
    entry.root === IMPORTED_ROOT
      ? `skill://${entry.summary.name}`
      : join(entry.root, dirname(entry.file));
  return { ...skill, directory, skill: { ...skill.skill, ...entry.summary } };
}

/** The value under the digest of a SKILL.md: the last superseded version with that digest. */
const Pointer = z.strictObject({ version: z.string() });
