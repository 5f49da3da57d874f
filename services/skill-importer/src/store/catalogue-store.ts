import type { Redis } from "@switchyard/service/redis";
import { z } from "zod";
import { TrustRecord, WithheldEntry } from "./admission.ts";
import {
  AgentEntry,
  IMPORTED_ROOT,
  SkillEntry,
  StoredAgent,
  StoredSkill,
  versionOfEntry,
} from "./definition.ts";
import {
  Announcement,
  COMMIT,
  COMMIT_KEYS,
  commitOperations,
  CURRENT,
  IMPORTED,
  IMPORTED_AGENTS,
  OUTBOX,
  REVISION,
  TRUST,
  WITHHELD,
  type CatalogueChange,
  type Superseded,
} from "./catalogue-commit.ts";
import type { Catalogue, Committed, NamedAgents } from "./catalogue.ts";
import { KeepPromises } from "./keep-promises.ts";
import { jsonOf, StoredValues } from "./stored-values.ts";
import { supersededBy } from "./superseded.ts";

type Kind = "skill" | "agent";

const NOTHING_KNOWN = { skills: [], imported: [], agents: [], importedAgents: [], withheld: [] };

/** Longer than a run command may wait in its stream, so that a pinned run always finds its version. */
const SUPERSEDED_TTL_SECONDS = 45 * 24 * 3_600;

/**
 * The catalogue in Redis. What is listed (`current`) changes in one step, guarded by a revision, so
 * that two importers never mix their results. Every version that was ever listed stays readable by
 * its digest; once it is no longer current, for {@link SUPERSEDED_TTL_SECONDS}.
 */
export class CatalogueStore {
  readonly #redis: Redis;
  readonly #promises: KeepPromises;
  readonly #stored: StoredValues;

  /** `onCorrupt` hears of every stored value that cannot be read; it counts as absent. */
  constructor(redis: Redis, onCorrupt: (key: string) => void) {
    this.#redis = redis;
    this.#promises = new KeepPromises(redis);
    this.#stored = new StoredValues(onCorrupt);
  }

  async load(): Promise<Catalogue> {
    const answers = await this.#redis
      .multi()
      .get(REVISION)
      .hgetall(CURRENT.skill)
      .hgetall(CURRENT.agent)
      .hgetall(IMPORTED)
      .hgetall(WITHHELD)
      .hgetall(TRUST)
      .hgetall(IMPORTED_AGENTS)
      .exec();
    const [revision, skills, agents, imported, withheld, trust, sentAgents] = values(answers);
    return {
      revision: typeof revision === "string" ? revision : "0",
      skills: this.#stored.entries(SkillEntry, CURRENT.skill, skills),
      agents: this.#stored.entries(AgentEntry, CURRENT.agent, agents),
      imported: this.#stored.entries(SkillEntry, IMPORTED, imported),
      importedAgents: this.#stored.entries(AgentEntry, IMPORTED_AGENTS, sentAgents),
      withheld: this.#stored.values(WithheldEntry, WITHHELD, withheld),
      trust: this.#stored.values(TrustRecord, TRUST, trust),
    };
  }

  /** As {@link load}, but only these names of the skills; an upload must not cost as much as the catalogue is large. */
  async loadSkills(names: readonly string[]): Promise<Catalogue & { readonly size: number }> {
    if (names.length === 0) throw new Error("loadSkills needs a name");
    const answers = await this.#redis
      .multi()
      .get(REVISION)
      .hmget(CURRENT.skill, ...names)
      .hmget(IMPORTED, ...names)
      .hgetall(WITHHELD)
      .hgetall(TRUST)
      .hlen(IMPORTED)
      .exec();
    const [revision, skills, imported, withheld, trust, size] = values(answers);
    const waiting = this.#stored.values(WithheldEntry, WITHHELD, withheld);
    const sent = waiting.filter(
      ({ kind, entry }) => kind === "skill" && entry.root === IMPORTED_ROOT,
    );
    return {
      revision: typeof revision === "string" ? revision : "0",
      skills: this.#stored.present(SkillEntry, CURRENT.skill, { names, texts: skills }),
      agents: [],
      imported: this.#stored.present(SkillEntry, IMPORTED, { names, texts: imported }),
      importedAgents: [],
      withheld: waiting,
      trust: this.#stored.values(TrustRecord, TRUST, trust),
      size: Number(size) + sent.length,
    };
  }

