import { ScanReport } from "@switchyard/contracts/skill-scan";
import { SkillVersion } from "@switchyard/contracts/skill-store";
import type { Redis } from "@switchyard/service/redis";
import type { Superseded } from "./catalogue-commit.ts";

/** Longer than a run command may wait in its stream, so that a pinned run always finds its version. */
export const SUPERSEDED_TTL_SECONDS = 45 * 24 * 3_600;

/** Of one skill. Above it the oldest that is not current goes, so that no client can fill Redis with versions. */
export const MAX_VERSIONS = 50;

/** What belongs to a version beside its text. */
export interface VersionContent {
  readonly record: SkillVersion;
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** Null when nobody scanned it. */
  readonly report: ScanReport | null;
}

/**
 * The versions of skills: their files, where they came from, what the scanner said. Everything of one
 * skill is in one slot, and each change is one transaction.
 */
export class VersionStore {
  readonly #redis: Redis;
  readonly #now: () => Date;

  constructor(redis: Redis, now: () => Date) {
    this.#redis = redis;
    this.#now = now;
  }

  async record(name: string, version: string): Promise<SkillVersion | null> {
    const text = await this.#redis.hget(versionsKey(name), version);
    return text === null ? null : parsed(text);
  }

  /** Writes a version; what its first import said of where it came from stays. */
  async save(name: string, { record, files, report }: VersionContent): Promise<void> {
    const { version } = record;
    const all = await this.list(name);
    const before = all.find((other) => other.version === version);
    const kept = before === undefined ? record : { ...record, provenance: before.provenance };
    const transaction = this.#redis.multi();
    transaction.hset(versionsKey(name), version, JSON.stringify(kept));
    transaction.del(filesKey(name, version));
    if (files.size > 0) {
      const fields = [...files].map(([path, bytes]) => [path, Buffer.from(bytes)] as const);
      transaction.hset(filesKey(name, version), new Map(fields));
    }
    if (report === null) transaction.del(reportKey(name, version));
    else transaction.set(reportKey(name, version), JSON.stringify(report));
    for (const old of surplus(all, version, this.#now())) {
      transaction.hdel(versionsKey(name), old.version);
      transaction.del(filesKey(name, old.version), reportKey(name, old.version));
      transaction.del(textKey(name, old.version));
    }
    await done(transaction.exec());
  }

  /** The newest first. */
  async list(name: string): Promise<SkillVersion[]> {
    const texts = Object.values(await this.#redis.hgetall(versionsKey(name)));
    return texts
      .map((text) => parsed(text))
      .filter((record) => record !== null)
      .filter((record) => !isGone(record, this.#now()))
      .toSorted((a, b) => (a.provenance.at < b.provenance.at ? 1 : -1));
  }

  async report(name: string, version: string): Promise<ScanReport | null> {
    const text = await this.#redis.get(reportKey(name, version));
    return text === null ? null : (ScanReport.safeParse(JSON.parse(text)).data ?? null);
  }

  async file(name: string, version: string, path: string): Promise<Uint8Array | null> {
    return this.#redis.hgetBuffer(filesKey(name, version), path);
  }

  /** Lets everything of a version go when no run can be pinned to it any more; one that nobody could use leads nowhere. */
  async retire({
    name,
    version,
    digest,
    wasUsable,
  }: Omit<Superseded, "kind" | "what">): Promise<void> {
    const record = await this.record(name, version);
    const transaction = this.#redis.multi();
    if (record !== null) {
      const supersededAt = this.#now().toISOString();
      transaction.hset(versionsKey(name), version, JSON.stringify({ ...record, supersededAt }));
    }
    const keys = [textKey(name, version), filesKey(name, version), reportKey(name, version)];
    for (const key of keys) transaction.expire(key, SUPERSEDED_TTL_SECONDS);
    // Who knows it by the digest of its SKILL.md finds it until another version with that digest takes its place.
    if (wasUsable && digest !== version) {
      const pointer = JSON.stringify({ version });
      transaction.set(textKey(name, digest), pointer, "EX", SUPERSEDED_TTL_SECONDS);
    }
    await done(transaction.exec());
  }

  /** A version that is current again stays. */
  async restore(name: string, version: string): Promise<void> {
    const record = await this.record(name, version);
    const transaction = this.#redis.multi();
    if (record !== null) {
      const text = JSON.stringify({ ...record, supersededAt: null });
      transaction.hset(versionsKey(name), version, text);
    }
    for (const key of [textKey(name, version), filesKey(name, version), reportKey(name, version)]) {
      transaction.persist(key);
    }
    await done(transaction.exec());
  }
}

/** Records whose content is gone, and the oldest beyond the cap. */
function surplus(all: readonly SkillVersion[], incoming: string, now: Date): SkillVersion[] {
  const others = all.filter(({ version }) => version !== incoming);
  const superseded = others.filter(({ supersededAt }) => supersededAt !== null);
  const tooMany = Math.max(0, others.length + 1 - MAX_VERSIONS);
  const oldest = tooMany === 0 ? [] : superseded.slice(-tooMany);
  return [...new Set([...superseded.filter((one) => isGone(one, now)), ...oldest])];
}

function isGone({ supersededAt }: SkillVersion, now: Date): boolean {
  if (supersededAt === null) return false;
  return now.getTime() - Date.parse(supersededAt) > SUPERSEDED_TTL_SECONDS * 1_000;
}

function parsed(text: string): SkillVersion | null {
  try {
    return SkillVersion.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null; // it counts as absent, and the next import writes it anew
  }
}

/** ioredis answers the errors of single commands among the results. */
export async function done(execution: Promise<[Error | null, unknown][] | null>): Promise<void> {
  const failed = (await execution)?.find(([error]) => error !== null);
  if (failed?.[0]) throw failed[0];
}

function versionsKey(name: string): string {
  return `yard:skill:{${name}}:versions`;
}

function filesKey(name: string, version: string): string {
  return `yard:skill:{${name}}:files:${version}`;
}

function reportKey(name: string, version: string): string {
  return `yard:skill:{${name}}:report:${version}`;
}

/** As {@link CatalogueStore} has it: the text of a version, or under a SKILL.md's digest where that text is. */
function textKey(name: string, digest: string): string {
  return `yard:skill:{${name}}:${digest}`;
}