  /** The same for agents: what is listed and what clients sent under these names, and how many they sent in all. */
  async loadAgents(names: readonly string[]): Promise<NamedAgents> {
    if (names.length === 0) throw new Error("loadAgents needs a name");
    const answers = await this.#redis
      .multi()
      .get(REVISION)
      .hmget(CURRENT.agent, ...names)
      .hmget(IMPORTED_AGENTS, ...names)
      .hgetall(WITHHELD)
      .hgetall(TRUST)
      .hlen(IMPORTED_AGENTS)
      .exec();
    const [revision, listed, imported, withheld, trust, size] = values(answers);
    return {
      revision: typeof revision === "string" ? revision : "0",
      listed: this.#stored.present(AgentEntry, CURRENT.agent, { names, texts: listed }),
      imported: this.#stored.present(AgentEntry, IMPORTED_AGENTS, { names, texts: imported }),
      withheld: this.#stored.values(WithheldEntry, WITHHELD, withheld),
      trust: this.#stored.values(TrustRecord, TRUST, trust),
      size: Number(size),
    };
  }

  /**
   * Makes the change in one step, and with it the list of versions that nothing names any more. False: the catalogue
   * changed since `before` was loaded, and nothing was written.
   */
  async commit(before: Committed, change: CatalogueChange): Promise<boolean> {
    const superseded = supersededBy({ ...NOTHING_KNOWN, ...before }, change);
    const announcements = [...change.announcements, ...superseded];
    const operations = commitOperations({ ...change, announcements });
    if (operations.length === 0) return true;
    const { revision } = before;
    const keys = [COMMIT_KEYS.length, ...COMMIT_KEYS] as const;
    const done = await this.#promises.change(() =>
      this.#redis.eval(COMMIT, ...keys, revision, ...operations),
    );
    return done === 1;
  }

  /**
   * For how many milliseconds what is read after this may be used, counted from before it was asked for; null when
   * not at all.
   */
  promise(): Promise<number | null> {
    return this.#promises.promise();
  }

  async listSkills(): Promise<SkillEntry[]> {
    return this.#stored.entries(
      SkillEntry,
      CURRENT.skill,
      await this.#redis.hgetall(CURRENT.skill),
    );
  }

  async listWithheld(): Promise<WithheldEntry[]> {
    return this.#stored.values(WithheldEntry, WITHHELD, await this.#redis.hgetall(WITHHELD));
  }

  async listAgents(): Promise<AgentEntry[]> {
    return this.#stored.entries(
      AgentEntry,
      CURRENT.agent,
      await this.#redis.hgetall(CURRENT.agent),
    );
  }

  /** Without a digest the current version. Null when there is none. */
  async readSkill(name: string, digest: string | undefined): Promise<StoredSkill | null> {
    return this.#read(StoredSkill, { kind: "skill", name, digest });
  }

  /** As {@link readSkill}, but never a version that waits for somebody's trust. */
  async readUsableSkill(name: string, digest: string | undefined): Promise<StoredSkill | null> {
    const stored = await this.readSkill(name, digest);
    if (stored === null || digest === undefined) return stored;
    const isWithheld = (await this.listWithheld()).some(
      ({ kind, entry }) =>
        kind === "skill" &&
        entry.summary.name === name &&
        versionOfEntry(entry) === (stored.skill.version ?? stored.skill.digest),
    );
    return isWithheld ? null : stored;
  }

  /** Without a digest the current version. Null when there is none. */
  async readAgent(name: string, digest: string | undefined): Promise<StoredAgent | null> {
    return this.#read(StoredAgent, { kind: "agent", name, digest });
  }

  /** Versions are written before they become current, so that a listed one can always be read. */
  async saveSkill(stored: StoredSkill): Promise<void> {
    const { name, digest, version = digest } = stored.skill;
    await this.#redis.set(versionKey("skill", name, version), JSON.stringify(stored));
  }

  /**
   * Writes a version that is current already, where it is not there as it should be. Reading is cheap: an import at
   * every change of one file looks at thousands of skills, and each write waits for the disk.
   */
  async refreshSkill(stored: StoredSkill): Promise<void> {
    const { name, digest, version = digest } = stored.skill;
    const there = await this.#redis.get(versionKey("skill", name, version));
    if (there !== JSON.stringify(stored)) await this.saveSkill(stored);
  }

  async saveAgent(stored: StoredAgent): Promise<void> {
    await this.#redis.set(versionKey("agent", stored.name, stored.digest), JSON.stringify(stored));
  }

  /** Lets a version that is no longer current go when no run can be pinned to it any more. */
  async retire(kind: Kind, name: string, digest: string): Promise<void> {
    await this.#redis.expire(versionKey(kind, name, digest), SUPERSEDED_TTL_SECONDS);
  }

  /** A version that is current again stays. */
  async keep(kind: Kind, name: string, digest: string): Promise<void> {
    await this.#redis.persist(versionKey(kind, name, digest));
  }

  /** True when the version is listed, or is what a client sent, or waits for somebody's trust. */
  async isNamed({
    what,
    name,
    version,
  }: Pick<Superseded, "what" | "name" | "version">): Promise<boolean> {
    const named = await this.#namedVersions(what, name);
    if (named.some((one) => one.version === version)) return true;
    // The digest is looked for in the text: there may be thousands, and nearly none is meant.
    return (await this.#redis.hvals(WITHHELD)).some((text) => text.includes(version));
  }

  /** The oldest announcement, or null; `raw` is what {@link settleAnnouncement} wants back. */
  async nextAnnouncement(): Promise<{ announcement: Announcement | null; raw: string } | null> {
    const raw = await this.#redis.lindex(OUTBOX, 0);
    if (raw === null) return null;
    return { announcement: this.#stored.parse(Announcement, OUTBOX, raw), raw };
  }

  async settleAnnouncement(raw: string): Promise<void> {
    await this.#redis.lrem(OUTBOX, 1, raw);
  }

  async #read<T extends z.ZodType>(
    schema: T,
    version: { kind: Kind; name: string; digest: string | undefined },
  ): Promise<z.output<T> | null> {
    const { kind, name } = version;
    const id = await this.#versionOf(kind, name, version.digest);
    if (id === null) return null;
    const key = versionKey(kind, name, id);
    const text = await this.#redis.get(key);
    return text === null ? null : this.#stored.parse(schema, key, text);
  }

  /**
   * The id that a version is stored under. The digest of a SKILL.md is that of several versions when other files
   * differ: the current one counts, then the last that was current.
   */
  async #versionOf(kind: Kind, name: string, digest: string | undefined): Promise<string | null> {
    const used = await this.#namedVersions(kind, name);
    if (digest === undefined) return used[0]?.version ?? null;
    const known = used.find((one) => one.version === digest || one.digest === digest);
    if (known !== undefined) return known.version;
    const pointer = Pointer.safeParse(
      jsonOf((await this.#redis.get(versionKey(kind, name, digest))) ?? ""),
    );
    return pointer.success ? pointer.data.version : digest;
  }

  /** The version that is listed under a name, then the one that a client sent; without what waits for trust. */
  async #namedVersions(kind: Kind, name: string): Promise<{ version: string; digest: string }[]> {
    const schema = kind === "skill" ? SkillEntry : AgentEntry;
    const keys = [CURRENT[kind], kind === "skill" ? IMPORTED : IMPORTED_AGENTS];
    const texts = await Promise.all(keys.map((key) => this.#redis.hget(key, name)));
    return texts.flatMap((text, index) => {
      const entry =
        text === null ? null : this.#stored.parse(schema, `${keys[index] ?? ""} ${name}`, text);
      if (entry === null) return [];
      return [{ version: versionOfEntry(entry), digest: entry.summary.digest }];
    });
  }
}

/** What stands under the digest of a SKILL.md: the last version with it that was current and is not any more. */
const Pointer = z.strictObject({ version: z.string() });

function versionKey(kind: Kind, name: string, digest: string): string {
  return `yard:${kind}:{${name}}:${digest}`;
}

/** ioredis answers the errors of single commands among the results. */
function values(answers: [Error | null, unknown][] | null): unknown[] {
  return (answers ?? []).map(([error, value]) => {
    if (error !== null) throw error;
    return value;
  });
}
